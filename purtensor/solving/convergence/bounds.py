"""Bounds on the factor of plain sweeps from quantities that are cheaper to compute (notes/rate_bounds.md)."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.problem import Problem

LARGEST_DENSE = 1500
"""Up to so many rows the trace of the inverse is computed, from all eigenvalues of a dense matrix."""

_RESOLVED = 1e-11
"""Below this, eigenvalues of a matrix of norm 1 and more are rounding."""


def gap_of_three(merged_gap: float, slab_gap: float) -> float:
    """Return a lower bound on 1 - rho of sweeps over three constraints (notes/rate_bounds.md, equation 1).

    Parameters
    ----------
    merged_gap
        1 - the squared Friedrichs cosine of one of them and the two others together.
    slab_gap
        1 - that of the two others.
    """
    sigma = math.sqrt(max(0.0, 1.0 - slab_gap))
    return merged_gap * slab_gap * (2.0 + sigma) / (2.0 + 2.0 * sigma)


def gap_by_trace(problem: Problem, masses: FloatArray, rank: int, distance: float = 0.0) -> float | None:
    """Return an upper bound on 1 - rho of plain sweeps (notes/rate_bounds.md, equation 4); None if out of reach.

    Parameters
    ----------
    rank
        Of the constraints, exact: it tells how many eigenvalues are zero.
    distance
        The bound is one at all masses whose logarithms differ by no more than this (equation 8).
    """
    rows = problem.system.rows
    if rows > LARGEST_DENSE:
        return None
    sums = np.concatenate([np.bincount(row, masses) for row in problem.index])
    joint = np.zeros((rows, rows))
    places = problem.index.astype(np.int64) + problem.offsets[:-1, None]
    for one in places:
        for other in places:
            np.add.at(joint, (one, other), masses)
    scale = 1.0 / np.sqrt(sums)
    # in ascending order, so these are all but the zeros, whose number is known exactly
    eigenvalues = np.linalg.eigvalsh(joint * scale[:, None] * scale)[-rank:]
    # 1 / eigenvalue would be 1 / rounding
    if eigenvalues[0] < _RESOLVED:
        return None
    trace = float((1.0 / eigenvalues).sum())
    # notes/rate_bounds.md, equation 8
    trace /= 1.0 + len(problem.index) * math.expm1(2.0 * distance) * trace
    # n0 is at least the rank of any one constraint, which is its number of rows
    zeros = int(np.diff(problem.offsets).max())
    if rank <= zeros or trace <= rank:  # then the bound says nothing
        return 1.0
    return 1.0 / (0.5 + (trace - zeros) / (2.0 * (rank - zeros)))
