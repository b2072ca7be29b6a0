"""exp in a form that the compiler turns into vector instructions, accurate to one unit in the last place."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10


@compiled
def fast_exp(x: float) -> float:
    """Return exp(x): 0 below -745.2, inf above 709.9.

    x = k log 2 + r with |r| <= log(2) / 2, a Taylor polynomial of degree 13 in r, and 2^k written into the exponent
    bits in two halves, so that results below the normal range are rounded once.
    """
    z = min(max(x, -745.2), 709.9)
    k = np.rint(z * _LOG2_E)
    r = (z - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r * r + r + 1.0
    whole = np.int64(k)
    half = whole >> 1
    low = np.int64((half + 1023) << 52).view(np.float64)
    high = np.int64((whole - half + 1023) << 52).view(np.float64)
    return float(p * low * high)


@compiled
def scale_by_exp(reference: FloatArray, exponents: FloatArray) -> None:
    """Replace the exponents by reference * exp(exponents)."""
    for i in range(exponents.size):
        exponents[i] = reference[i] * fast_exp(exponents[i])


@compiled
def lane_sum(values: FloatArray) -> float:
    """Return the sum of the values in eight interleaved partial sums: vector instructions, and less rounding."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = values.size - values.size % 8
    for i in range(0, whole, 8):
        s0 += values[i]
        s1 += values[i + 1]
        s2 += values[i + 2]
        s3 += values[i + 3]
        s4 += values[i + 4]
        s5 += values[i + 5]
        s6 += values[i + 6]
        s7 += values[i + 7]
    total = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    for i in range(whole, values.size):
        total += values[i]
    return total
