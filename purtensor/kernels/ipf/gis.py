"""Generalised iterative scaling over integer codes: all constraints at once.

Every profile lies in exactly one row of each of the K constraints, so that every row takes the factor
(target / sum) ** (1 / K); the masses then get their total again (notes/solvers.md, equations 1 and 2).
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.elementary import excess
from purtensor.kernels.ipf.over_relaxation import log_of_ratio
from purtensor.kernels.ipf.steps import dual_value, rebuild_masses, sum_rows
from purtensor.kernels.ipf.sweep_records import ENDED, PASSED_OVER, judge_sweep
from purtensor.kernels.newton.line_search import curvature
from purtensor.kernels.reductions import spread


@compiled
def take_roots(targets: FloatArray, sums: FloatArray, constraints: int, move: FloatArray) -> float:
    """Write log(target / sum) / K of each row into `move`; return its product with the misses, the dual's slope.

    Rows without mass stay where they are.
    """
    slope = 0.0
    for r in range(sums.size):
        move[r] = 0.0
        if sums[r] > 0.0:
            move[r] = log_of_ratio(targets[r], sums[r]) / constraints
            # the gradient of the dual is targets - sums (notes/duality.md, equation 4)
            slope += (targets[r] - sums[r]) * move[r]
    return slope


@compiled
def restore_total(masses: FloatArray, sums: FloatArray, first: FloatArray, total: float, t: FloatArray) -> float:
    """Scale the masses, their sums and the potentials `t` of one constraint to the total; return the dual's gain.

    `first` is the part of `sums` over that constraint.
    """
    # any constraint has the total in its sums; the first one takes the constant into its potentials
    ratio = total / first.sum()
    for i in range(masses.size):
        masses[i] *= ratio
    for r in range(sums.size):
        sums[r] *= ratio
    shift = np.log(ratio)
    for r in range(t.size):
        t[r] += shift
    return total * excess(-shift)


@compiled
def run_gis(
    reference: FloatArray,
    index: IntArray,
    offsets: IntArray,
    targets: FloatArray,
    masses: FloatArray,
    t: FloatArray,
    sums: FloatArray,
    done: int,
    limit: int,
    tolerance: float,
    tolerance_l1: float,
    records: FloatArray,
    dense: int,
) -> tuple[int, int]:
    """Run at most `limit` iterations after the `done` ones; return how many, and how many records were written.

    `masses`, `t`, `sums` and `records` change in place; `sums` holds C p at entry and at return. Returns early as
    `purtensor.kernels.ipf.sweeps.run_sweeps` does.
    """
    constraints = index.shape[0]
    rows = slice(offsets[0], offsets[1])
    start = reference.sum()
    total = targets[rows].sum()
    move = np.empty_like(sums)
    measured = np.empty_like(sums)
    change = np.empty_like(masses)
    ones = np.ones_like(sums)
    written = 0
    for n in range(1, limit + 1):
        slope = take_roots(targets, sums, constraints, move)
        spread(index, offsets, move, change)
        # no difference of two values of the dual, which would cancel (notes/newton.md, equation 8)
        gain = slope - curvature(masses, change, 1.0)
        t += move
        # from the reference at every iteration: nothing drifts, so there is no fold
        rebuild_masses(reference, index, offsets, t, masses)
        for k in range(constraints):
            sum_rows(masses, index[k], sums[offsets[k] : offsets[k + 1]])
        gain += restore_total(masses, sums, sums[rows], total, t[rows])
        verdict = judge_sweep(
            masses,
            index,
            offsets,
            targets,
            sums,
            0,
            done + n,
            tolerance,
            tolerance_l1,
            dense,
            measured,
            records[written],
        )
        if verdict != PASSED_OVER:
            records[written, 3] = gain
            records[written, 4] = dual_value(targets, total, t, ones, records[written, 5], start)
            written += 1
        if verdict == ENDED or written == records.shape[0]:
            return n, written
    return limit, written
