"""Potentials from rows to profiles."""

from __future__ import annotations

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled

BLOCK = 1024
"""Profiles that are spread to at a time: what is made of them is still in the fastest cache."""


@compiled
def spread_from(index: IntArray, offsets: IntArray, potentials: FloatArray, begin: int, out: FloatArray) -> None:
    """Write C^T potentials of the profiles from `begin` on into `out`."""
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
