"""A sweep of iterative proportional fitting near its limit, where it is linear in the potentials.

At the limit q a step moves the error of one constraint's potentials by minus the mean of z = C^T x over each of its
rows, the mean taken under q (notes/rates.md, equation 2).
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def linear_sweep(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    sums: FloatArray,
    order: IntArray,
    omega: float,
    x: FloatArray,
    z: FloatArray,
) -> None:
    """Move the error x of the potentials, and z = C^T x, by one sweep with relaxation `omega`; both change in place.

    `sums` is C masses. Where omega is not 1, each step also keeps the total, as relaxed sweeps do: z has mean zero.
    """
    means = np.empty_like(x)
    for j in range(order.size):
        k = order[j]
        row = index[k]
        begin = offsets[k]
        end = offsets[k + 1]
        part = means[begin:end]
        part[:] = 0.0
        for i in range(masses.size):
            # in the order of the profiles, as one thread: the map must be the same at every call
            part[row[i]] += masses[i] * z[i]
        total = part.sum()
        # what brings the mean of z to 0, as relaxed steps bring the masses to their total
        left = (1.0 - omega) * total / sums[begin:end].sum()
        for r in range(part.size):
            mean = part[r] / sums[begin + r] if sums[begin + r] > 0.0 else 0.0
            part[r] = omega * mean + left
            x[begin + r] -= part[r]
        for i in range(masses.size):
            z[i] -= part[row[i]]


@compiled
def leave_dependent_rows(
    row: IntArray, multiplier: FloatArray, begins: IntArray, others: IntArray, weights: FloatArray, x: FloatArray
) -> None:
    """Make x zero on dependent rows without a change of C^T x; x changes in place.

    Dependency n says that `multiplier[n]` times `row[n]` is the sum of weights times others, entries `begins[n]` to
    `begins[n + 1]`; these are independent, or rows of earlier dependencies.
    """
    # backwards: what a row hands on may go to rows of earlier dependencies
    for n in range(row.size - 1, -1, -1):
        value = x[row[n]] / multiplier[n]
        x[row[n]] = 0.0
        for j in range(begins[n], begins[n + 1]):
            x[others[j]] += weights[j] * value
