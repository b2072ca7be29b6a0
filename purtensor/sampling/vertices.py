"""Unbiased rounding towards a vertex of the table's polytope, for constraints that no flow carries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.sampling.polytope_vertices import walk_to_vertex
from purtensor.sampling.fixed_point import FixedPoint, Units
from purtensor.sampling.repair import RowBounds

MOST_ROWS = 4_000
"""The walk keeps a dense matrix of rows x rows."""

_WORK_AT_A_TIME = 20_000_000
_WHOLE = 1e-3


def round_at_vertex(masses: FixedPoint, bounds: Sequence[RowBounds], rng: np.random.Generator) -> Units:
    """Return whole numbers, each less than one from its mass, with its mean, and with the same total.

    A random vertex of the polytope is reached in such steps that its mean is the table. Sums over the rows are within
    their bounds when the vertex is whole; fractions that are left are rounded without looking at the rows.
    """
    free = np.flatnonzero(masses.fraction())
    fraction = masses.fraction()[free] / masses.one
    left = int(masses.fraction().sum()) >> masses.bits
    counts = masses.whole()
    offsets = np.cumsum([0, *(len(bound.lower) for bound in bounds)])
    # the last row is the total, which is whole
    rows = np.column_stack(
        [*(bound.index[free] + o for bound, o in zip(bounds, offsets, strict=False)), np.full(len(free), offsets[-1])]
    )
    low = np.concatenate([*(bound.lower - bound.sums(counts) for bound in bounds), [left]])
    width = np.concatenate([*(bound.upper - bound.lower for bound in bounds), [0]]).astype(np.float64)
    sums = np.bincount(rows.ravel(), weights=np.repeat(fraction, rows.shape[1]), minlength=len(width))
    # what each row has above its lower bound; rounding may leave a sum a hair outside
    basic = np.clip(sums - low, 0, width)
    # the basis begins with the rows' slacks, which member -1 marks
    inverse, member = -np.eye(len(width)), np.full(len(width), -1)
    chances, start = rng.random(len(free)), 0
    while start < len(free):
        start = walk_to_vertex(fraction, rows, inverse, basic, width, member, chances, start, _WORK_AT_A_TIME)
    fraction[member[member >= 0]] = basic[member >= 0]
    counts[free] += _whole(fraction, left, rng)
    return counts


def _whole(fraction: FloatArray, total: int, rng: np.random.Generator) -> Units:
    """Return 0 or 1 for each fraction, with its mean and the given sum: one systematic draw of what is not whole."""
    result = np.rint(fraction).astype(np.int64)
    open_ = np.flatnonzero(np.abs(fraction - result) > _WHOLE)
    result[open_] = 0
    if len(open_):
        # systematic sampling (Madow 1949): one random start, and the chances add up to the total
        sums = np.cumsum(fraction[open_])
        # a whole number at the end, whatever rounding did
        sums *= (total - result.sum()) / sums[-1]
        result[open_] = np.diff(np.floor(np.concatenate([[0.0], sums]) + rng.random())).astype(np.int64)
    return result
