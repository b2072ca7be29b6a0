"""The line search along Newton's direction, by a gain without cancellation (notes/newton.md, equation 8)."""

from __future__ import annotations

import numpy as np

from purtensor.kernels.newton.line_search import LARGEST_CHANGE, SUFFICIENT
from purtensor.solving.spaces.space import D, P, SearchSpace

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
    if largest > LARGEST_CHANGE:
        step = LARGEST_CHANGE / largest
        tried = space.try_step(point, direction, step)
    while step * largest > SHORTEST_CHANGE:
        gain = step * tried.slope - tried.loss
        if gain >= SUFFICIENT * step * tried.slope:
            return tried.point(), gain
        step *= 0.5
        tried = space.try_step(point, direction, step)
    return None
