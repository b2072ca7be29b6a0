"""What a Newton step needs of the masses: sums over potentials, and the gain of the dual without cancellation."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.exponential import fast_exp, lane_sum

_BLOCK = 1024


@compiled
def excess(z: float) -> float:
    """Return exp(z) - 1 - z without cancellation."""
    term = 1.0 / 39916800.0
    term = term * z + 1.0 / 3628800.0
    term = term * z + 1.0 / 362880.0
    term = term * z + 1.0 / 40320.0
    term = term * z + 1.0 / 5040.0
    term = term * z + 1.0 / 720.0
    term = term * z + 1.0 / 120.0
    term = term * z + 1.0 / 24.0
    term = term * z + 1.0 / 6.0
    term = term * z + 0.5
    return term * z * z if abs(z) < 0.1 else fast_exp(z) - 1.0 - z


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
