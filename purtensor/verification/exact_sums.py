"""What a table misses of its targets, as if every sum were exact: by splitting numbers where none of their sums round.

Adding a large power of two to a number and taking it away again leaves the number's leading digits, and sums of such
are exact as long as the power is larger than all of them together (Rump, Ogita and Oishi, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from purtensor._typing import BoolArray, IntArray
from purtensor.verification.evidence import Block, Evidence, LongArray

EPS = np.finfo(np.longdouble).eps
"""Twice the largest relative error of one rounding in extended precision."""

_SPLITS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """All rows of all constraints, numbered through, on M profiles.

    Attributes
    ----------
    index
        Shape (K, M): the row of every profile in each constraint.
    targets
        One a row, as they were given.
    constraint
        The constraint of every row.
    named
        Which rows the claims name as independent, onto whose targets the projection is; None where they name none.
    """

    index: IntArray
    targets: LongArray
    constraint: IntArray
    named: BoolArray | None = None
    _orders: list[tuple[IntArray, IntArray, IntArray]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Sort the profiles by row, once for each constraint."""
        for one in self.index:
            order = np.argsort(one, kind="stable")
            rows, starts = np.unique(one[order], return_index=True)
            self._orders.append((order, rows, starts))

    @property
    def served(self) -> IntArray:
        """The rows in the order in which elimination is to take them: those that are named first."""
        return np.arange(len(self.targets)) if self.named is None else np.argsort(~self.named, kind="stable")

    def spread(self, potentials: LongArray) -> LongArray:
        """Return C^T potentials."""
        return np.asarray(potentials[self.index].sum(axis=0))

    def matrix(self, on: BoolArray) -> sp.csr_array:
        """Return C on some of the profiles."""
        index = self.index[:, on]
        columns = np.tile(np.arange(index.shape[1]), len(index))
        return sp.csr_array((np.ones(index.size), (index.reshape(-1), columns)), (len(self.targets), index.shape[1]))

    def misses(self, *tables: LongArray) -> tuple[LongArray, LongArray]:
        """Return targets - C (sum of the tables), rounded once or twice, and by how much each may be off."""
        terms, unsure = [self.targets], np.zeros_like(self.targets)
        for table in tables:
            parts, lost = self._parts(table)
            terms += [-part for part in parts]
            unsure += lost
        high, low, sizes = np.zeros_like(self.targets), np.zeros_like(self.targets), np.zeros_like(self.targets)
        # sums with what each addition loses kept (Knuth's two-sum): the miss is what cancellation leaves
        for term in terms:
            total = high + term
            back = total - high
            low += (high - (total - back)) + (term - back)  # what rounding took from the sum, exactly
            high, sizes = total, sizes + np.abs(term)
        missed = high + low
        # the second-order term is that of a sum in twice the digits (Ogita, Rump and Oishi, 2005)
        return missed, unsure + 2 * EPS * np.abs(missed) + (len(terms) * EPS) ** 2 * sizes

    def by_constraint(self, values: LongArray) -> LongArray:
        """Return the sum of the sizes of the values in the rows of each constraint."""
        sums = np.zeros(len(self.index), dtype=np.longdouble)
        np.add.at(sums, self.constraint, np.abs(values))
        return sums

    def _parts(self, table: LongArray) -> tuple[list[LongArray], LongArray]:
        """Return numbers that add up to the sums of the rows, and by how much they may be off together."""
        parts = [np.zeros_like(self.targets) for _ in range(_SPLITS + 1)]
        lost = np.zeros_like(self.targets)
        for order, rows, starts in self._orders:
            left, counts = table[order], np.diff(np.append(starts, len(order)))
            # each split takes leading digits whose sums are exact; only the last remainder is summed with rounding
            for part in parts[:-1]:
                leading = _leading(left, starts, counts)
                part[rows] = np.add.reduceat(leading, starts)
                left = left - leading
            parts[-1][rows] = np.add.reduceat(left, starts)
            lost[rows] = EPS * counts * np.add.reduceat(np.abs(left), starts)
        return parts, lost


def _leading(values: LongArray, starts: IntArray, counts: IntArray) -> LongArray:
    """Return the leading digits of the values, of which the sums over the rows are exact."""
    largest = np.maximum.reduceat(np.abs(values), starts)
    # above the largest times the count, so that no partial sum of the leading digits needs a bit more
    exponents = np.frexp(largest)[1] + np.frexp(counts + 2.0)[1] + 1
    power = np.repeat(np.ldexp(np.longdouble(1), exponents), counts)
    return np.asarray((values + power) - power)


def stack_rows(evidence: Evidence, on: BoolArray) -> Rows:
    """Return the rows that have a positive target or a profile."""
    index, targets, constraint, named, offset = [], [], [], [], 0
    for number, block in enumerate(evidence.blocks):
        kept = is_row(block, on)
        place = np.cumsum(kept) - 1 + offset
        index.append(place[block.row[on]])
        targets.append(block.targets[kept].astype(np.longdouble))
        constraint.append(np.full(int(kept.sum()), number))
        named.append(np.zeros(int(kept.sum()), dtype=bool) if block.named is None else block.named[kept])
        offset += int(kept.sum())
    some = any(block.named is not None for block in evidence.blocks)
    return Rows(
        np.array(index), np.concatenate(targets), np.concatenate(constraint), np.concatenate(named) if some else None
    )


def is_row(block: Block, on: BoolArray) -> BoolArray:
    """Mark the rows of a constraint that have a positive target or a profile."""
    kept = block.targets > 0
    kept[block.row[on]] = True
    return np.asarray(kept)
