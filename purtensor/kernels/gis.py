"""Generalised iterative scaling over integer codes: all constraints at once.

Every profile lies in exactly one row of each of the K constraints, so that the exponent is 1 / K everywhere: row r
takes the factor (target / sum) ** (1 / K) (J. N. Darroch and D. Ratcliff, Ann. Math. Statist. 43, 1972, 1470-1480).
The masses then get their total again, which the original left to the limit and which only raises the dual.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.ipf import SWEEPS_PER_FOLD, fold, phi, sum_rows
from purtensor.kernels.judging import ENDED, PASSED_OVER, judge_sweep
from purtensor.kernels.newton import curvature, excess
from purtensor.kernels.spread import spread


@compiled
def take_roots(targets: FloatArray, sums: FloatArray, constraints: int, step: FloatArray) -> float:
    """Write log(target / sum) / K of each row into `step`; return what the dual gains by it at least.

    By the inequality of the arithmetic and the geometric mean that is the mean over the constraints of the
    divergence of their targets from their sums. Rows without mass stay where they are.
    """
    gain = 0.0
    for r in range(sums.size):
        step[r] = 0.0
        if sums[r] > 0.0:
            w = (targets[r] - sums[r]) / sums[r]
            step[r] = np.log1p(w) / constraints
            gain += sums[r] * phi(w)
    return gain / constraints


@compiled
def scale_by_rows(masses: FloatArray, index: IntArray, offsets: IntArray, factor: FloatArray) -> None:
    """Multiply each mass by the factors of all its rows."""
    for k in range(index.shape[0]):
        row = index[k]
        part = factor[offsets[k] : offsets[k + 1]]
        for i in range(masses.size):
            masses[i] *= part[row[i]]


@compiled
def run_gis(
    reference: FloatArray,
    index: IntArray,
    offsets: IntArray,
    targets: FloatArray,
    masses: FloatArray,
    t: FloatArray,
    u: FloatArray,
    sums: FloatArray,
    done: int,
    limit: int,
    tolerance: float,
    tolerance_l1: float,
    records: FloatArray,
    dense: int,
) -> tuple[int, int]:
    """Run at most `limit` iterations after the `done` ones; return how many, and how many records were written.

    `masses`, `t`, `u`, `sums` and `records` change in place; `sums` holds C p at entry and at return.
    """
