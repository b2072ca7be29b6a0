"""Sums of float64 that are rounded once, so that they do not depend on the order of the terms."""

from __future__ import annotations

import math

from purtensor._typing import FloatArray

_BITS = 15
_BLOCK = 1 << _BITS
_FEW = 512
_LARGEST = 2.0**1000
"""Beyond it the numbers that split others would overflow."""

# each level takes 37 binary digits off; what spreads over more goes to math.fsum as it is
_LEVELS = 12


def exact_sum(values: FloatArray) -> float:
    """Return the sum of the values, rounded once, as math.fsum does it.

    Blocks are split into multiples of powers of two that float64 adds up without rounding (Rump, Ogita and Oishi 2008,
    "Accurate floating-point summation"); math.fsum adds up their few sums.
    """
    if len(values) <= _FEW:
        return math.fsum(values.tolist())
    parts: list[float] = []
    for first in range(0, len(values), _BLOCK):
        parts += _parts_of(values[first : first + _BLOCK])
    return math.fsum(parts)


def _parts_of(rest: FloatArray) -> list[float]:
    """Return few numbers whose exact sum is that of the values, at most 2^15 of them."""
    parts: list[float] = []
    for _ in range(_LEVELS):
        largest = max(float(rest.max()), -float(rest.min()))
        if largest == 0.0:
            return parts
        if not largest < _LARGEST:  # NaN, too
            break
        # adding and subtracting this rounds to multiples of 2^-37 of the largest's power of two
        splitter = math.ldexp(1.5, math.frexp(largest)[1] + _BITS)
        high = rest + splitter
        high -= splitter
        parts.append(float(high.sum()))
        # exact: both are multiples of the last digit of rest, and the difference is no larger
        rest = rest - high
    parts.extend(rest[rest != 0.0].tolist())
    return parts
