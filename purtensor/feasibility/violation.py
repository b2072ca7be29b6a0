"""How far constraints are from being met: two linear programs, each with a proved lower bound.

The smallest miss is over all rows; the smallest violation holds some constraints exactly and counts the misses of the
others. Both are the largest -b.t over weights t with C^T t >= 0 that lie in [-1, 1] on the rows that count
(notes/feasibility.md, equation 6), so weights that were checked bound the answer from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.system import System
from purtensor.feasibility.farkas import prove, rounded
from purtensor.feasibility.flows import balanced, minimum_cut, triangle_of
from purtensor.feasibility.linear_programs import refuting_weights
from purtensor.feasibility.targets import ExactTargets

_FINE = 2**40


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
        weights = None if cut is None else balanced(system, triangle, cut)
        if cut is not None and weights is not None:
            return Violation(float(4 * cut.deficit), -targets.dot(weights), weights, 1)
    counted = np.zeros(system.rows, dtype=bool)
    for k in soft:
        counted[system.block(k)] = True
    return _smallest(system, targets, counted)


def _smallest(system: System, targets: ExactTargets, counted: BoolArray) -> Violation | None:
    found = refuting_weights(system, counted)
    if found is None:
        return None
    value = max(0.0, -float(_shares(system) @ found))
    best = Violation(value, Fraction(0), np.zeros(system.rows, dtype=np.int64), 1)
    for unit in (1, 2, 6, 60, _FINE):
        weights = rounded(found, float(unit))
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


def _shares(system: System) -> FloatArray:
    shares: FloatArray = system.targets / system.targets[system.block(0)].sum()
    return shares
