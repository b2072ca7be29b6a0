"""The dense matrix C diag(p) C^T on independent rows."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled

_BLOCK = 64
"""Profiles whose rows are looked up before any pair is added: constraint by constraint, as the index lies in memory."""


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
    places = np.empty((_BLOCK, count), dtype=np.int64)
    found = np.empty(_BLOCK, dtype=np.int64)
    for first in range(begin, end, _BLOCK):
        here = min(_BLOCK, end - first)
        found[:] = 0
        for k in range(count):
            for j in range(here):
                place = number[offsets[k] + index[k, first + j]]
                if place >= 0:
                    # only the independent rows of a profile, in the order of the constraints
                    places[j, found[j]] = place
                    found[j] += 1
        for j in range(here):
            mass = masses[first + j]
            for a in range(found[j]):
                # places ascend with the constraints, so that only the upper triangle is written
                row = matrix[places[j, a]]
                for b in range(a, found[j]):
                    row[places[j, b]] += mass
