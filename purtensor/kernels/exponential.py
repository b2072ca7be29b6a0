"""exp in a form that the compiler turns into vector instructions, accurate to one unit in the last place."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_RAISED = 2.0**64


@compiled
def _reduced(z: float) -> tuple[float, float, float, float]:
    """Return r, q and two factors whose product is 2^k, with z = k log 2 + r and exp(r) = 1 + r + r^2 q.

    |r| <= log(2) / 2; q is a Taylor polynomial to the 13th power of r; 2^k is written into the exponent bits in two
    halves, so that results below the normal range are rounded once.
    """
    k = np.rint(z * _LOG2_E)
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
    half = whole >> 1
    low = np.int64((half + 1023) << 52).view(np.float64)
    high = np.int64((whole - half + 1023) << 52).view(np.float64)
    return r, q, low, high


@compiled
def fast_exp(x: float) -> float:
    """Return exp(x): 0 below -745.2, inf above 709.9."""
    r, q, low, high = _reduced(min(max(x, -745.2), 709.9))
    return float((q * r * r + r + 1.0) * low * high)


@compiled
def excess(x: float) -> float:
    """Return exp(x) - 1 - x without cancellation and without a branch, for x up to 700.

    With 2^k = 1 the terms that would cancel are exactly 0, and r^2 q is left.
    """
    z = min(max(x, -745.2), 700.0)
    r, q, low, high = _reduced(z)
    power = low * high
    return float(power * (q * r * r) + ((power - 1.0) + (power * r - z)))


@compiled
def scaled_exp(reference: float, x: float) -> float:
    """Return reference * exp(x), also where exp(x) alone is out of range; inf beyond 2^959.

    The reference is from 0 to 2^100.
    """
    r, q, low, high = _reduced(min(max(x, -1380.0), 1380.0))
    raised = (reference * _RAISED) * low * high  # exact: only the last product may round below the normal range
    return float(raised * (q * r * r + r + 1.0) * (1.0 / _RAISED))


@compiled
def scale_by_exp(reference: FloatArray, exponents: FloatArray) -> None:
    """Replace the exponents by reference * exp(exponents)."""
    for i in range(exponents.size):
        exponents[i] = scaled_exp(reference[i], exponents[i])
