"""What bounds are proved of: a table, the member of its exponential family next to it, and its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.verification.evidence import Evidence, LongArray
from purtensor.verification.exact_sums import EPS, Rows, is_row
from purtensor.verification.implied_zeros import Emptied
from purtensor.verification.repair import Repair

SAME_TOTAL = 2.0**-52
"""Totals that differ by less are the same to rounding; others are made the same, or `bound` has half their square."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A table, and the member of its exponential family that its potentials say, on some profiles.

    Attributes
    ----------
    masses, members
        Shape (M,).
    rounding
        By how much each member may be off, as a share of it.
    total
        The total of the targets.
    scale
        By what masses and members were multiplied, so that the table has that total.
    """

    masses: LongArray
    members: LongArray
    rounding: LongArray
    total: np.longdouble
    scale: np.longdouble

    @classmethod
    def of(cls, evidence: Evidence, on: BoolArray) -> Point:
        """Return the point on these profiles of the evidence."""
        # exp makes a relative error of the absolute one of its argument, a sum of K potentials
        sizes = np.sum([np.abs(block.potentials[block.row[on]]) for block in evidence.blocks], axis=0)
        if evidence.logarithms is not None:
            sizes = sizes + np.abs(evidence.logarithms[on])
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            members = evidence.reference[on].astype(np.longdouble) * np.exp(evidence.exponents[on])
        # one more for the scale below
        rounding = EPS * (6 + len(evidence.blocks) * sizes.astype(np.longdouble))
        masses, total = evidence.masses[on].astype(np.longdouble), np.longdouble(evidence.total)
        # constants are in the row space: a member times one is a member, and shares stay what they are
        off = total / masses.sum() if masses.any() else np.longdouble(1)
        scale = off if np.isfinite(off) and abs(off - 1) > SAME_TOTAL else np.longdouble(1)
        return cls(masses * scale, members * scale, rounding, total, scale)

    @property
    def is_member(self) -> bool:
        """Whether all members are positive numbers."""
        return bool(len(self.masses) and np.isfinite(self.members).all() and (self.members > 0).all())


def reach_of_zeros(
    evidence: Evidence, emptied: Emptied, on: BoolArray, rows: Rows, repair: Repair | None
) -> FloatArray:
    """Return how far profiles that are empty to the rounding of the targets may move the masses of the others."""
    if repair is None or not emptied.mass > 0:
        return np.zeros(int(on.sum()))
    unsure = np.zeros(len(rows.targets))
    unsure[_index_of(evidence, on, emptied.proved)] = emptied.mass
    return repair.reach(unsure)


def _index_of(evidence: Evidence, on: BoolArray, chosen: BoolArray) -> IntArray:
    """Return the rows, as `stack_rows` numbers them, of other profiles that no zero target excludes."""
    found, offset = [], 0
    for block in evidence.blocks:
        kept = is_row(block, on)
        found.append((np.cumsum(kept) - 1 + offset)[block.row[chosen]])
        offset += int(kept.sum())
    return np.array(found, dtype=np.int64)
