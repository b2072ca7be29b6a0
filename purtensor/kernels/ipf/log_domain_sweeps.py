"""Sweeps in logarithms, plain or relaxed, and iterative scaling: masses may be as small as no float64 is."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.elementary import excess, fast_exp
from purtensor.kernels.ipf.over_relaxation import compute_relaxed_gain, least_share
from purtensor.kernels.reductions import spread


@compiled
def add_in_logarithms(logs: FloatArray, row: IntArray, largest: FloatArray, sums: FloatArray) -> None:
    """Write the logarithms of a marginal into `sums`, given those of the masses; `largest` is overwritten.

    Each row is added up relative to its largest mass. Every row has a profile.
    """
    largest[:] = -np.inf
    sums[:] = 0.0
    for i in range(logs.size):
        # relative to the largest each term is at most 1, and at least one is 1: no sum is 0 or infinite
        largest[row[i]] = max(largest[row[i]], logs[i])
    for i in range(logs.size):
        sums[row[i]] += fast_exp(logs[i] - largest[row[i]])
    for r in range(sums.size):
        sums[r] = largest[r] + np.log(sums[r])


@compiled
def sweep_in_logarithms(
    log_reference: FloatArray,
    index: IntArray,
    offsets: IntArray,
    targets: FloatArray,
    log_targets: FloatArray,
    order: IntArray,
    t: FloatArray,
    logs: FloatArray,
    largest: FloatArray,
    sums: FloatArray,
    omega: float,
) -> float:
    """Make one sweep: add omega log(target / sum) to the potentials `t`, row by row; return what the dual gained.

    Where omega is not 1 rows choose between it and 1, and steps keep the total, as `take_relaxed_factors` has it.
    `logs`, shape (M,), and `largest` and `sums`, shape (D,), are overwritten. A plain step gains the divergence of its
    targets from the sums that it finds, the total of the masses being that of the targets or not.
    """
    gain = 0.0
    shift = 0.0
    total = targets[offsets[0] : offsets[1]].sum()
    for k in order:
        # from the potentials at every step: logarithms are never updated in place, so they do not drift
        spread(index, offsets, t, logs)
        logs += log_reference
        rows = slice(offsets[k], offsets[k + 1])
        add_in_logarithms(logs, index[k], largest[rows], sums[rows])
        heaviest = -np.inf
        for r in range(offsets[k], offsets[k + 1]):
            log_ratio = log_targets[r] - sums[r]
            own = gain_of_a_row(log_ratio, targets[r], sums[r])
            # from here on `largest` holds the moves: the largest masses have served
            largest[r] = log_ratio
            if omega != 1.0:
                relaxed = gain_of_a_relaxed_row(log_ratio, omega, targets[r], sums[r])
                # notes/solvers.md, equation 4: what keeps relaxed sweeps convergent
                if relaxed >= least_share(omega) * own:
                    own = relaxed
                    largest[r] = omega * log_ratio
            gain += own
            heaviest = max(heaviest, sums[r] + largest[r])
        if omega != 1.0:
            mass = 0.0
            for r in range(offsets[k], offsets[k + 1]):
                mass += fast_exp(sums[r] + largest[r] - heaviest)
            # what brings the masses to the total of the targets, as in `take_relaxed_factors`
            shift = np.log(total) - heaviest - np.log(mass)
            gain += total * excess(-shift)
        for r in range(offsets[k], offsets[k + 1]):
            t[r] += largest[r] + shift
    return gain


@compiled
def gain_of_a_row(log_ratio: float, target: float, log_sum: float) -> float:
    """Return what the dual gains where a row takes the factor target / sum: b log(b / s) - b + s.

    Near ratio 1 as b (e^-l - 1 + l), which keeps its digits; elsewhere e^-l may be beyond float64 where s is not.
    """
    if abs(log_ratio) < 1.0:
        return float(target * excess(-log_ratio))
    return float(target * (log_ratio - 1.0) + fast_exp(log_sum))


@compiled
def gain_of_a_relaxed_row(log_ratio: float, omega: float, target: float, log_sum: float) -> float:
    """Return what the dual gains where a row takes (target / sum) ** omega: b omega l - s e^(omega l) + s."""
    move = omega * log_ratio
    if abs(log_ratio) < 0.25:
        return float(fast_exp(log_sum) * compute_relaxed_gain(log_ratio, omega))
    return float(target * move - fast_exp(log_sum + move) + fast_exp(log_sum))


@compiled
def scaling_in_logarithms(
    log_reference: FloatArray,
    index: IntArray,
    offsets: IntArray,
    targets: FloatArray,
    log_targets: FloatArray,
    order: IntArray,
    t: FloatArray,
    logs: FloatArray,
    largest: FloatArray,
    sums: FloatArray,
) -> float:
    """Make one iteration of generalised iterative scaling, as `run_gis` does; all else is as in `sweep_in_logarithms`.

    `order` only says how many constraints there are.
    """
    total = targets[offsets[0] : offsets[1]].sum()
    spread(index, offsets, t, logs)
    logs += log_reference
    for k in range(order.size):
        rows = slice(offsets[k], offsets[k + 1])
        add_in_logarithms(logs, index[k], largest[rows], sums[rows])
    gain = 0.0
    for r in range(sums.size):
        largest[r] = (log_targets[r] - sums[r]) / order.size
        gain += (targets[r] - fast_exp(sums[r])) * largest[r]
    t += largest
    change = np.empty_like(logs)
    spread(index, offsets, largest, change)
    heaviest = -np.inf
    for i in range(logs.size):
        if abs(change[i]) < 1.0:
            # p (e^z - 1 - z): what the dual loses against its slope (notes/newton.md, equation 8)
            gain -= fast_exp(logs[i]) * excess(change[i])
        else:
            gain -= fast_exp(logs[i] + change[i]) - fast_exp(logs[i]) * (1.0 + change[i])
        # for the sum of all masses, which is again added up relative to the largest
        heaviest = max(heaviest, logs[i] + change[i])
    mass = 0.0
    for i in range(logs.size):
        mass += fast_exp(logs[i] + change[i] - heaviest)
    shift = np.log(total) - heaviest - np.log(mass)
    for r in range(offsets[0], offsets[1]):
        t[r] += shift
    return float(gain + total * excess(-shift))
