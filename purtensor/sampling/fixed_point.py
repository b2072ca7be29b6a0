"""Tables in fixed point: whole numbers of a small unit, whose sums are exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from purtensor._typing import FloatArray, IntArray

Units = npt.NDArray[np.int64]

LARGEST_TOTAL = 2**42
"""Beyond this the unit would be above 2^-20, too coarse for chances."""

_MOST_BITS = 40
_WORD = 62


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """Masses in units of 2^-bits that sum to a whole total exactly."""

    units: Units
    bits: int

    @property
    def one(self) -> int:
        """How many units make one."""
        return 1 << self.bits

    def whole(self) -> Units:
        """Return the whole parts."""
        return self.units >> self.bits

    def fraction(self) -> Units:
        """Return what is beyond the whole parts, in units."""
        return self.units & (self.one - 1)

    def sum_groups(self, group: IntArray, groups: int) -> FixedPoint:
        """Return the exact sums over groups."""
        sums = np.zeros(groups, dtype=np.int64)
        np.add.at(sums, group, self.units)
        return FixedPoint(sums, self.bits)


def to_fixed_point(masses: FloatArray, total: int) -> FixedPoint:
    """Return the masses scaled to `total`, rounded to units of 2^-40, or coarser ones for totals above four million.

    What rounding to units leaves of the total is spread, unit by unit, over profiles that are not whole. Where none of
    these has that many units to give, the largest profile takes it, whose own rounding is as large.
    """
    # the whole total in units stays below 2^62
    bits = min(_MOST_BITS, _WORD - total.bit_length())
    one = 1 << bits
    scaled = np.ldexp(masses, -int(np.frexp(masses.max())[1]))  # total / sum of the tiniest masses would overflow
    units = np.rint(scaled * (total / scaled.sum()) * one).astype(np.int64)
    left = total * one - int(units.sum())
    if left:
        takers = _takers(units, one, left)
        each, first = divmod(abs(left), len(takers))
        share = np.full(len(takers), each)
        share[:first] += 1
        units[takers] += share if left > 0 else -share
    return FixedPoint(units, bits)


def _takers(units: Units, one: int, left: int) -> IntArray:
    """Return the profiles that share the rest of the total: none of them has less than its share of it."""
    found = np.flatnonzero(units & (one - 1))
    if len(found):
        found = found[units[found] > 2 + 2 * abs(left) // len(found)]
    if len(found) and (left > 0 or units[found].min() > abs(left) // len(found)):
        return found
    return np.array([np.argmax(units)])
