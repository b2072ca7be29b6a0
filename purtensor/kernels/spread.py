"""Potentials from rows to profiles."""

from __future__ import annotations

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def spread(index: IntArray, offsets: IntArray, potentials: FloatArray, out: FloatArray) -> None:
    """Write C^T potentials into `out`."""
    first = potentials[offsets[0] : offsets[1]]
    row = index[0]
    for i in range(out.size):
        out[i] = first[row[i]]
    for k in range(1, index.shape[0]):
        row = index[k]
        part = potentials[offsets[k] : offsets[k + 1]]
        for i in range(out.size):
            out[i] += part[row[i]]
