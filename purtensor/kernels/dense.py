"""The dense matrix C diag(p) C^T on independent rows."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def add_pairs(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    number: IntArray,
    begin: int,
    end: int,
    matrix: FloatArray,
) -> None:
    """Add every mass of profiles begin .. end - 1 to the entries of all pairs of its independent rows (upper triangle).

    `number` has the place of each row in the matrix, -1 where it is dependent.
    """
    count = index.shape[0]
    here = np.empty(count, dtype=np.int64)
    for i in range(begin, end):
        found = 0
        for k in range(count):
            place = number[offsets[k] + index[k, i]]
            if place >= 0:
                here[found] = place
                found += 1
        mass = masses[i]
        for a in range(found):
            for b in range(a, found):
                matrix[here[a], here[b]] += mass
