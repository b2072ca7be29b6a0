"""Sums in numpy: over groups, over all, and of what potentials make of profiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.divergence import divergence_sum
from purtensor.kernels.exact_levels import group_sums_in_numpy
from purtensor.kernels.reductions import group_sums, inner_product, lane_sum, spread

_SMALL = 2.0**-960
"""Above such a share, ratios to it times their logarithms are in the range of float64."""


def divergence_sum_in_numpy(p: FloatArray, q: FloatArray, p_total: float, q_total: float) -> float:
    """Add up p log(p / q) - p + q in shares of the totals, by q phi(p / q - 1) where q has all its digits."""
    one, other = p / p_total, q / q_total
    if other.min(initial=1.0) > _SMALL:
        return float((other * phi((one - other) / other)).sum())
    near = other > _SMALL
    far = ~near & (p > 0.0)
    terms = np.where(near, 0.0, other)
    terms[near] = other[near] * phi((one[near] - other[near]) / other[near])
    logs = (np.log(p[far]) - np.log(p_total)) - (np.log(q[far]) - np.log(q_total))
    terms[far] += one[far] * logs - one[far]
    return float(terms.sum())


def phi(w: FloatArray) -> FloatArray:
    """Return (1 + w) log(1 + w) - w, by its series where log1p alone cancels."""
    small = np.abs(w) < 0.02
    near = np.where(small, w, 0.0)
    term = near * near * 0.5
    total = term
    for n in range(3, 12):
        term = term * (-near * (n - 2) / n)
        total = total + term
    # near the answer nothing is far: half of the work is spared
    if small.all():
        return np.asarray(total)
    outer = np.where(small | (w <= -1.0), 0.0, w)
    far = np.where(w <= -1.0, 1.0, (1.0 + outer) * np.log1p(outer) - outer)
    return np.where(small, total, far)


def spread_in_numpy(index: IntArray, offsets: IntArray, potentials: FloatArray, out: FloatArray) -> None:
    """Look up the potentials of each constraint, and add them up."""
    out[:] = spread_range(index, offsets, potentials, 0, out.size)


def spread_range(index: IntArray, offsets: IntArray, potentials: FloatArray, begin: int, end: int) -> FloatArray:
    """Return C^T potentials of the profiles begin .. end - 1."""
    found = potentials[offsets[0] : offsets[1]][index[0, begin:end]]
    for k in range(1, len(index)):
        found += potentials[offsets[k] : offsets[k + 1]][index[k, begin:end]]
    return found


FORMS = {
    group_sums: group_sums_in_numpy,
    divergence_sum: divergence_sum_in_numpy,
    lane_sum: lambda values: float(values.sum()),
    inner_product: lambda one, other: float((one * other).sum()),
    spread: spread_in_numpy,
}

ALONE: tuple[Any, ...] = (group_sums, divergence_sum)
