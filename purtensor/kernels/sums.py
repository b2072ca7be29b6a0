"""Sums over groups, exact to the last bits whatever the number of terms."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def group_sums(values: FloatArray, group: IntArray, count: int) -> FloatArray:
    """Return the sum of the values of each group, with Neumaier's compensation."""
    sums = np.zeros(count)
    lost = np.zeros(count)
    for i in range(values.size):
        g = group[i]
        value = values[i]
        total = sums[g] + value
        if abs(sums[g]) >= abs(value):
            lost[g] += (sums[g] - total) + value
        else:
            lost[g] += (value - total) + sums[g]
        sums[g] = total
    for g in range(count):
        sums[g] += lost[g]
    return sums
