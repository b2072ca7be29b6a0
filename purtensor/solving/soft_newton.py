"""Newton's method on the dual of a problem whose soft rows have a smooth penalty."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.lanes import inner_product
from purtensor.solving.soft_ascent import (
    SoftEnding,
    SoftPoint,
    SoftRun,
    climb,
    hard_residual,
    is_doubtful,
    is_met,
    start_at,
)
from purtensor.solving.soft_penalty import SmoothPenalty
from purtensor.solving.soft_problem import SoftProblem


def ascend_smooth(
    soft: SoftProblem,
    penalty: SmoothPenalty,
    *,
    tolerance: float,
    max_iterations: int,
    is_hopeless: Callable[[], bool],
    start: FloatArray | None = None,
) -> SoftRun:
    """Return the point where the hard rows are met and every soft marginal is the one its potential asks for.

    Both are judged by the tolerance, the total mass being 1; `is_hopeless` tells, where progress raises the doubt,
    whether the hard rows cannot be met. Ctrl-C ends it at the point so far. Each step solves
    (C diag(p) C^T + diag(-psi'')) d = gradient (notes/relaxation.md, equation 9).
    """
    point = start_at(soft, start)
    rows, targets = soft.rows, soft.soft_targets
    ridge = np.zeros(soft.problem.system.rows)
    iterations = 0
    try:
        while True:
            residual = hard_residual(soft, point.sums)
            if not (point.finite and residual.finite):
                return SoftRun(point, residual, SoftEnding.NOT_FINITE, iterations)
            gradient = _gradient(soft, penalty, point)
            unrest = float(np.abs(gradient[rows]).max(initial=0.0)) / soft.problem.total
            if is_met(residual, tolerance) and unrest <= tolerance:
                return SoftRun(point, residual, SoftEnding.CONVERGED, iterations)
            if is_doubtful(residual, iterations) and is_hopeless():
                return SoftRun(point, residual, SoftEnding.INFEASIBLE, iterations)
            if iterations == max_iterations:
                return SoftRun(point, residual, SoftEnding.ITERATION_LIMIT, iterations)
            potentials = point.potentials[rows]
            ridge[rows] = penalty.bend(targets, potentials)
            direction, _ = soft.hessian.factor_and_solve(point.masses, gradient, ridge)
            change = direction[rows]
            moved = climb(
                soft,
                point,
                direction,
                inner_product(gradient, direction),
                lambda step, t=potentials, d=change: penalty.loss(targets, t, step * d),  # type: ignore[misc]
            )
            if moved is None:
                return SoftRun(point, residual, SoftEnding.STALLED, iterations)
            point = moved[0]
            iterations += 1
    except KeyboardInterrupt:
        return SoftRun(point, hard_residual(soft, point.sums), SoftEnding.INTERRUPTED, iterations)


def _gradient(soft: SoftProblem, penalty: SmoothPenalty, point: SoftPoint) -> FloatArray:
    """Return the slope of the dual: what each row's marginal lacks of what is asked for."""
    gradient = soft.problem.targets - point.sums
    rows = soft.rows
    gradient[soft.hard_count :] = 0.0
    gradient[rows] = penalty.asked(soft.soft_targets, point.potentials[rows]) - point.sums[rows]
    return gradient
