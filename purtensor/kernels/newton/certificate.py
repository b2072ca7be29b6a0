"""The sums of the certificate, each without cancellation."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.ipf.steps import phi
from purtensor.kernels.reductions import BLOCK, spread_from


@compiled
def _gap_term(w: float) -> float:
    """Return phi(w) - w - w^2 + expm1(w); for small w it is w^4 / 8."""
    if abs(w) < 0.02:
        total = 0.0
        power = w * w * w
        factorial = 6.0
        for n in range(4, 14):
            power *= w
            factorial *= n
            # of phi the terms (-w)^n / (n (n - 1)), of expm1 those w^n / n!: from the fourth on nothing cancels
            sign = 1.0 if n % 2 == 0 else -1.0
            total += power * (sign / (n * (n - 1)) + 1.0 / factorial)
        return total
    return float(phi(w) - w - w * w + np.expm1(w))


@compiled
def certificate_sums(masses: FloatArray, change: FloatArray) -> tuple[float, float, float, float]:
    """Return the smallest w or 0, sum p phi(w), sum p (phi(w) - w - w^2 + expm1(w)) and sum p |w|.

    All are NaN where a w is no finite number.
    """
    lowest = 0.0
    upper = 0.0
    gap = 0.0
    moved = 0.0
    for i in range(masses.size):
        w = change[i]
        # below -1 a mass of the feasible point would be negative
        lowest = min(lowest, w)
        upper += masses[i] * phi(w)
        gap += masses[i] * _gap_term(w)
        moved += masses[i] * abs(w)
    # one sum is enough: it is not finite where any w is not
    if not np.isfinite(moved):
        return np.nan, np.nan, np.nan, np.nan
    return lowest, upper, gap, moved


@compiled
def unevenness(missed: FloatArray, targets: FloatArray) -> float:
    """Return the sum of miss^2 / max(target, miss): what misses of rounding are in nats, large for a small target."""
    total = 0.0
    for r in range(missed.size):
        if missed[r] != 0.0:
            # a quotient first: the square of a miss may underflow
            total += missed[r] * (missed[r] / max(targets[r], abs(missed[r])))
    return total


@compiled
def weigh(masses: FloatArray, index: IntArray, offsets: IntArray, weights: FloatArray) -> float:
    """Return the mean over the masses of the sum of each profile's row weights."""
    weight = np.empty(min(BLOCK, masses.size))
    total = 0.0
    mass = 0.0
    for at in range(0, masses.size, BLOCK):
        here = weight[: min(BLOCK, masses.size - at)]
        spread_from(index, offsets, weights, at, here)
        for i in range(here.size):
            total += masses[at + i] * here[i]
            mass += masses[at + i]
    return total / mass
