"""What a Newton step needs of the masses: sums over potentials, and the gain of the dual without cancellation."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.exponential import excess
from purtensor.kernels.lanes import lane_sum

_BLOCK = 1024


@compiled
def curvature(masses: FloatArray, direction: FloatArray, step: float) -> float:
    """Return sum p (exp(z) - 1 - z) with z = step * direction: what the dual loses against its linear growth."""
    terms = np.empty(min(_BLOCK, masses.size))
    total = 0.0
    for begin in range(0, masses.size, _BLOCK):
        count = min(_BLOCK, masses.size - begin)
        for i in range(count):
            terms[i] = masses[begin + i] * excess(step * direction[begin + i])
        total += lane_sum(terms[:count])
    return total


@compiled
def largest_absolute(values: FloatArray) -> float:
    """Return the largest absolute value."""
    largest = 0.0
    for i in range(values.size):
        largest = max(largest, abs(values[i]))
    return largest
