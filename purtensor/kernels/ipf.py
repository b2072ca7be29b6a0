"""Sweeps of iterative proportional fitting over integer codes, for any set of constraints.

The potentials are the state: `u` collects the factors since the last fold, `t` the logarithms before it, and at
every fold the masses are rebuilt from the reference (notes/ipf.md, equation 4). A sweep reads and writes the
masses once a constraint: scaling to one marginal and summing for the next are one pass.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.exponential import scale_by_exp
from purtensor.kernels.spread import spread

SWEEPS_PER_FOLD = 50
"""In-place scaling drifts off the exponential family by some 1.7e-16 a sweep; a fold brings it back."""

COPIES = 4
"""Neighbours add to different copies of the sums, so that none waits for the one before."""

FEW_ROWS = 512
"""Up to so many sums four copies of them fit the fastest cache."""

PROFILES_PER_BLOCK = 1 << 15
"""After so many profiles the partial sums of few rows are added to the totals."""

RECORD_WIDTH = 6
"""Columns of a record: sweep, residual, residual in L1, KL of the sweep, dual value, mass."""


@compiled
def phi(w: float) -> float:
    """Return (1 + w) log(1 + w) - w, accurate for small w, which is where log1p alone cancels."""
    if abs(w) < 0.02:
        term = w * w * 0.5
        total = term
        for n in range(3, 12):
            term *= -w * (n - 2) / n
            total += term
        return total
    if w <= -1.0:
        return 1.0
    return float((1.0 + w) * np.log1p(w) - w)


@compiled
def rebuild_masses(
    reference: FloatArray, index: IntArray, offsets: IntArray, t: FloatArray, masses: FloatArray
) -> None:
    """Write reference * exp(C^T t) into `masses`."""
    spread(index, offsets, t, masses)
    scale_by_exp(reference, masses)


@compiled
def is_crowded(row: IntArray) -> bool:
    """Tell whether neighbouring profiles mostly belong to one row, by a sample of 64 pairs."""
    stride = row.size // 64
    if stride < 2:
        return False
    same = 0
    for i in range(0, row.size - 1, stride):
        same += row[i] == row[i + 1]
    return same > 24


@compiled
def add_singles(masses: FloatArray, code: IntArray, begin: int, end: int, sums: FloatArray) -> None:
    """Add the masses begin .. end - 1 to the sums of their cells, shape (copies, cells)."""
    if sums.shape[0] == COPIES:
        sums0, sums1, sums2, sums3 = sums[0], sums[1], sums[2], sums[3]
        fours = begin + (end - begin) // COPIES * COPIES
        for n in range(begin, fours, COPIES):
            sums0[code[n]] += masses[n]
            sums1[code[n + 1]] += masses[n + 1]
            sums2[code[n + 2]] += masses[n + 2]
            sums3[code[n + 3]] += masses[n + 3]
        begin = fours
    first = sums[0]
    for n in range(begin, end):
        first[code[n]] += masses[n]


@compiled
def scale_and_add_singles(
    masses: FloatArray, code: IntArray, factors: FloatArray, next_code: IntArray, begin: int, end: int, sums: FloatArray
) -> None:
    """Scale the masses begin .. end - 1 by the factors of their cells and add them to those of the next group."""
    if sums.shape[0] == COPIES:
        sums0, sums1, sums2, sums3 = sums[0], sums[1], sums[2], sums[3]
        fours = begin + (end - begin) // COPIES * COPIES
        for n in range(begin, fours, COPIES):
            mass0 = masses[n] * factors[code[n]]
            mass1 = masses[n + 1] * factors[code[n + 1]]
            mass2 = masses[n + 2] * factors[code[n + 2]]
            mass3 = masses[n + 3] * factors[code[n + 3]]
            masses[n] = mass0
            masses[n + 1] = mass1
            masses[n + 2] = mass2
            masses[n + 3] = mass3
            sums0[next_code[n]] += mass0
            sums1[next_code[n + 1]] += mass1
            sums2[next_code[n + 2]] += mass2
            sums3[next_code[n + 3]] += mass3
        begin = fours
    first = sums[0]
    for n in range(begin, end):
        mass = masses[n] * factors[code[n]]
        masses[n] = mass
        first[next_code[n]] += mass


@compiled
def add_copies(copies: FloatArray, sums: FloatArray) -> None:
    """Add copies of partial sums, one or four, to the sums."""
    for r in range(sums.size):
        if copies.shape[0] == COPIES:
            sums[r] += (copies[0, r] + copies[1, r]) + (copies[2, r] + copies[3, r])
        else:
            sums[r] += copies[0, r]


@compiled
def sum_rows(masses: FloatArray, row: IntArray, sums: FloatArray) -> None:
    """Write the marginal of the masses over one constraint into `sums`.

    Few rows have many terms each: they are summed in blocks, so that no chain of additions is long.
    """
    sums[:] = 0.0
    if sums.size > FEW_ROWS:
        add_singles(masses, row, 0, masses.size, sums.reshape(1, -1))
        return
    copies = np.zeros((COPIES if is_crowded(row) else 1, sums.size))
    for begin in range(0, masses.size, PROFILES_PER_BLOCK):
        add_singles(masses, row, begin, min(begin + PROFILES_PER_BLOCK, masses.size), copies)
        add_copies(copies, sums)
        copies[:] = 0.0


@compiled
def scale_and_sum(masses: FloatArray, row: IntArray, factor: FloatArray, next_row: IntArray, sums: FloatArray) -> None:
    """Scale the masses by the factors of one constraint and write their marginal over the next into `sums`."""
    sums[:] = 0.0
    if sums.size <= FEW_ROWS and is_crowded(next_row):
        copies = np.zeros((COPIES, sums.size))
        scale_and_add_singles(masses, row, factor, next_row, 0, masses.size, copies)
        add_copies(copies, sums)
    else:
        scale_and_add_singles(masses, row, factor, next_row, 0, masses.size, sums.reshape(1, -1))


@compiled
def miss(sums: FloatArray, targets: FloatArray) -> tuple[float, float]:
    """Return the largest absolute miss of a target and the sum of all; NaN where a sum is no number."""
    largest = 0.0
    total = 0.0
    for r in range(sums.size):
        gap = abs(sums[r] - targets[r])
        total += gap
        if gap > largest:
            largest = gap
    if not np.isfinite(total):
        return np.nan, np.nan
    return largest, total


@compiled
def measure(
    masses: FloatArray, index: IntArray, offsets: IntArray, targets: FloatArray, sums: FloatArray
) -> tuple[float, float]:
    """Write C p into `sums`; return the largest miss of all targets and the L1 miss of the worst constraint."""
    residual = 0.0
    residual_l1 = 0.0
    for k in range(index.shape[0]):
        rows = slice(offsets[k], offsets[k + 1])
        sum_rows(masses, index[k], sums[rows])
        largest, total = miss(sums[rows], targets[rows])
        residual = max(residual, largest)
        residual_l1 = max(residual_l1, total)
        if np.isnan(total):
            return np.nan, np.nan
    return residual, residual_l1


@compiled
def take_factors(targets: FloatArray, sums: FloatArray, factor: FloatArray, u: FloatArray) -> float:
    """Write targets / sums into `factor` and multiply it into `u`; return the KL divergence of this step.

    Rows without mass keep their factor 1: no potential can serve them.
    """
    step = 0.0
    for r in range(sums.size):
        if sums[r] > 0.0:
            ratio = targets[r] / sums[r]
            step += sums[r] * phi((targets[r] - sums[r]) / sums[r])
        else:
            ratio = 1.0
        factor[r] = ratio
        u[r] *= ratio
    return step


@compiled
def fold(
    reference: FloatArray, index: IntArray, offsets: IntArray, t: FloatArray, u: FloatArray, masses: FloatArray
) -> None:
    """Move the factors into the potentials and rebuild the masses from them."""
    for r in range(t.size):
        t[r] += np.log(u[r])
        u[r] = 1.0
    rebuild_masses(reference, index, offsets, t, masses)


@compiled
def dual_value(targets: FloatArray, total: float, t: FloatArray, u: FloatArray, mass: float, start: float) -> float:
    """Return the dual at t + log u, in nats of distributions of mass 1: its maximum is the divergence sought."""
    value = 0.0
    for r in range(t.size):
        value += targets[r] * (t[r] + np.log(u[r]))
    return float(value / total - np.log(mass / start))


@compiled
def is_recorded(sweep: int, dense: int) -> bool:
    """Tell whether a sweep enters the trace: the first 2 * dense of them, then `dense` in every octave."""
    stride = 1
    while sweep >= 2 * dense * stride:
        stride *= 2
    return sweep % stride == 0


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
) -> tuple[int, int]:
    """Run at most `limit` sweeps after the `done` ones; return how many, and how many records were written.

    `masses`, `t`, `u`, `sums` and `records` change in place; `sums` holds the marginal over the first constraint
    of `order` at entry and at return. Returns early at the first sweep whose residual over all constraints is
    within the tolerances, at one that leaves a number that is not finite, and when the records are full.
    """
    count = order.size
    start = reference.sum()
    first_rows = slice(offsets[order[0]], offsets[order[0] + 1])
    total = targets[first_rows].sum()
    measured = np.empty_like(sums)  # not `sums`: recording a sweep must not change the bits of the next
    written = 0
    for n in range(1, limit + 1):
        step = 0.0
        for j in range(count):
            k = order[j]
            following = order[(j + 1) % count]
            rows = slice(offsets[k], offsets[k + 1])
            next_rows = slice(offsets[following], offsets[following + 1])
            step += take_factors(targets[rows], sums[rows], factor[rows], u[rows])
            scale_and_sum(masses, index[k], factor[rows], index[following], sums[next_rows])
        if (done + n) % SWEEPS_PER_FOLD == 0:
            fold(reference, index, offsets, t, u, masses)
            sum_rows(masses, index[order[0]], sums[first_rows])
        largest, l1 = miss(sums[first_rows], targets[first_rows])
        met = largest <= tolerance and l1 <= tolerance_l1
        finite = np.isfinite(l1)
        due = is_recorded(done + n, dense)
        if met or not finite or due:
            residual, residual_l1 = measure(masses, index, offsets, targets, measured)
            mass = sums[first_rows].sum()
            met = residual <= tolerance and residual_l1 <= tolerance_l1
            if met or not finite or due:
                record = records[written]
                record[0] = done + n
                record[1] = residual
                record[2] = residual_l1
                record[3] = step
                record[4] = dual_value(targets, total, t, u, mass, start)
                record[5] = mass
                written += 1
            if met or not finite or written == records.shape[0]:
                return n, written
    return limit, written
