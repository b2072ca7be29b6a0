"""Sweeps of iterative proportional fitting with over-relaxation, whose dual never falls.

A step scales every row of one constraint by (target / sum) ** omega, and the whole by what gives the masses their
total again. What the dual gains is known from the sums, row by row: where a row would gain less than a certain share of
what the plain factor gains, it takes that one (notes/solvers.md, equations 3 and 4).
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.exponential import excess, fast_exp
from purtensor.kernels.ipf.steps import SWEEPS_PER_FOLD, dual_value, fold, phi, scale_and_sum, sum_rows
from purtensor.kernels.ipf.sweep_records import ENDED, PASSED_OVER, judge_sweep


@compiled
def log_of_ratio(target: float, total: float) -> float:
    """Return log(target / total), to the last digits near ratio 1 and where a target is next to nothing."""
    w = (target - total) / total
    return float(np.log1p(w) if w > -0.5 else np.log(target / total))


@compiled
def least_share(omega: float) -> float:
    """Return the share of the plain gain of a row that its relaxed factor must gain: half of it near ratio 1."""
    return 0.5 * omega * (2.0 - omega)


@compiled
def relaxed_gain(log_ratio: float, omega: float) -> float:
    """Return omega l e^l - e^(omega l) + 1, l = log ratio: what the dual gains by a row of mass 1 at this exponent.

    As omega l (e^l - 1) - (e^(omega l) - 1 - omega l) it keeps its digits where the ratio is close to 1.
    """
    power = omega * log_ratio
    return float(power * np.expm1(log_ratio) - excess(power))


@compiled
def take_relaxed_factors(
    targets: FloatArray, sums: FloatArray, omega: float, factor: FloatArray, u: FloatArray
) -> float:
    """Write the relaxed factors of one constraint into `factor`, multiply them into `u`; return the gain of the dual.

    They leave the masses with the total of the targets. Rows without mass keep their factor 1: no potential can
    serve them.
    """
    gain = 0.0
    mass = 0.0
    for r in range(sums.size):
        factor[r] = 1.0
        if sums[r] > 0.0:
            w = (targets[r] - sums[r]) / sums[r]
            log_ratio = log_of_ratio(targets[r], sums[r])
            own = relaxed_gain(log_ratio, omega)
            factor[r] = fast_exp(omega * log_ratio)
            plain = phi(w)
            if not own >= least_share(omega) * plain:
                own = plain
                factor[r] = targets[r] / sums[r]
            gain += sums[r] * own
            mass += sums[r] * factor[r]
    total = targets.sum()
    for r in range(sums.size):
        if sums[r] > 0.0:
            factor[r] *= total / mass
            u[r] *= factor[r]
    return float(gain + total * excess(np.log(mass / total)))


@compiled
def run_relaxed_sweeps(
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
    """Run at most `limit` sweeps with exponent `omega`; all else is as in `purtensor.kernels.ipf.sweeps.run_sweeps`."""
    count = order.size
    start = reference.sum()
    first_rows = slice(offsets[order[0]], offsets[order[0] + 1])
    total = targets[first_rows].sum()
    measured = np.empty_like(sums)
    written = 0
    for n in range(1, limit + 1):
        step = 0.0
        for j in range(count):
            k = order[j]
            following = order[(j + 1) % count]
            rows = slice(offsets[k], offsets[k + 1])
            next_rows = slice(offsets[following], offsets[following + 1])
            step += take_relaxed_factors(targets[rows], sums[rows], omega, factor[rows], u[rows])
            scale_and_sum(masses, index[k], factor[rows], index[following], sums[next_rows])
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
            records[written, 3] = step
            records[written, 4] = dual_value(targets, total, t, u, records[written, 5], start)
            written += 1
        if verdict == ENDED or written == records.shape[0]:
            return n, written
    return limit, written
