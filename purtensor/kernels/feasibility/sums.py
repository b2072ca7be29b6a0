"""Sums of whole numbers beyond int64: floats that hold whole numbers are added up in limbs of 32 bits."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def add_in_limbs(values: FloatArray, index: IntArray, limbs: IntArray) -> None:
    """Add each whole number `values[i]`, not negative and below 2^(32 (limbs - 2)), to the limbs of row `index[i]`.

    A limb takes up to 2^31 terms before it overflows; limbs are not carried.
    """
    mask = (1 << 32) - 1
    for i in range(values.size):
        mantissa, exponent = math.frexp(values[i])
        # a float64 number is a whole number of 53 bits times a power of two
        whole = np.int64(math.ldexp(mantissa, 53))
        shift = exponent - 53
        if shift < 0:  # a whole number below 2^53: the bits that go are zero
            whole >>= -shift
            shift = 0
        at = shift // 32
        off = shift % 32
        row = limbs[index[i]]
        # 53 bits that begin anywhere in a limb reach into two more at most
        row[at] += (whole & (mask >> off)) << off
        whole >>= 32 - off
        row[at + 1] += whole & mask
        row[at + 2] += whole >> 32


@compiled
def tree_flow(sequence: IntArray, parent: IntArray, needs: IntArray, flow: IntArray) -> None:
    """Write for each node of a rooted forest what the edge to its parent must carry to meet the nodes' needs.

    An edge counts for both of its nodes. `needs` is left as what the roots still miss; other nodes are not touched.
    """
    flow[:] = 0
    # children come after their parents in the sequence, and are served first
    for s in range(sequence.size - 1, -1, -1):
        node = sequence[s]
        if parent[node] >= 0:
            flow[node] = needs[node]
            needs[parent[node]] -= needs[node]


@compiled
def add_whole(values: IntArray, index: IntArray, out: IntArray) -> None:
    """Add each int64 to its row."""
    for i in range(values.size):
        out[index[i]] += values[i]


@compiled
def raise_to(lacking: IntArray, index: IntArray, costs: IntArray) -> None:
    """Raise each row to what the profile of the lowest cost in it lacks to 0."""
    for i in range(costs.size):
        row = index[i]
        if -costs[i] > lacking[row]:
            lacking[row] = -costs[i]


@compiled
def repair_price(change: FloatArray, index: IntArray, targets: FloatArray, highest: FloatArray) -> float:
    """Return what it costs to lower each row by the highest positive change in it: sum b_r max_i (w_i, 0)."""
    highest[:] = 0.0
    for i in range(change.size):
        row = index[i]
        highest[row] = max(highest[row], change[i])
    total = 0.0
    for r in range(targets.size):
        total += targets[r] * highest[r]
    return total
