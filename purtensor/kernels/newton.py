"""What a Newton step needs of the masses: sums over potentials, and the gain of the dual without cancellation."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def spread(index: IntArray, offsets: IntArray, potentials: FloatArray, out: FloatArray) -> None:
    """Write C^T potentials into `out`."""
    first = potentials[offsets[0] : offsets[1]]
    row = index[0]
    for i in range(out.size):
        out[i] = first[row[i]]
    for k in range(1, index.shape[0]):
        row = index[k]
        part = potentials[offsets[k] : offsets[k + 1]]
        for i in range(out.size):
            out[i] += part[row[i]]


@compiled
def excess(z: float) -> float:
    """Return exp(z) - 1 - z without cancellation."""
    if abs(z) < 0.1:
        term = z * z * 0.5
        total = term
        for n in range(3, 11):
            term *= z / n
            total += term
        return total
    return np.expm1(z) - z


@compiled
def curvature(masses: FloatArray, direction: FloatArray, step: float) -> float:
    """Return sum p (exp(z) - 1 - z) with z = step * direction: what the dual loses against its linear growth."""
    total = 0.0
    for i in range(masses.size):
        total += masses[i] * excess(step * direction[i])
    return total


@compiled
def largest_absolute(values: FloatArray) -> float:
    """Return the largest absolute value."""
    largest = 0.0
    for i in range(values.size):
        largest = max(largest, abs(values[i]))
    return largest
