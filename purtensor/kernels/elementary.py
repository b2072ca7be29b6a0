"""exp and log in forms that the compiler turns into vector instructions, accurate to one unit in the last place."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.reductions import lane_sum

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_RAISED = 2.0**64


@compiled
def _reduce(z: float) -> tuple[float, float, float, float]:
    """Return r, q and two factors whose product is 2^k, with z = k log 2 + r and exp(r) = 1 + r + r^2 q.

    |r| <= log(2) / 2; q is a Taylor polynomial to the 13th power of r; 2^k is written into the exponent bits in two
    halves, so that results below the normal range are rounded once.
    """
    # to nearest, so that the rest is at most log(2) / 2
    k = np.rint(z * _LOG2_E)
    # log 2 in two parts: k times the high one is exact, for its last 21 bits are zero (Cody and Waite)
    r = (z - k * _LN2_HIGH) - k * _LN2_LOW
    q = 1.0 / 6227020800.0
    q = q * r + 1.0 / 479001600.0
    q = q * r + 1.0 / 39916800.0
    q = q * r + 1.0 / 3628800.0
    q = q * r + 1.0 / 362880.0
    q = q * r + 1.0 / 40320.0
    q = q * r + 1.0 / 5040.0
    q = q * r + 1.0 / 720.0
    q = q * r + 1.0 / 120.0
    q = q * r + 1.0 / 24.0
    q = q * r + 1.0 / 6.0
    q = q * r + 0.5
    whole = np.int64(k)
    # one factor 2^k would leave the exponents of float64 for results that are subnormal
    half = whole >> 1
    low = np.int64((half + 1023) << 52).view(np.float64)
    high = np.int64((whole - half + 1023) << 52).view(np.float64)
    return r, q, low, high


@compiled
def fast_exp(x: float) -> float:
    """Return exp(x): 0 below -745.2, inf above 709.9."""
    r, q, low, high = _reduce(min(max(x, -745.2), 709.9))
    return float((q * r * r + r + 1.0) * low * high)


@compiled
def excess(x: float) -> float:
    """Return exp(x) - 1 - x without cancellation and without a branch, for x up to 700.

    With 2^k = 1 the terms that would cancel are exactly 0, and r^2 q is left.
    """
    z = min(max(x, -745.2), 700.0)
    r, q, low, high = _reduce(z)
    # where 2^k leaves the normal range, exp(z) is nothing beside -1 - z
    power = low * high
    return float(power * (q * r * r) + ((power - 1.0) + (power * r - z)))


@compiled
def multiply_by_exp(reference: float, x: float) -> float:
    """Return reference * exp(x), also where exp(x) alone is out of range; inf beyond 2^959.

    The reference is from 0 to 2^100.
    """
    r, q, low, high = _reduce(min(max(x, -1380.0), 1380.0))
    raised = (reference * _RAISED) * low * high  # exact: only the last product may round below the normal range
    return float(raised * (q * r * r + r + 1.0) * (1.0 / _RAISED))


@compiled
def scale_by_exp(reference: FloatArray, exponents: FloatArray) -> None:
    """Replace the exponents by reference * exp(exponents)."""
    for i in range(exponents.size):
        exponents[i] = multiply_by_exp(reference[i], exponents[i])


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
    # compared as integers, as positive floats sort like their bits
    bits = np.float64(x).view(np.int64)
    k = (bits - _HALF_ROOT_BITS) >> 52
    f = np.int64(bits - (k << 52)).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    # artanh(s) = s + s^3 / 3 + ...: |s| is below 0.172, so that ten terms reach the last bit
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
            # without a branch: the few large ones are overwritten by a second pass
            near = 0.0 if is_large else d
            terms[r] = targets[begin + r] * (near * near * _tail(near))
        # rarely: after the first sweeps factors change little
        if large:
            for r in range(count):
                terms[r] = targets[begin + r] * excess(-fast_log(factors[begin + r] / before[begin + r]))
        total += lane_sum(terms[:count])
    return total


@compiled
def _tail(d: float) -> float:
    """Return (-log(1 - d) - d) / d^2 for |d| up to 1/32."""
    # Horner's scheme; what is left out is below (1/32)^10 / 12
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
