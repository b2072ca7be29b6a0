"""Sums in interleaved partial sums: vector instructions, less rounding, and the same bits on any number of threads."""

from __future__ import annotations

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled


@compiled
def lane_sum(values: FloatArray) -> float:
    """Return the sum of the values."""
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


@compiled
def inner_product(one: FloatArray, other: FloatArray) -> float:
    """Return the sum of the products of two arrays."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = one.size - one.size % 8
    for i in range(0, whole, 8):
        s0 += one[i] * other[i]
        s1 += one[i + 1] * other[i + 1]
        s2 += one[i + 2] * other[i + 2]
        s3 += one[i + 3] * other[i + 3]
        s4 += one[i + 4] * other[i + 4]
        s5 += one[i + 5] * other[i + 5]
        s6 += one[i + 6] * other[i + 6]
        s7 += one[i + 7] * other[i + 7]
    total = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    for i in range(whole, one.size):
        total += one[i] * other[i]
    return total
