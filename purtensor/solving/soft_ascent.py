"""Newton's method on the dual of a problem with soft rows: what smooth and absolute penalties have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.ipf.steps import measure
from purtensor.kernels.newton.line_search import LARGEST_CHANGE, SUFFICIENT, curvature
from purtensor.kernels.spread import spread
from purtensor.solving.iterate import Residual, iterate_at, scaled_to_total
from purtensor.solving.soft_problem import SoftProblem
from purtensor.solving.stopping import L1_FACTOR

_MOST_HALVINGS = 40

_DOUBTFUL_AFTER, _DOUBTFUL_MISS = 40, 1e-6
"""Hard rows that are still missed by so much in L1 after so many steps may be impossible to meet."""


class SoftEnding(Enum):
    """How a relaxation can end; the value is the sentence that the user reads."""

    CONVERGED = "the hard constraints are met to the tolerance, and the objective is the least to the tolerance"
    ITERATION_LIMIT = "the iteration limit came first: raise max_iterations"
    STALLED = "rounding leaves no better step: the tolerance is below what float64 can reach here"
    INFEASIBLE = "no distribution on the support of the reference meets the hard constraints"
    INTERRUPTED = "interrupted; this is the state so far"
    NOT_FINITE = "a number is not finite any more: the potentials overflow, take a smaller strength"


@dataclass(frozen=True, slots=True, eq=False)
class SoftPoint:
    """A member of the exponential family with its marginals.

    Attributes
    ----------
    potentials
        Shape (D,).
    masses
        Shape (M,): reference * exp(C^T potentials).
    sums
        Shape (D,): C masses.
    """

    potentials: FloatArray
    masses: FloatArray
    sums: FloatArray

    @property
    def finite(self) -> bool:
        """Whether all marginals are numbers."""
        return bool(np.all(np.isfinite(self.sums)))


@dataclass(frozen=True, slots=True, eq=False)
class SoftRun:
    """Where an ascent ended.

    Attributes
    ----------
    point
        The last point, its masses rebuilt from its potentials.
    residual
        Of the hard rows, the total mass being 1.
    ending, iterations
        Why it ended, and the number of Newton steps.
    level
        The bound on the potentials of soft rows, where the penalty is absolute: the strength, or the multiplier of
        the slack; 0 otherwise.
    """

    point: SoftPoint
    residual: Residual
    ending: SoftEnding
    iterations: int
    level: float = 0.0


def point_at(soft: SoftProblem, potentials: FloatArray) -> SoftPoint:
    """Return the point of the family at these potentials."""
    problem = soft.problem
    masses = iterate_at(problem, potentials).masses
    sums = np.empty(problem.system.rows)
    measure(masses, problem.index, problem.offsets, problem.targets, sums)
    return SoftPoint(potentials, masses, sums)


def start_at(soft: SoftProblem, potentials: FloatArray | None) -> SoftPoint:
    """Return the point to begin from: the reference, or given potentials, scaled to the targets' total."""
    given = np.zeros(soft.problem.system.rows) if potentials is None else potentials
    return point_at(soft, scaled_to_total(soft.problem, given))


def hard_residual(soft: SoftProblem, sums: FloatArray) -> Residual:
    """Return how far the hard rows are from their targets, the total mass being 1."""
    offsets, total = soft.hard.offsets, soft.problem.total
    misses = np.abs(sums - soft.problem.targets)[: soft.hard_count]
    blocks = np.add.reduceat(misses, offsets[:-1])
    return Residual(float(misses.max()) / total, float(blocks.max()) / total)


def is_met(residual: Residual, tolerance: float) -> bool:
    """Tell whether the hard rows are met, by the rule that `project` has."""
    return residual.largest <= tolerance and residual.l1 <= L1_FACTOR * tolerance


def is_doubtful(residual: Residual, iterations: int) -> bool:
    """Tell whether it is time to ask, once in a run, if the hard rows can be met at all."""
    return iterations == _DOUBTFUL_AFTER and residual.l1 > _DOUBTFUL_MISS


def climb(
    soft: SoftProblem,
    point: SoftPoint,
    direction: FloatArray,
    slope: float,
    loss: Callable[[float], float],
    reach: float = 1.0,
) -> tuple[SoftPoint, float] | None:
    """Return the point along an ascent direction where the dual has gained enough, and the step; else None.

    The gain of a step s is s * slope - sum p (exp(s z) - 1 - s z) - loss(s), with the loss of the soft rows' psi:
    three numbers that are each accurate to their last digits. `reach` is the longest step that is allowed. Masses may
    shrink to nothing in one step; none grows by more than exp(40).
    """
    if not (np.isfinite(slope) and slope > 0.0):
        return None
    change = np.empty_like(point.masses)
    problem = soft.problem
    spread(problem.index, problem.offsets, direction, change)
    highest, lowest = float(change.max()), float(change.min())
    if not np.isfinite(highest - lowest):
        return None
    step = min(1.0, reach, LARGEST_CHANGE / highest if highest > 0.0 else 1.0)
    for _ in range(_MOST_HALVINGS):
        gain = step * slope - curvature(point.masses, change, step) - loss(step)
        if gain >= SUFFICIENT * step * slope:
            potentials = point.potentials + step * direction
            return point_at(soft, scaled_to_total(soft.problem, potentials)), step
        step *= 0.5
    return None
