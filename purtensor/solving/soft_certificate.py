"""A proved bound on how far a relaxed point is from the least objective, and from the point that has it.

The masses p (1 + w) that meet the hard constraints have an objective that is at least the least one, and the dual at
the potentials of p is at most that. The difference is a sum of terms that cannot be negative, each free of
cancellation: sum p phi(w), and the gap of each soft row. It bounds D(q || p) and D(p (1 + w) || q) for the exact
answer q (notes/relaxation.md, equations 14 to 16).
"""

from __future__ import annotations

from itertools import product

import numpy as np

from purtensor._typing import BoolArray, FloatArray
from purtensor.kernels.newton.certificate import certificate_sums
from purtensor.kernels.spread import spread
from purtensor.solving.certificate import UNPROVED, Certificate
from purtensor.solving.chunked import weighed
from purtensor.solving.iterate import row_sums
from purtensor.solving.soft_ascent import SoftPoint
from purtensor.solving.soft_penalty import Absolute, Penalty
from purtensor.solving.soft_polish import holding_ridge, miss_to_meet, tight_rows
from purtensor.solving.soft_problem import SoftProblem

_UNIT = 2.0**-53
_DUST = (0.0, 1e-24, 1e-18)
_MOST_REFINEMENTS = 20


def certify_soft(soft: SoftProblem, point: SoftPoint, penalty: Penalty, slack: float | None = None) -> Certificate:
    """Return what is proved of a point: its objective is within `bound` of the least, it within `tv_bound` of the best.

    With a `slack`, as a mass of the problem's units, the objective is the divergence alone among all points whose
    misses sum up to the slack, or to what the point has where that is more; `penalty` then is `Absolute` with the
    multiplier of the slack as its strength.
    """
    problem, rows = soft.problem, soft.rows
    scale = problem.total / float(point.masses.sum())
    if not np.isfinite(scale):
        return UNPROVED
    masses = point.masses * scale
    potentials = point.potentials[rows]
    tight = np.zeros(len(rows), dtype=bool)
    if isinstance(penalty, Absolute):
        potentials = np.clip(potentials, -penalty.strength, penalty.strength)
        tight = tight_rows(soft, point, penalty.strength)
    found = _feasible(soft, masses, tight)
    if found is None:
        return UNPROVED
    change, left = found
    feasible = masses * (1.0 + change)
    sums = row_sums(problem, feasible)[rows]
    gap = penalty.gap(soft.soft_targets, sums, potentials)
    if slack is not None and isinstance(penalty, Absolute):
        gap += penalty.strength * max(0.0, slack - float(np.abs(sums - soft.soft_targets).sum()))
    bound = (certificate_sums(masses, change)[1] + gap) / problem.total
    if not bound >= 0.0:
        return UNPROVED
    weight = weighed(problem, point.masses, point.potentials)
    rounding = left / problem.total + _UNIT * (4.0 + weight)
    tv = float(np.sqrt(bound / 2)) + rounding
    return Certificate(float(bound + 2 * tv * rounding + rounding**2), min(1.0, tv))


def _feasible(soft: SoftProblem, masses: FloatArray, tight: BoolArray) -> tuple[FloatArray, float] | None:
    """Return w >= -1 such that masses (1 + w) meets the hard and the tight soft rows, and the miss in L1 that is left.

    Masses that a large strength has emptied carry no correction: next to them the rounding of the others is huge. So
    where the first attempt fails they are left as they are, and what they sum to is part of the miss. None where
    every attempt fails.
    """
    for chosen, share in product((tight, np.zeros_like(tight)) if tight.any() else (tight,), _DUST):
        solid = np.where(masses > share * soft.problem.total, masses, 0.0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            change, left = _correction(soft, solid, chosen)
        change = np.where(solid > 0.0, change, 0.0)
        if float(change.min()) >= -1.0 and np.isfinite(left):
            return change, left + float((masses - solid).sum())
    return None


def _correction(soft: SoftProblem, masses: FloatArray, tight: BoolArray) -> tuple[FloatArray, float]:
    """Return w by one factorisation and refinement until the miss no longer falls."""
    problem = soft.problem
    sums = row_sums(problem, masses)
    left = miss_to_meet(soft, sums, tight)
    potentials, factored = soft.hessian.factor_and_solve(masses, left, holding_ridge(soft, sums, tight))
    change, best = np.empty_like(masses), None
    for _ in range(_MOST_REFINEMENTS):
        spread(problem.index, problem.offsets, potentials, change)
        left = miss_to_meet(soft, row_sums(problem, masses * (1.0 + change)), tight)
        miss = float(np.abs(left).sum())
        if not np.isfinite(miss) or (best is not None and miss > 0.5 * best[0]):
            break
        best = (miss, change.copy())
        potentials = potentials + factored.solve(left)
    return (np.full_like(masses, np.nan), np.inf) if best is None else (best[1], best[0])
