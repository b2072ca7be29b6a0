"""The loop of sweeps of iterative proportional fitting, plain or over-relaxed, inside compiled code."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.elementary import divergence_gain
from purtensor.kernels.ipf.over_relaxation import take_relaxed_factors
from purtensor.kernels.ipf.steps import SWEEPS_PER_FOLD, dual_value, fit_rows, fold, scale_and_sum, sum_rows
from purtensor.kernels.ipf.sweep_records import ENDED, PASSED_OVER, judge_sweep


@compiled
def _risen(before: FloatArray, record: FloatArray, targets: FloatArray, total: float, factor: FloatArray) -> float:
    """Return the dual after a sweep whose factors gained what the record tells, from the record of the one before it.

    targets * log f is what a factor f gained, targets * (log f - 1 + 1 / f), and targets * (1 - 1 / f).
    """
    # a difference of duals in place of two sums over all rows
    rise = record[3]
    for r in range(factor.size):
        rise += targets[r] * ((factor[r] - 1.0) / factor[r])
    return float(before[4] + rise / total - np.log(record[5] / before[5]))


@compiled
def run_sweeps(
    reference: FloatArray,
    index: IntArray,
    offsets: IntArray,
    targets: FloatArray,
    order: IntArray,
    masses: FloatArray,
    t: FloatArray,
    u: FloatArray,
    sums: FloatArray,
    factor: FloatArray,
    done: int,
    limit: int,
    tolerance: float,
    tolerance_l1: float,
    records: FloatArray,
    dense: int,
    omega: float,
) -> tuple[int, int]:
    """Run at most `limit` sweeps after the `done` ones; return how many, and how many records were written.

    Steps have the exponent `omega`, 1 for plain ones.

    `masses`, `t`, `u`, `sums` and `records` change in place; `sums` holds the marginal over the first constraint
    of `order` at entry and at return. Returns early at the first sweep whose residual over all constraints is
    within the tolerances, at one that leaves a number that is not finite, and when the records are full.
    """
    count = order.size
    start = reference.sum()
    first_rows = slice(offsets[order[0]], offsets[order[0] + 1])
    total = targets[first_rows].sum()
    measured = np.empty_like(sums)  # not `sums`: recording a sweep must not change the bits of the next
    ones = np.ones_like(factor)
    factor[:] = 1.0
    written = 0
    for n in range(1, limit + 1):
        gain = 0.0
        for j in range(count):
            k = order[j]
            # the last step sums for the first one of the next sweep
            following = order[(j + 1) % count]
            rows = slice(offsets[k], offsets[k + 1])
            next_rows = slice(offsets[following], offsets[following + 1])
            if omega == 1.0:
                fit_rows(targets[rows], sums[rows], factor[rows], u[rows])
            else:
                gain += take_relaxed_factors(targets[rows], sums[rows], omega, factor[rows], u[rows])
            scale_and_sum(masses, index[k], factor[rows], index[following], sums[next_rows])
        # counted from the start of the run: the bits do not depend on how sweeps are batched
        if (done + n) % SWEEPS_PER_FOLD == 0:
            fold(reference, index, offsets, t, u, masses)
            sum_rows(masses, index[order[0]], sums[first_rows])
        verdict = judge_sweep(
            masses,
            index,
            offsets,
            targets,
            sums,
            order[0],
            done + n,
            tolerance,
            tolerance_l1,
            dense,
            measured,
            records[written],
        )
        if verdict != PASSED_OVER:
            record = records[written]
            # from the factors, and only where it is recorded; relaxed steps compute their gains to choose by them
            record[3] = divergence_gain(targets, factor, ones) if omega == 1.0 else gain
            if omega == 1.0 and written > 0 and records[written - 1, 0] == record[0] - 1:
                record[4] = _risen(records[written - 1], record, targets, total, factor)
            else:
                record[4] = dual_value(targets, total, t, u, record[5], start)
            written += 1
        if verdict == ENDED or written == records.shape[0]:
            return n, written
    return limit, written
