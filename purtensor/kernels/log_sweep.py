"""A sweep of iterative proportional fitting in logarithms: masses may be as small as float64 has no number for."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.exponential import excess, fast_exp
from purtensor.kernels.spread import spread


@compiled
def add_in_logarithms(logs: FloatArray, row: IntArray, largest: FloatArray, sums: FloatArray) -> None:
    """Write the logarithms of a marginal into `sums`, given those of the masses; `largest` is overwritten.

    Each row is added up relative to its largest mass. Every row has a profile.
    """
    largest[:] = -np.inf
    sums[:] = 0.0
    for i in range(logs.size):
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
) -> float:
    """Make one sweep: add log(target / sum) to the potentials `t`, row by row; return what the dual gained.

    `logs`, shape (M,), and `largest` and `sums`, shape (D,), are overwritten. A step gains the divergence of its
    targets from the sums that it finds, the total of the masses being that of the targets or not.
    """
    gain = 0.0
    for k in order:
        spread(index, offsets, t, logs)
        logs += log_reference
        rows = slice(offsets[k], offsets[k + 1])
        add_in_logarithms(logs, index[k], largest[rows], sums[rows])
        for r in range(offsets[k], offsets[k + 1]):
            move = log_targets[r] - sums[r]
            t[r] += move
            gain += targets[r] * excess(-move)
    return gain
