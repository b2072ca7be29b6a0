"""Small questions decided in whole numbers alone: the simplex method, slow and always conclusive.

It is used where floating point decides nothing: masses so unequal that a contradiction, or a profile's last bit of
mass, lies below the rounding of the largest. Bland's rule keeps it from cycling; all entries of the tableau are whole
numbers over one denominator (J. Edmonds, 1967).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.rank.independence import independent_rows
from purtensor.constraints.system import System, columns_of
from purtensor.feasibility.targets import ExactTargets

_MOST_ENTRIES = 20_000


def exact_answer(system: System, targets: ExactTargets) -> IntArray | tuple[Fraction, ...] | None:
    """Return what whole numbers say of the rows, of independent ones where targets are floats; None if too many.

    Either weights, shape (D,): t with C^T t >= 0, and b.t < 0, or b.t = 0 and C^T t > 0 at all empty profiles; or the
    shares of a positive solution, fractions of the total mass.
    """
    if system.rows * (system.rows + system.profiles + 1) > _MOST_ENTRIES or not system.profiles:
        return None
    # dependent float targets contradict each other by rounding, which whole numbers would take at its word
    rows = np.arange(system.rows) if targets.exact else independent_rows(system).rows
    tableau = _Tableau(columns_of(system).toarray().astype(np.int64).astype(object)[rows], targets.numerators[rows])
    found: IntArray | tuple[Fraction, ...] | None = tableau.refutation()
    if found is None:
        found = tableau.empty_or_solve(targets.denominator)
    if isinstance(found, tuple):
        return found
    weights = np.zeros(system.rows, dtype=object)
    weights[rows] = found
    return weights


class _Tableau:
    """Rows [C | I | b] and a row of reduced costs below; an entry means entry / self.denominator."""

    def __init__(self, matrix: IntArray, right: IntArray) -> None:
        rows, self.columns = matrix.shape
        # phase one: minimise the sum of the unit columns, which stand for what rows miss
        below = np.concatenate([-matrix.sum(axis=0), np.zeros(rows, dtype=object), [-right.sum()]])
        identity = np.array([[int(i == j) for j in range(rows)] for i in range(rows)], dtype=object)
        self.entries: IntArray = np.vstack([np.hstack([matrix, identity.reshape(rows, rows), right[:, None]]), below])
        self.basis = np.arange(self.columns, self.columns + rows)
        self.denominator = 1

    def refutation(self) -> IntArray | None:
        """Drive the unit columns out of the basis; return weights that prove that this is impossible, or None."""
        self._descend()
        if self.entries[-1, -1] < 0:
            # a unit column's reduced cost is 1 minus its row's price: this is minus the price
            weights: IntArray = self.entries[-1, self.columns : -1] - self.denominator
            return weights
        # from the end, since a deletion renumbers the rows after it
        for row in np.flatnonzero(self.basis >= self.columns)[::-1]:
            column = next((j for j in range(self.columns) if self.entries[row, j]), None)
            if column is None:
                # a row that follows from the others
                self.entries = np.delete(self.entries, row, axis=0)
                self.basis = np.delete(self.basis, row)
            else:
                self._pivot(int(row), column)
        return None

    def empty_or_solve(self, total: int) -> IntArray | tuple[Fraction, ...]:
        """Give mass to as many columns as can have it; return weights that empty the others, or a positive solution.

        The solution is the mean of all corners that were met.
        """
        undecided: BoolArray = np.ones(self.columns, dtype=bool)
        corners: list[dict[int, Fraction]] = []
        while True:
            corner = self._corner(total)
            corners.append(corner)
            undecided[list(corner)] = False
            if not undecided.any():
                sums = [sum((c.get(j, Fraction(0)) for c in corners), Fraction(0)) for j in range(self.columns)]
                return tuple(value / len(corners) for value in sums)
            self._price(undecided)
            self._descend()
            # no undecided column can have mass: the prices are weights that empty them all
            if self.entries[-1, -1] == 0:
                return self.entries[-1, self.columns : -1].copy()

    def _corner(self, total: int) -> dict[int, Fraction]:
        values = self.entries[:-1, -1].tolist()
        return {
            int(column): Fraction(value, self.denominator * total)
            for column, value in zip(self.basis, values, strict=True)
            if value
        }

    def _price(self, gained: BoolArray) -> None:
        """Write the reduced costs of gaining 1 by each unit of some columns."""
        below = np.zeros(self.entries.shape[1], dtype=object)
        # maximising the gain is minimising its negative
        below[: self.columns][gained] = -self.denominator
        for row in np.flatnonzero(gained[self.basis]):
            below = below + self.entries[row]
        self.entries[-1] = below

    def _descend(self) -> None:
        """Pivot by Bland's rule until no column has a negative reduced cost."""
        while True:
            below = self.entries[-1, : self.columns]
            # the first, not the most negative: with the first of the tied rows this never cycles (R. G. Bland, 1977)
            column = next((j for j in range(self.columns) if below[j] < 0), None)
            if column is None:
                return
            ratios = [
                (Fraction(right, entry), int(self.basis[i]), i)
                for i, (entry, right) in enumerate(self.entries[:-1, [column, -1]].tolist())
                if entry > 0
            ]
            self._pivot(min(ratios)[2], column)

    def _pivot(self, row: int, column: int) -> None:
        chosen, pivot = self.entries[row].copy(), self.entries[row, column]
        # the division leaves no remainder: all entries are minors of the first tableau (Edmonds, 1967)
        moved = (self.entries * pivot - np.outer(self.entries[:, column], chosen)) // self.denominator
        moved[row] = chosen
        self.denominator = pivot
        # only where unit columns are driven out may a pivot be negative
        if pivot < 0:
            moved, self.denominator = -moved, -pivot
        self.entries = moved
        self.basis[row] = column
