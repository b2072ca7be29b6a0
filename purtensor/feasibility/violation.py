"""How far constraints are from being met: linear programs, each with a proved lower bound.

The smallest miss is over all rows; the smallest violation holds some constraints exactly and counts the misses of the
others. Both are the largest -b.t over weights t with C^T t >= 0 that lie in [-1, 1] on the rows that count
(notes/feasibility.md, equation 6), so weights that were checked bound the answer from below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.system import System
from purtensor.feasibility.farkas import prove, round_to_whole, spread_whole
from purtensor.feasibility.flows import balance, minimum_cut, triangle_of
from purtensor.feasibility.linear_programs import covering_weights, refuting_weights
from purtensor.feasibility.targets import ExactTargets

_UNITS = (1, 2, 6, 60, 2**40)
"""What weights are divided by: vertices of these programs are mostly simple fractions."""


@dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """The smallest L1 distance of the marginals of any table on the support from the targets that count.

    Attributes
    ----------
    value
        By the maximum flow or the linear program; the total mass is 1.
    proved
        A lower bound in exact numbers.
    weights, unit
        Shape (D,), and what they are divided by: whole numbers t with C^T t >= 0, b.t = -unit * proved, and no larger
        than the unit on the rows that count.
    """

    value: float
    proved: Fraction
    weights: IntArray
    unit: int


ViolationT = TypeVar("ViolationT", bound=Violation)


def smallest_miss(system: System, targets: ExactTargets) -> Violation | None:
    """Return the smallest sum of all rows' misses; None where the program fails."""
    return _smallest(system, targets, np.ones(system.rows, dtype=bool))


def smallest_violation(system: System, targets: ExactTargets, soft: Sequence[int]) -> Violation | None:
    """Return the smallest sum of the misses of the constraints `soft`, all others being met.

    With two responses it is a maximum flow, else a linear program. None where the others cannot be met, or it fails.
    """
    triangle = triangle_of(system)
    if triangle is not None and list(soft) == [triangle.parity]:
        cut = minimum_cut(system, targets, triangle)
        weights = None if cut is None else balance(system, triangle, cut)
        if cut is not None and weights is not None:
            return Violation(float(-4 * targets.dot(cut)), -targets.dot(weights), weights, 1)
    counted = np.zeros(system.rows, dtype=bool)
    for k in soft:
        counted[system.block(k)] = True
    return _smallest(system, targets, counted)


def _smallest(system: System, targets: ExactTargets, counted: BoolArray) -> Violation | None:
    found = refuting_weights(system, counted)
    if found is None:
        return None

    def bound(weights: IntArray, unit: int) -> tuple[Fraction, IntArray, int]:
        proof = prove(system, targets, weights)
        # the repair may have raised weights beyond the unit: |t| <= 1 holds after dividing by the largest
        scale = max(unit, int(np.abs(proof.weights[counted]).max(initial=0)))
        # notes/feasibility.md, equation 6
        return -proof.value / scale, proof.weights, scale

    value = max(0.0, -_cost(system, found))
    return _strongest(Violation(value, Fraction(0), np.zeros(system.rows, dtype=np.int64), 1), found, bound)


def _cost(system: System, weights: FloatArray) -> float:
    """Return b.t in floats, the total mass being 1."""
    return float(system.targets / system.targets[system.block(0)].sum() @ weights)


def _strongest(
    best: ViolationT, found: FloatArray, bound: Callable[[IntArray, int], tuple[Fraction, IntArray, int]]
) -> ViolationT:
    """Return the best lower bound by weights of a program, rounded to multiples of one over simple units.

    `bound` returns what whole numbers prove over a unit, with the weights as they were mended and their own unit.
    """
    for unit in _UNITS:
        weights = round_to_whole(found, float(unit))
        if weights is None:
            continue
        proved, kept, scale = bound(weights, unit)
        if proved > best.proved:
            best = replace(best, proved=proved, weights=kept, unit=scale)
        if float(best.proved) >= best.value - 1e-9:
            break
    return best


@dataclass(frozen=True, slots=True, eq=False)
class Incompatibility(Violation):
    """One minus the largest mass of a table on the support whose marginals exceed no target; the total mass is 1.

    Attributes
    ----------
    value
        By the linear program: 0 where the constraints can be met, 1 where no profile has room in all of its rows.
    proved
        A lower bound in exact numbers.
    weights, unit
        Shape (D,), and what they are divided by: whole numbers y >= 0 with C^T y >= unit, and b.y = unit (1 - proved).
    """


def incompatibility(system: System, targets: ExactTargets) -> Incompatibility | None:
    """Return the incompatibility of the targets on the support (notes/feasibility.md, equation 9).

    None where the program fails. Weights that were rounded are raised until they cover every profile, and divided by
    how often they cover the least covered one.
    """
    found = covering_weights(system)
    if found is None:
        return None

    def bound(weights: IntArray, unit: int) -> tuple[Fraction, IntArray, int]:
        # any y >= 0 bounds the mass by b.y over its least cover, rounded or not
        covered = int(spread_whole(system.index, system.offsets, weights).min())
        return (1 - targets.dot(weights) / covered if covered > 0 else Fraction(0)), weights, covered

    value = min(1.0, max(0.0, 1.0 - _cost(system, found)))
    first = np.zeros(system.rows, dtype=np.int64)
    first[system.block(0)] = 1  # covers every profile once, and costs all of the mass
    return _strongest(Incompatibility(value, Fraction(0), first, 1), np.maximum(found, 0.0), bound)
