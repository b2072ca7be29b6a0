"""Sweeps of iterative proportional fitting over integer codes, for any set of constraints.

The potentials are the state: `u` collects the factors since the last fold, `t` the logarithms before it, and at
every fold the masses are rebuilt from the reference (notes/ipf.md, equation 4). A sweep reads and writes the
masses once a constraint: scaling to one marginal and summing for the next are one pass.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.elementary import divergence_gain, linear_sum, scale_by_exp
from purtensor.kernels.reductions import BLOCK, inner_product, spread_from

SWEEPS_PER_FOLD = 50
"""In-place scaling drifts off the exponential family by some 1.7e-16 a sweep; a fold brings it back."""

COPIES = 4
"""Neighbours add to different copies of the sums, so that none waits for the one before."""

FEW_ROWS = 512
"""Up to so many sums four copies of them fit the fastest cache."""

_TERMS = 5
"""Rows of fewer profiles in the mean lose more by adding up copies than neighbours do by waiting."""

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
            # w^n / (n (n - 1)) with alternating signs; below 0.02 what is left out is less than a rounding
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
    rebuild_range(reference, index, offsets, t, 0, masses.size, masses)


@compiled
def rebuild_range(
    reference: FloatArray, index: IntArray, offsets: IntArray, t: FloatArray, begin: int, end: int, masses: FloatArray
) -> None:
    """Write reference * exp(C^T t) of the profiles begin .. end - 1 into their `masses`."""
    # block by block: exponents are turned into masses while they are in the fastest cache
    for at in range(begin, end, BLOCK):
        part = masses[at : min(at + BLOCK, end)]
        spread_from(index, offsets, t, at, part)
        scale_by_exp(reference[at : min(at + BLOCK, end)], part)


@compiled
def is_crowded(row: IntArray) -> bool:
    """Tell whether neighbouring profiles mostly belong to one row, by a sample of 64 pairs."""
    # a sample: the answer only chooses between two orders of addition
    stride = row.size // 64
    if stride < 2:
        return False
    same = 0
    for i in range(0, row.size - 1, stride):
        same += row[i] == row[i + 1]
    return same > 24


@compiled
def pays_in_copies(row: IntArray, rows: int) -> bool:
    """Tell whether sums over these rows are had faster in several copies."""
    return rows <= FEW_ROWS and row.size >= _TERMS * rows and is_crowded(row)


@compiled
def add_singles(masses: FloatArray, code: IntArray, begin: int, end: int, sums: FloatArray) -> None:
    """Add the masses begin .. end - 1 to the sums of their cells, shape (copies, cells)."""
    if sums.shape[0] == COPIES:
        # four neighbours of one row add to four numbers: none waits for the one before
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
            # all reads before all writes: the compiler cannot know that the arrays do not overlap
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
            # in pairs, always the same: the bits are those of the order of the profiles alone
            sums[r] += (copies[0, r] + copies[1, r]) + (copies[2, r] + copies[3, r])
        else:
            sums[r] += copies[0, r]


@compiled
def sum_rows(masses: FloatArray, row: IntArray, sums: FloatArray) -> None:
    """Write the marginal of the masses over one constraint into `sums`.

    Few rows have many terms each: they are summed in blocks, so that no chain of additions is long.
    """
    sums[:] = 0.0
    copied = pays_in_copies(row, sums.size)
    # many rows have few terms each, and are added up as they come
    if sums.size > FEW_ROWS or (masses.size <= PROFILES_PER_BLOCK and not copied):
        add_singles(masses, row, 0, masses.size, sums.reshape(1, -1))
        return
    copies = np.zeros((COPIES if copied else 1, sums.size))
    for begin in range(0, masses.size, PROFILES_PER_BLOCK):
        add_singles(masses, row, begin, min(begin + PROFILES_PER_BLOCK, masses.size), copies)
        add_copies(copies, sums)
        copies[:] = 0.0


@compiled
def scale_and_sum(masses: FloatArray, row: IntArray, factor: FloatArray, next_row: IntArray, sums: FloatArray) -> None:
    """Scale the masses by the factors of one constraint and write their marginal over the next into `sums`."""
    sums[:] = 0.0
    if pays_in_copies(next_row, sums.size):
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
        # NaN is never larger: it shows in the total
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
    return measure_others(masses, index, offsets, targets, -1, (0.0, 0.0), sums)


@compiled
def measure_others(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    targets: FloatArray,
    known: int,
    misses: tuple[float, float],
    sums: FloatArray,
) -> tuple[float, float]:
    """Return what `measure` does where the two misses of constraint `known` are known; its sums are not written."""
    residual, residual_l1 = misses
    for k in range(index.shape[0]):
        if k != known:
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
    """Do as `fit_rows`; return the KL divergence of this step."""
    fit_rows(targets, sums, factor, u)
    return divergence_gain(targets, factor, np.ones_like(factor))


@compiled
def fit_rows(targets: FloatArray, sums: FloatArray, factor: FloatArray, u: FloatArray) -> None:
    """Write targets / sums into `factor` and multiply it into `u`.

    Rows without mass keep their factor 1: no potential can serve them.
    """
    for r in range(sums.size):
        # the step of the method (notes/ipf.md, equation 1)
        factor[r] = targets[r] / sums[r] if sums[r] > 0.0 else 1.0
        u[r] *= factor[r]


@compiled
def fold(
    reference: FloatArray, index: IntArray, offsets: IntArray, t: FloatArray, u: FloatArray, masses: FloatArray
) -> None:
    """Move the factors into the potentials and rebuild the masses from them."""
    for r in range(t.size):
        # notes/ipf.md, equation 4
        t[r] += np.log(u[r])
        u[r] = 1.0
    rebuild_masses(reference, index, offsets, t, masses)


@compiled
def dual_value(targets: FloatArray, total: float, t: FloatArray, u: FloatArray, mass: float, start: float) -> float:
    """Return the dual at t + log u, in nats of distributions of mass 1: its maximum is the divergence sought.

    The factors u are positive normal numbers, as those of a few dozen sweeps are.
    """
    # targets * (t + log u) without an array for the sum
    value = inner_product(targets, t) + linear_sum(targets, u)
    return float(value / total - np.log(mass / start))


@compiled
def is_recorded(sweep: int, dense: int) -> bool:
    """Tell whether a sweep enters the trace: the first 2 * dense of them, then `dense` in every octave."""
    stride = 1
    # an integer rule: which sweeps are recorded depends on their number alone
    while sweep >= 2 * dense * stride:
        stride *= 2
    return sweep % stride == 0
