"""Eight float64 side by side: one vector register where the processor has such, and plain arithmetic everywhere.

The compiler finds vector instructions by itself only in loops over long contiguous axes. An octet is a value that
compiled code adds, subtracts and multiplies as a whole, so that short loops keep their sums in registers. Nothing is
fused or reordered: every lane gives the bits of scalar arithmetic. Where kernels run as plain Python, an octet is a
numpy array of shape (8,).
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray

WIDTH = 8


def load(values: FloatArray) -> FloatArray:
    """Return the first eight values of a contiguous array as an octet."""
    return values[:WIDTH].copy()


def store(values: FloatArray, octet: FloatArray) -> None:
    """Write an octet over the first eight values of a contiguous array."""
    values[:WIDTH] = octet


def eight(value: float) -> FloatArray:
    """Return an octet of one value."""
    return np.full(WIDTH, value)


def quotient(octet: FloatArray, divisor: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return octet / divisor where the divisor is positive, else `otherwise`; NaN counts as not positive."""
    positive = divisor > 0.0
    return np.where(positive, octet / np.where(positive, divisor, 1.0), otherwise)


def distance(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return |one - other|."""
    return np.abs(one - other)


def larger(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the larger of the two where both are numbers, else `other`."""
    return np.where(one > other, one, other)
