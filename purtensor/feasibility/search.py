"""Newton's method as a search for evidence: a positive solution, or a direction in which the dual does not end.

At masses p let d solve C diag(p) C^T d = b - C p. Where w = C^T d stays above -1, p (1 + w) is a positive solution.
Where b.d is positive, and more than it costs to lower d until w <= 0, the weights -d prove that there is none. On the
boundary d tends to whole numbers: each step takes a factor e off the masses that must vanish (notes/feasibility.md,
equations 3 to 5). All of these are candidates, which the exact checks judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import TooLargeError
from purtensor.kernels.feasibility.sums import repair_price
from purtensor.kernels.ipf.steps import measure
from purtensor.kernels.spread import spread
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.factored import Factored
from purtensor.solving.iterate import Budget, iterate_at
from purtensor.solving.line_search import search
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.spaces.space import Direction

_SWEEPS = 3
_NEAR_ONE = 0.9
_REFINEMENTS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What one Newton step tells.

    Attributes
    ----------
    direction, change
        Shapes (D,) and (M,): d and w = C^T d.
    solution
        Shape (M,): positive masses that meet the constraints to rounding, None where w falls to -1.
    unbounded
        Whether d proves, up to rounding, that there is no solution.
    """

    direction: FloatArray
    change: FloatArray
    solution: FloatArray | None
    unbounded: bool


def evidence(problem: Problem, iterations: int) -> Iterator[Evidence]:
    """Yield what each Newton step tells, at most so many times; ends early where numbers fail."""
    try:
        hessian = hessian_of(problem)
    except TooLargeError:
        return
    space = ArraySpace(problem)
    iterate = space.start()
    iterate = iterate_at(problem, IPF().step(problem, iterate, Budget(_SWEEPS, 0.0, 0.0)).iterate.potentials)
    change = np.empty_like(iterate.masses)
    sums = np.empty(problem.system.rows)
    for _ in range(iterations):
        measure(iterate.masses, problem.index, problem.offsets, problem.targets, sums)
        miss = problem.targets - sums
        with np.errstate(all="ignore"):
            direction, factored = hessian.factor_and_solve(iterate.masses, miss)
        spread(problem.index, problem.offsets, direction, change)
        lowest, highest = float(change.min()), float(change.max())
        if not (np.isfinite(lowest) and np.isfinite(highest)):
            return
        gain = float(problem.targets @ direction)
        unbounded = gain > 1e-12 * np.abs(direction).max() and gain > _price(problem, change)
        solution = _refined(problem, factored, iterate.masses, direction) if lowest > -_NEAR_ONE else None
        yield Evidence(direction, change, solution, unbounded)
        moved = search(space, iterate, Direction(direction, float(miss @ direction)))
        if moved is None:
            return
        iterate, _ = moved


def _price(problem: Problem, change: FloatArray) -> float:
    """Return what it costs of b.d to make C^T d <= 0, by the rows of the cheapest constraint."""
    system = problem.system
    highest = np.empty(system.rows)
    return min(
        float(repair_price(change, system.index[k], problem.targets[system.block(k)], highest[system.block(k)]))
        for k in range(len(system.scopes))
    )


def _refined(problem: Problem, factored: Factored, masses: FloatArray, direction: FloatArray) -> FloatArray | None:
    """Return masses * (1 + C^T d) with d refined until the miss no longer falls; None where a mass is not positive."""
    change, sums = np.empty_like(masses), np.empty(problem.system.rows)
    best: tuple[float, FloatArray] | None = None
    for _ in range(_REFINEMENTS):
        spread(problem.index, problem.offsets, direction, change)
        solution = masses * (1.0 + change)
        _, miss = measure(solution, problem.index, problem.offsets, problem.targets, sums)
        if not np.isfinite(miss) or (best is not None and miss > 0.5 * best[0]):
            break
        best = (miss, solution)
        direction = direction + factored.solve(problem.targets - sums)
    if best is None or not float(best[1].min()) > 0.0:
        return None
    return best[1]
