"""What a Newton step needs of the masses: sums over potentials, and the gain of the dual without cancellation."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.elementary import excess
from purtensor.kernels.reductions import BLOCK, lane_sum, spread_from

SUFFICIENT = 1e-4
"""A step gains this share of what the slope of the dual promises, at least."""

LARGEST_CHANGE = 40.0
"""No mass changes by more than exp(40) in one step; beyond it the quadratic model says nothing."""


@compiled
def curvature(masses: FloatArray, direction: FloatArray, step: float) -> float:
    """Return sum p (exp(z) - 1 - z) with z = step * direction: what the dual loses against its linear growth."""
    terms = np.empty(min(BLOCK, masses.size))
    total = 0.0
    for begin in range(0, masses.size, BLOCK):
        count = min(BLOCK, masses.size - begin)
        for i in range(count):
            # written to an array first: the loop is vectorised, and the sum is that of `lane_sum`
            terms[i] = masses[begin + i] * excess(step * direction[begin + i])
        total += lane_sum(terms[:count])
    return total


@compiled
def bend(
    masses: FloatArray, index: IntArray, offsets: IntArray, direction: FloatArray, step: float, begin: int, end: int
) -> tuple[float, float]:
    """Return the `curvature` along C^T direction over the profiles begin .. end - 1, and the largest |C^T direction|.

    C^T direction is made block by block and kept nowhere.
    """
    change = np.empty(min(BLOCK, end - begin))
    total = 0.0
    largest = 0.0
    for at in range(begin, end, BLOCK):
        count = min(BLOCK, end - at)
        here = change[:count]
        # in a block that stays in the cache: an array of all profiles would be written and read once more
        spread_from(index, offsets, direction, at, here)
        largest = max(largest, largest_absolute(here))
        for i in range(count):
            here[i] = masses[at + i] * excess(step * here[i])
        total += lane_sum(here)
    return total, largest


@compiled
def largest_absolute(values: FloatArray) -> float:
    """Return the largest absolute value."""
    a = b = c = d = 0.0  # one maximum after the other would wait for each
    whole = values.size - values.size % 4
    for i in range(0, whole, 4):
        a = max(a, abs(values[i]))
        b = max(b, abs(values[i + 1]))
        c = max(c, abs(values[i + 2]))
        d = max(d, abs(values[i + 3]))
    for i in range(whole, values.size):
        a = max(a, abs(values[i]))
    return max(max(a, b), max(c, d))
