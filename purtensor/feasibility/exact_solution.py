"""Exact positive points: a float solution is moved onto the constraints in whole numbers, and stays positive.

The profiles of a spanning forest of two constraints take up what rounding left, edge by edge; what the other
constraints still miss is put right along the cycles of a few more profiles (notes/feasibility.md). Large profiles are
used first, so that none loses more than it has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from purtensor._interrupts import MANY, run_apart
from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.rank.graph import couple, grow_forest
from purtensor.constraints.rank.independence import constraint_order
from purtensor.constraints.slabs import choose_key
from purtensor.constraints.system import System, rows_of
from purtensor.feasibility.cycles import shifts_along_cycles
from purtensor.feasibility.targets import ROUNDING, ExactTargets
from purtensor.kernels.feasibility.sums import add_in_limbs, add_whole, tree_flow

_BITS = 93
"""The mass 1 is so many bits of units, where the targets' denominator allows it."""

_LARGEST_NEED = 2**58


@dataclass(frozen=True, slots=True, eq=False)
class ExactPoint:
    """A strictly positive solution in exact numbers; the total mass is 1.

    Attributes
    ----------
    denominator
        The units of the mass 1.
    base
        Shape (M,): whole numbers of units, each held exactly by its float.
    shifts
        Shape (M,): whole numbers of units that are added.
    profiles, fractions
        Some profiles, and the fractions of units that are added there.
    explicit
        Whether the sum of the three is the solution. Otherwise `fractions` are bounds, below the masses that are
        there: a solution exists that differs from base + shifts by no more.
    """

    denominator: int
    base: FloatArray
    shifts: IntArray
    profiles: IntArray
    fractions: tuple[Fraction, ...]
    explicit: bool = True

    def masses(self) -> list[Fraction | int]:
        """Return the mass of every profile in units; their sum is the denominator. Without the bounds."""
        values: list[Fraction | int] = [
            int(base) + shift for base, shift in zip(self.base.tolist(), self.shifts.tolist(), strict=True)
        ]
        if self.explicit:
            for profile, fraction in zip(self.profiles.tolist(), self.fractions, strict=True):
                values[profile] += fraction
        return values


def _largest_first(masses: FloatArray) -> IntArray:
    """Return the order of the masses, the largest first; Ctrl-C is heard meanwhile."""

    def sort() -> IntArray:
        return np.argsort(-masses, kind="stable")

    return run_apart(sort) if len(masses) > MANY else sort()


def _in_order(index: IntArray, order: IntArray) -> IntArray:
    """Return the profiles in this order, constraint by constraint: all at once takes longer, and hears no Ctrl-C."""
    arranged = np.empty_like(index, order="C")
    for row, out in zip(index, arranged, strict=True):
        np.take(row, order, out=out)
    return arranged


def exact_point(system: System, targets: ExactTargets, masses: FloatArray) -> ExactPoint | None:
    """Return a strictly positive exact solution next to `masses`; None where this way finds none.

    With exact targets all rows hold. With floats the independent ones hold exactly, and the others to rounding. Where
    many rows are coupled the solution is proved to exist rather than written down.
    """
    # units so fine that a mass of 1e-12 still has the 53 bits of its float
    extra = max(0, _BITS - targets.denominator.bit_length())
    scale = 1 << extra
    denominator = targets.denominator * scale
    # the forest is grown along this order: large profiles take up the corrections
    order = _largest_first(masses)
    arranged = _with_two_constraints(replace(system, index=_in_order(system.index, order)))
    numbers = [int(value) for value in targets.numerators * scale]
    if len(arranged.scopes) > len(system.scopes):
        numbers.append(denominator)
    whole = float(denominator) if denominator.bit_length() < 1024 else math.inf  # of targets almost nothing
    with np.errstate(over="ignore", invalid="ignore"):
        # one unit at least: every profile must have mass
        base = np.maximum(np.rint(masses[order] * (whole / float(masses.sum()))), 1.0)
    if not np.all(np.isfinite(base)):
        return None
    needs = _needs(arranged, numbers, base)
    if needs is None:
        return None
    found = _correct(arranged, needs, base, denominator if not targets.exact else 0)
    if found is None:
        return None
    shifts, profiles, fractions, written = found
    back = np.empty_like(shifts)
    back[order] = shifts
    restored = np.empty_like(base)
    restored[order] = base
    return ExactPoint(denominator, restored, back, order[profiles], fractions, written)


def explicit_point(system: System, targets: ExactTargets, shares: Sequence[Fraction]) -> ExactPoint | None:
    """Return positive shares of the mass as a point, if all rows hold; with float targets to rounding."""
    allowed = 0 if targets.exact else ROUNDING * targets.denominator
    masses = [share * targets.denominator for share in shares]
    for k in range(len(system.scopes)):
        left = targets.numerators[system.block(k)].copy()
        np.subtract.at(left, system.index[k].astype(np.int64), np.array(masses, dtype=object))
        if any(abs(value) > allowed for value in left):
            return None
    nothing = np.zeros(system.profiles)
    return ExactPoint(targets.denominator, nothing, nothing.astype(np.int64), np.arange(system.profiles), tuple(masses))


def _with_two_constraints(system: System) -> System:
    """Return a system of at least two constraints: the total mass is added where there is one."""
    if len(system.scopes) > 1:
        return system
    return replace(
        system,
        index=np.vstack([system.index, np.zeros((1, system.profiles), system.index.dtype)]),
        offsets=np.append(system.offsets, system.rows + 1),
        targets=np.append(system.targets, system.targets.sum()),
        scopes=(*system.scopes, ()),
        row_codes=(*system.row_codes, ()),
    )


def _needs(system: System, numbers: Sequence[int], base: FloatArray) -> IntArray | None:
    """Return what every row misses, in units; None where that is too much to be rounding."""
    # sums of large whole numbers in pieces of 32 bits, exact in int64 and far quicker than Python's own
    limbs = np.zeros((system.rows, int(np.log2(base.max())) // 32 + 3), dtype=np.int64)
    for k in range(len(system.scopes)):
        add_in_limbs(base, system.index[k], limbs[system.block(k)])
    sums = sum(limbs[:, j].astype(object) << 32 * j for j in range(limbs.shape[1]))
    needs = np.array(numbers, dtype=object) - sums
    if max(abs(int(needs.max(initial=0))), abs(int(needs.min(initial=0)))) > _LARGEST_NEED:
        return None
    return needs.astype(np.int64)


def _correct(
    system: System, needs: IntArray, base: FloatArray, tolerance: int
) -> tuple[IntArray, IntArray, tuple[Fraction, ...], bool] | None:
    """Return whole shifts of all profiles and fractions for some that meet the needs and leave every mass positive.

    Also returns whether the fractions are amounts, or bounds of amounts that exist. `tolerance` is the total mass
    where dependent rows need to agree to rounding only, 0 where exactly.
    """
    order = constraint_order(system, choose_key(system))
    forest = grow_forest(system, order[0], order[1], system.find_supported())
    numbers = np.concatenate([needs[system.block(k)] for k in forest.constraints])
    flow = np.empty_like(numbers)
    tree_flow(forest.sequence, forest.parent, numbers, flow)
    allowed = ROUNDING * tolerance
    # what is left at a root is a tree whose two sides do not agree in total
    if np.abs(numbers[forest.roots]).max(initial=0) > allowed:
        return None
    shifts = np.zeros(system.profiles, dtype=np.int64)
    children = forest.sequence[forest.parent[forest.sequence] >= 0]
    # along the forest its two constraints are met exactly, with whole numbers
    shifts[forest.via[children]] = flow[children]
    if not _all_positive(base, shifts):
        return None
    others = order[2:]
    left = needs.copy()
    for k in others:
        sums = np.zeros(int(system.offsets[k + 1] - system.offsets[k]), dtype=np.int64)
        add_whole(shifts, system.index[k], sums)
        left[system.block(k)] -= sums
    rows = rows_of(system.offsets, others)
    if not left[rows].any():
        return shifts, np.empty(0, dtype=np.int64), (), True
    cycles = shifts_along_cycles(couple(system, forest, others, rows), left[rows], allowed)
    if cycles is None:
        return None
    profiles, fractions, written = cycles
    for profile, fraction in zip(profiles.tolist(), fractions, strict=True):
        if int(base[profile]) + int(shifts[profile]) + (fraction if written else -fraction) <= 0:
            return None
    return shifts, profiles, fractions, written


def _all_positive(base: FloatArray, shifts: IntArray) -> bool:
    moved = shifts.astype(np.float64)
    # by far more than the rounding of these sums
    return bool(np.all(base + moved > 2.0**-40 * (base + np.abs(moved))))
