"""The KL divergence of masses, by terms that are never negative: a small one keeps its digits."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.ipf.steps import phi

_SMALL = 2.0**-960
"""Above such a share, ratios to it times their logarithms are in the range of float64."""


@compiled
def divergence_sum(p: FloatArray, q: FloatArray, p_total: float, q_total: float) -> float:
    """Return the sum of p log(p / q) - p + q, both divided by their totals; q is positive, and p may be 0."""
    total = 0.0
    for i in range(p.size):
        one, other = p[i] / p_total, q[i] / q_total
        if other > _SMALL:
            # by phi each term is at least 0: differences of logarithms would cancel where p is near q
            total += other * phi((one - other) / other)
        elif p[i] > 0.0:  # q is so small a share that it has lost its digits, or the ratio is beyond float64
            logs = (np.log(p[i]) - np.log(p_total)) - (np.log(q[i]) - np.log(q_total))
            total += one * logs - one + other
        else:
            total += other
    return total
