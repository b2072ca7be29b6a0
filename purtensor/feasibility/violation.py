"""How far constraints are from being met: linear programs, each with a proved lower bound.

The smallest miss is over all rows; the smallest violation holds some constraints exactly and counts the misses of the
others. Both are the largest -b.t over weights t with C^T t >= 0 that lie in [-1, 1] on the rows that count
(notes/feasibility.md, equation 6), so weights that were checked bound the answer from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from purtensor._typing import BoolArray, IntArray
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
    shares = system.targets / system.targets[system.block(0)].sum()
    value = max(0.0, -float(shares @ found))
    best = Violation(value, Fraction(0), np.zeros(system.rows, dtype=np.int64), 1)
    for unit in _UNITS:
        weights = round_to_whole(found, float(unit))
        if weights is None:
            continue
        proof = prove(system, targets, weights)
        # the repair may have raised weights beyond the unit: |t| <= 1 holds after dividing by the largest
        scale = max(unit, int(np.abs(proof.weights[counted]).max(initial=0)))
        # notes/feasibility.md, equation 6
        bound = -proof.value / scale
        if bound > best.proved:
            best = Violation(value, bound, proof.weights, scale)
        if float(best.proved) >= value - 1e-9:
            break
    return best


@dataclass(frozen=True, slots=True, eq=False)
class Incompatibility:
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

    value: float
    proved: Fraction
    weights: IntArray
    unit: int


def incompatibility(system: System, targets: ExactTargets) -> Incompatibility | None:
    """Return the incompatibility of the targets on the support (notes/feasibility.md, equation 9).

    None where the program fails. Weights that were rounded are raised until they cover every profile, and divided by
    how often they cover the least covered one.
    """
    found = covering_weights(system)
    if found is None:
        return None
    shares = system.targets / system.targets[system.block(0)].sum()
    value = min(1.0, max(0.0, 1.0 - float(shares @ found)))
    first = np.zeros(system.rows, dtype=np.int64)
    first[system.block(0)] = 1  # covers every profile once, and costs all of the mass
    best = Incompatibility(value, Fraction(0), first, 1)
    for unit in _UNITS:
        # any y >= 0 bounds the mass by b.y over its least cover, rounded or not
        weights = round_to_whole(np.maximum(found, 0.0), float(unit))
        if weights is None:
            continue
        covered = int(spread_whole(system.index, system.offsets, weights).min())
        if covered > 0 and (bound := 1 - targets.dot(weights) / covered) > best.proved:
            best = Incompatibility(value, bound, weights, covered)
        if float(best.proved) >= value - 1e-9:
            break
    return best
