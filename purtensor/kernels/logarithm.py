"""log in a form that the compiler turns into vector instructions, accurate to one unit in the last place."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.exponential import excess
from purtensor.kernels.lanes import lane_sum

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_HALF_ROOT_BITS = 0x3FE6A09E667F3BCD
"""The bits of sqrt(1/2)."""

_BLOCK = 1024
_SMALL = 1.0 / 32.0


@compiled
def fast_log(x: float) -> float:
    """Return log(x) of a positive normal number, also where x is close to 1 and the result close to 0.

    x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1 and s = f / (2 + f); then log m = 2 artanh(s), a series in s,
    written as f - (f^2 / 2 - s (f^2 / 2 + rest)) so that its head is exact.
    """
    bits = np.float64(x).view(np.int64)
    k = (bits - _HALF_ROOT_BITS) >> 52
    f = np.int64(bits - (k << 52)).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    rest = 2.0 / 21.0
    rest = rest * z + 2.0 / 19.0
    rest = rest * z + 2.0 / 17.0
    rest = rest * z + 2.0 / 15.0
    rest = rest * z + 2.0 / 13.0
    rest = rest * z + 2.0 / 11.0
    rest = rest * z + 2.0 / 9.0
    rest = rest * z + 2.0 / 7.0
    rest = rest * z + 2.0 / 5.0
    rest = rest * z + 2.0 / 3.0
    half = 0.5 * f * f
    power = float(k)
    return float(power * _LN2_HIGH - ((half - (s * (half + z * rest) + power * _LN2_LOW)) - f))


@compiled
def linear_sum(weights: FloatArray, factors: FloatArray) -> float:
    """Return the sum of weights * log(factors)."""
    terms = np.empty(min(_BLOCK, weights.size))
    total = 0.0
    for begin in range(0, weights.size, _BLOCK):
        count = min(_BLOCK, weights.size - begin)
        for r in range(count):
            terms[r] = weights[begin + r] * fast_log(factors[begin + r])
        total += lane_sum(terms[:count])
    return total


@compiled
def divergence_gain(targets: FloatArray, factors: FloatArray, before: FloatArray) -> float:
    """Return what the dual gains as factors replace those before, each step having met its targets.

    The sum of targets * (log f - 1 + 1 / f), f = factors / before: the divergence of the targets from the sums that
    the steps found. With d = 1 - 1 / f a term is d^2 / 2 + d^3 / 3 + ..., which a few powers give where d is small.
    """
    terms = np.empty(min(_BLOCK, targets.size))
    total = 0.0
    for begin in range(0, targets.size, _BLOCK):
        count = min(_BLOCK, targets.size - begin)
        large = 0
        for r in range(count):
            d = (factors[begin + r] - before[begin + r]) / factors[begin + r]
            is_large = abs(d) > _SMALL
            large += is_large
            near = 0.0 if is_large else d
            terms[r] = targets[begin + r] * (near * near * _tail(near))
        if large:
            for r in range(count):
                terms[r] = targets[begin + r] * excess(-fast_log(factors[begin + r] / before[begin + r]))
        total += lane_sum(terms[:count])
    return total


@compiled
def _tail(d: float) -> float:
    """Return (-log(1 - d) - d) / d^2 for |d| up to 1/32."""
    value = 1.0 / 11.0
    value = value * d + 0.1
    value = value * d + 1.0 / 9.0
    value = value * d + 0.125
    value = value * d + 1.0 / 7.0
    value = value * d + 1.0 / 6.0
    value = value * d + 0.2
    value = value * d + 0.25
    value = value * d + 1.0 / 3.0
    return value * d + 0.5
