"""The KL divergence of masses, by terms that are never negative: a small one keeps its digits."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.ipf import phi


@compiled
def divergence_sum(p: FloatArray, q: FloatArray, p_total: float, q_total: float) -> float:
    """Return the sum of p log(p / q) - p + q, both divided by their totals; q is positive, and p may be 0."""
    total = 0.0
    for i in range(p.size):
        one, other = p[i] / p_total, q[i] / q_total
        change = (one - other) / other
        if np.isinf(change):  # q is so small that the ratio is beyond float64
            total += one * (np.log(one) - np.log(q[i]) + np.log(q_total)) - one + other
        else:
            total += other * phi(change)
    return total
