"""Linear feasibility in exact whole numbers, from the standard library alone: slow, obvious, never wrong.

The question is {p >= 0 : A p = b}: is there a solution, and which entries are zero in all of them? It is answered by
the simplex method with Bland's rule (which cannot cycle) on a tableau of whole numbers over one denominator.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm


@dataclass(frozen=True)
class Answer:
    """The verdict; the entries that are zero in every solution; or t with t A >= 0 and t b < 0."""

    verdict: str
    zeros: frozenset[int]
    ray: tuple[Fraction, ...] | None = None


def decide(matrix, targets):
    """Answer for a matrix of whole numbers (a list of rows) and targets of whole numbers or fractions."""
    tableau = _Tableau(matrix, [Fraction(value) for value in targets])
    ray = tableau.first_phase()
    if ray is not None:
        return Answer("infeasible", frozenset(), ray)
    zeros = tableau.always_zero()
    return Answer("boundary" if zeros else "interior", frozenset(zeros))


class _Tableau:
    """Rows [A | I | b], scaled to whole numbers; an entry means entry / self.denominator."""

    def __init__(self, matrix, targets):
        scale = lcm(*(value.denominator for value in targets)) if targets else 1
        whole = [int(value * scale) for value in targets]
        self.columns = len(matrix[0]) if matrix else 0
        count = len(matrix)
        self.signs = [1 if value >= 0 else -1 for value in whole]
        self.rows = []
        for i, (row, value) in enumerate(zip(matrix, whole, strict=True)):
            unit = [int(i == j) for j in range(count)]
            self.rows.append([self.signs[i] * x for x in row] + unit + [abs(value)])
        self.basis = [self.columns + i for i in range(count)]
        self.denominator = 1

    def pivot(self, row, column, objective):
        pivot_row, pivot = self.rows[row], self.rows[row][column]
        for other in [*self.rows, objective]:
            if other is pivot_row:
                continue
            factor = other[column]
            for j, value in enumerate(pivot_row):
                other[j] = (other[j] * pivot - factor * value) // self.denominator
        self.denominator = pivot
        if pivot < 0:
            self.denominator = -pivot
            for other in [*self.rows, objective]:
                other[:] = [-x for x in other]
        self.basis[row] = column

    def maximise(self, objective, entering):
        """Pivot until no entry of the objective row (reduced costs, negated gains) among `entering` is negative."""
        while True:
            column = next((j for j in entering if objective[j] < 0), None)
            if column is None:
                return
            candidates = [
                (Fraction(row[-1], row[column]), self.basis[i], i) for i, row in enumerate(self.rows) if row[column] > 0
            ]
            self.pivot(min(candidates)[2], column, objective)

    def first_phase(self):
        """Drive the artificial variables out; return a ray that proves infeasibility, or None."""
        count = len(self.rows)
        objective = [0] * (self.columns + count + 1)
        for row in self.rows:
            for j, value in enumerate(row):
                objective[j] -= value
        for i in range(count):
            objective[self.columns + i] = 0
        self.maximise(objective, range(self.columns))
        if objective[-1] < 0:
            artificial = objective[self.columns : self.columns + count]
            # the reduced cost of artificial i is 1 + t_i for the dual t of the signed rows
            return tuple(
                Fraction(value - self.denominator, self.denominator) * sign
                for value, sign in zip(artificial, self.signs, strict=True)
            )
        self._drop_redundant(objective)
        return None

    def _drop_redundant(self, objective):
        for i in reversed(range(len(self.rows))):
            if self.basis[i] < self.columns:
                continue
            column = next((j for j in range(self.columns) if self.rows[i][j]), None)
            if column is None:
                del self.rows[i], self.basis[i]
            else:
                self.pivot(i, column, objective)

    def always_zero(self):
        """Return the entries that are zero in every solution: maximise the sum of all others until nothing moves."""
        undecided = set(range(self.columns))
        while True:
            undecided -= {self.basis[i] for i, row in enumerate(self.rows) if row[-1] > 0}
            if not undecided:
                return undecided
            objective = [0] * len(self.rows[0])
            for j in undecided:
                objective[j] -= self.denominator
            for i, row in enumerate(self.rows):
                if self.basis[i] in undecided:
                    for j, value in enumerate(row):
                        objective[j] += value
            before = objective[-1]
            self.maximise(objective, range(self.columns))
            if objective[-1] == before == 0:
                return undecided
