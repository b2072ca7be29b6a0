"""Sums over all entries and groups, potentials from rows to profiles: the same bits on any number of threads."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def lane_sum(values: FloatArray) -> float:
    """Return the sum of the values."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    # eight chains of additions: none waits for the one before, and each is an eighth as long
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
    # a tree, and always the same one: the bits do not depend on the machine
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


BLOCK = 1024
"""Profiles that are spread to at a time: what is made of them is still in the fastest cache."""


@compiled
def spread_from(index: IntArray, offsets: IntArray, potentials: FloatArray, begin: int, out: FloatArray) -> None:
    """Write C^T potentials of the profiles from `begin` on into `out`."""
    # the first constraint writes and the others add: `out` needs no clearing
    first = potentials[offsets[0] : offsets[1]]
    row = index[0, begin : begin + out.size]
    for i in range(out.size):
        out[i] = first[row[i]]
    for k in range(1, index.shape[0]):
        row = index[k, begin : begin + out.size]
        part = potentials[offsets[k] : offsets[k + 1]]
        for i in range(out.size):
            out[i] += part[row[i]]


@compiled
def spread(index: IntArray, offsets: IntArray, potentials: FloatArray, out: FloatArray) -> None:
    """Write C^T potentials into `out`."""
    for begin in range(0, out.size, BLOCK):
        spread_from(index, offsets, potentials, begin, out[begin : begin + BLOCK])


@compiled
def group_sums(values: FloatArray, group: IntArray, count: int) -> FloatArray:
    """Return the sum of the values of each group, with Neumaier's compensation."""
    sums = np.zeros(count)
    lost = np.zeros(count)
    for i in range(values.size):
        g = group[i]
        value = values[i]
        total = sums[g] + value
        # the smaller of two numbers is the one that loses digits (Neumaier, 1974)
        if abs(sums[g]) >= abs(value):
            lost[g] += (sums[g] - total) + value
        else:
            lost[g] += (value - total) + sums[g]
        sums[g] = total
    for g in range(count):
        # once, at the end: added before, what was lost would be lost again
        sums[g] += lost[g]
    return sums
