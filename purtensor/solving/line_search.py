"""Line searches by the gain of the dual, computed without cancellation: the two rules that solvers share.

`search` is Newton's: the gain of the dual as it is (notes/newton.md, equation 8). `search_at_total` keeps the total of
the masses (notes/solvers.md, equation 6), for methods whose directions have no length of their own.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.newton.line_search import LARGEST_CHANGE, SUFFICIENT
from purtensor.kernels.reductions import inner_product
from purtensor.solving.spaces.space import D, Direction, P, RowSpace, SearchSpace

SHORTEST_CHANGE = 2.0**-60
"""The search ends where a step changes no logarithm of a mass by more: what it would gain is rounding."""


def search(space: SearchSpace[P, D], point: P, direction: D) -> tuple[P, float] | None:
    """Return the point along an ascent direction where the dual has gained enough, and the gain; else None.

    The gain is step * slope - sum p (exp(z) - 1 - z), two numbers that are each accurate to their last digits.
    """
    step = 1.0
    tried = space.try_step(point, direction, step)
    largest = tried.largest
    if not (np.isfinite(tried.slope) and tried.slope > 0.0 and np.isfinite(largest) and largest > 0.0):
        return None
    # beyond exp(40) the quadratic model says nothing, and exp(z) may overflow
    if largest > LARGEST_CHANGE:
        step = LARGEST_CHANGE / largest
        tried = space.try_step(point, direction, step)
    while step * largest > SHORTEST_CHANGE:
        # not the difference of two values of the dual, which would be all rounding near a miss of 1e-8
        gain = step * tried.slope - tried.loss
        # Armijo's rule
        if gain >= SUFFICIENT * step * tried.slope:
            return tried.point(), gain
        step *= 0.5
        tried = space.try_step(point, direction, step)
    return None


def centre(space: RowSpace[P], point: P, potentials: FloatArray) -> Direction:
    """Return the direction of these potentials with a constant taken off, which the total of the masses forbids."""
    miss = space.miss(point)
    centred = potentials.copy()
    # targets - miss is C p, so the product is sum p z: z = C^T d gets mean 0 under p
    centred[space.first_rows] -= inner_product(space.targets - miss, potentials) / space.total
    return Direction(centred, inner_product(miss, centred))


def gain_at_total(total: float, slope: float, loss: float, step: float) -> float:
    """Return what the dual gains by a step if a constant then brings the masses back to their total."""
    # notes/solvers.md, equation 6; log1p, for loss / total is tiny near the answer
    return step * slope - total * float(np.log1p(loss / total))


def search_at_total(space: RowSpace[P], point: P, direction: Direction) -> tuple[P, float, float] | None:
    """Return the point along an ascent direction where the dual has gained enough, the gain and the step; else None.

    A step that gains too little gives way to the maximum of the parabola through the slope and its gain.
    """
    slope = direction.slope
    if not (np.isfinite(slope) and slope > 0.0):
        return None
    step = 1.0
    tried = space.try_step(point, direction, step)
    largest = tried.largest
    if not 0.0 < largest < np.inf:
        return None
    if largest > LARGEST_CHANGE:
        step = LARGEST_CHANGE / largest
        tried = space.try_step(point, direction, step)
    while step * largest > SHORTEST_CHANGE:
        gain = gain_at_total(space.total, slope, tried.loss, step)
        if gain >= SUFFICIENT * step * slope:
            return tried.point(), gain, step
        # gain(s) = slope s - a s^2 peaks here; kept between a tenth and a half of the step, as the parabola may mislead
        peak = 0.5 * slope * step**2 / (slope * step - gain)
        step = min(max(peak, 0.1 * step), 0.5 * step)
        tried = space.try_step(point, direction, step)
    return None
