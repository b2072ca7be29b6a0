"""Sweeps of iterative proportional fitting in numpy: gather factors, scale, count what the rows sum to."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.elementary import divergence_gain
from purtensor.kernels.ipf import steps, two_way_sweeps
from purtensor.kernels.ipf.over_relaxation import least_share
from purtensor.kernels.ipf.sweeps import run_sweeps
from purtensor.kernels.numpy_forms.newton import excess
from purtensor.kernels.numpy_forms.sums import phi, spread_range

_BLOCK = 4096
"""Few rows have many terms each: they are added up in blocks, so that no chain of additions is long."""


def row_sums(masses: FloatArray, row: IntArray, rows: int) -> FloatArray:
    """Return the marginal of the masses over one constraint."""
    if rows > steps.FEW_ROWS or len(masses) <= _BLOCK:
        return np.bincount(row, masses, rows).astype(np.float64, copy=False)
    sums = np.zeros(rows)
    for first in range(0, len(masses), _BLOCK):
        sums += np.bincount(row[first : first + _BLOCK], masses[first : first + _BLOCK], rows)
    return sums


def _sum_rows(masses: FloatArray, row: IntArray, sums: FloatArray) -> None:
    sums[:] = row_sums(masses, row, sums.size)


def _scale_and_sum(masses: FloatArray, row: IntArray, factor: FloatArray, next_row: IntArray, sums: FloatArray) -> None:
    masses *= factor[row]
    sums[:] = row_sums(masses, next_row, sums.size)


def rebuild_range_in_numpy(
    reference: FloatArray, index: IntArray, offsets: IntArray, t: FloatArray, begin: int, end: int, masses: FloatArray
) -> None:
    """Write reference * exp(C^T t), also where exp alone is out of range: its root is taken twice."""
    exponents = spread_range(index, offsets, t, begin, end)
    if len(exponents) and not np.abs(exponents).max() < 600.0:
        np.clip(exponents, -1380.0, 1380.0, out=exponents)
        half = np.exp(0.5 * exponents)
        np.multiply(reference[begin:end] * half, half, out=masses[begin:end])
        return
    np.exp(exponents, out=exponents)
    np.multiply(reference[begin:end], exponents, out=masses[begin:end])


def _rebuild_masses(
    reference: FloatArray, index: IntArray, offsets: IntArray, t: FloatArray, masses: FloatArray
) -> None:
    rebuild_range_in_numpy(reference, index, offsets, t, 0, masses.size, masses)


def miss_in_numpy(sums: FloatArray, targets: FloatArray) -> tuple[float, float]:
    """Return the largest absolute miss, and the sum of all; NaN where a sum is no number."""
    gaps = np.abs(sums - targets)
    total = float(gaps.sum())
    if not math.isfinite(total):
        return math.nan, math.nan
    return float(gaps.max(initial=0.0)), total


def measure_others_in_numpy(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    targets: FloatArray,
    known: int,
    misses: tuple[float, float],
    sums: FloatArray,
) -> tuple[float, float]:
    """Write the sums of all constraints but one; return the largest miss and the largest in L1."""
    residual, residual_l1 = misses
    for k in range(len(index)):
        if k != known:
            rows = slice(offsets[k], offsets[k + 1])
            sums[rows] = row_sums(masses, index[k], rows.stop - rows.start)
            largest, total = miss_in_numpy(sums[rows], targets[rows])
            if math.isnan(total):
                return math.nan, math.nan
            residual, residual_l1 = max(residual, largest), max(residual_l1, total)
    return residual, residual_l1


def _measure(
    masses: FloatArray, index: IntArray, offsets: IntArray, targets: FloatArray, sums: FloatArray
) -> tuple[float, float]:
    return measure_others_in_numpy(masses, index, offsets, targets, -1, (0.0, 0.0), sums)


def fit_factors(targets: FloatArray, sums: FloatArray) -> FloatArray:
    """Return targets / sums; 1 for rows without mass, which no potential can serve."""
    if sums.min() > 0.0:
        return targets / sums
    return np.divide(targets, sums, out=np.ones_like(targets), where=sums > 0.0)


def gain_of(targets: FloatArray, factors: FloatArray, before: FloatArray | float = 1.0) -> float:
    """Return the sum of targets * (log f - 1 + 1 / f), f = factors / before: what such steps gained.

    Nothing cancels where factors change little.
    """
    d = (factors - before) / factors
    small = np.abs(d) <= 1.0 / 32.0
    near = np.where(small, d, 0.0)
    # Horner's scheme for (-log(1 - d) - d) / d^2, as the compiled form has it
    tail = np.full_like(near, 1.0 / 11.0)
    for divisor in (10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0):
        tail = tail * near + 1.0 / divisor
    terms = near * near * tail
    if not small.all():
        far = ~small
        terms[far] = np.log((factors / before)[far]) - d[far]
    return float((targets * terms).sum())


def log_ratios_in_numpy(targets: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (targets - sums) / sums and its log1p; 0 for rows without mass, where no potential can serve."""
    has_mass = sums > 0.0
    w = np.divide(targets - sums, sums, out=np.zeros_like(sums), where=has_mass)
    near = w > -0.5
    # where a target is next to nothing, 1 + w has lost its digits
    far = np.log(np.divide(targets, sums, out=np.ones_like(sums), where=has_mass))
    return w, np.where(near, np.log1p(np.where(near, w, 0.0)), far)


def take_relaxed_factors_in_numpy(
    targets: FloatArray, sums: FloatArray, omega: float, factor: FloatArray, u: FloatArray
) -> float:
    """Write the relaxed factors of one constraint and multiply them into `u`; return the gain of the dual."""
    w, log_ratio = log_ratios_in_numpy(targets, sums)
    power, plain = omega * log_ratio, phi(w)
    # notes/solvers.md, equation 3
    own = power * np.expm1(log_ratio) - excess(power)
    is_relaxed = own >= least_share(omega) * plain
    factor[:] = np.where(is_relaxed, np.exp(power), 1.0 + w)
    total, mass = float(targets.sum()), float((sums * factor).sum())
    factor[sums > 0.0] *= total / mass
    u *= factor
    gain = float((sums * np.where(is_relaxed, own, plain)).sum())
    return gain + total * float(excess(np.asarray(math.log(mass / total))))


class Judge:
    """Ends and records the sweeps of a run, as `purtensor.kernels.ipf.sweep_records.judge_sweep` does."""

    def __init__(
        self,
        reference: FloatArray,
        index: IntArray,
        offsets: IntArray,
        targets: FloatArray,
        first: int,
        tolerance: float,
        tolerance_l1: float,
        records: FloatArray,
        dense: int,
    ) -> None:
        self.records, self.written = records, 0
        self.reference, self.index, self.offsets, self.targets = reference, index, offsets, targets
        self.first, self.tolerances, self.dense = first, (tolerance, tolerance_l1), dense
        self.blocks = [slice(int(offsets[k]), int(offsets[k + 1])) for k in range(len(index))]
        self.start, self.total = float(reference.sum()), float(targets[self.blocks[first]].sum())
        self._measured = np.empty_like(targets)

    def fold(self, t: FloatArray, u: FloatArray, masses: FloatArray, sums: FloatArray) -> None:
        """Let the potentials take the factors in, and make the masses and the sums of the first constraint anew."""
        t += np.log(u)
        u[:] = 1.0
        _rebuild_masses(self.reference, self.index, self.offsets, t, masses)
        rows = self.blocks[self.first]
        sums[rows] = row_sums(masses, self.index[self.first], rows.stop - rows.start)

    def record(
        self, sweep: int, masses: FloatArray, sums: FloatArray, t: FloatArray, u: FloatArray, gain: float | FloatArray
    ) -> bool:
        """Record a sweep where that is due; return whether it is the last, or leaves no room for another record.

        `gain` may be given by the factors of a plain sweep, from which it is computed where it is recorded.
        """
        rows = self.blocks[self.first]
        missed = miss_in_numpy(sums[rows], self.targets[rows])
        due = _is_recorded(sweep, self.dense)
        if not (self._are_met(missed) or due or math.isnan(missed[1])):
            return False
        misses = measure_others_in_numpy(
            masses, self.index, self.offsets, self.targets, self.first, missed, self._measured
        )
        ended = math.isnan(misses[1]) or self._are_met(misses)
        if ended or due:
            mass = float(sums[rows].sum())
            # the dual at the potentials and the factors since
            linear = float((self.targets * t).sum() + (self.targets * np.log(u)).sum())
            dual = linear / self.total - math.log(mass / self.start)
            gained = gain if isinstance(gain, float) else gain_of(self.targets, gain)
            self.records[self.written] = sweep, *misses, gained, dual, mass
            self.written += 1
        return ended or self.written == len(self.records)

    def _are_met(self, misses: tuple[float, float]) -> bool:
        return misses[0] <= self.tolerances[0] and misses[1] <= self.tolerances[1]


@np.errstate(all="ignore")  # numbers that are not finite end the run
def run_sweeps_in_numpy(
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
    """Make at most `limit` sweeps and record some: see purtensor.kernels.ipf.sweeps.run_sweeps."""
    judge = Judge(reference, index, offsets, targets, int(order[0]), tolerance, tolerance_l1, records, dense)
    factor[:] = 1.0
    for n in range(1, limit + 1):
        gain = 0.0
        # the last step sums for the first one of the next sweep
        for k, following in zip(order, np.roll(order, -1), strict=True):
            rows, next_rows = judge.blocks[k], judge.blocks[following]
            if omega == 1.0:
                factor[rows] = fit_factors(targets[rows], sums[rows])
                u[rows] *= factor[rows]
            else:
                gain += take_relaxed_factors_in_numpy(targets[rows], sums[rows], omega, factor[rows], u[rows])
            masses *= factor[rows][index[k]]
            sums[next_rows] = row_sums(masses, index[following], next_rows.stop - next_rows.start)
        if (done + n) % steps.SWEEPS_PER_FOLD == 0:
            judge.fold(t, u, masses, sums)
        if judge.record(done + n, masses, sums, t, u, factor if omega == 1.0 else gain):
            return n, judge.written
    return limit, judge.written


_is_recorded = getattr(steps.is_recorded, "py_func", steps.is_recorded)


def _base_row_sums(base: FloatArray, v: FloatArray, begin: int, end: int, out: FloatArray) -> None:
    out[begin:end] = np.einsum("ij,j->i", base[begin:end], v)


def _fit_rows_of_base(
    base: FloatArray,
    targets: FloatArray,
    v: FloatArray,
    begin: int,
    end: int,
    u: FloatArray,
    missed: FloatArray,
    sums: FloatArray,
) -> None:
    found = np.einsum("ij,j->i", base[begin:end], v)
    missed[begin:end] = np.abs(found * u[begin:end] - targets[begin:end])
    u[begin:end] = targets[begin:end] / found
    sums[:] = np.einsum("ij,i->j", base[begin:end], u[begin:end])


FORMS = {
    run_sweeps: run_sweeps_in_numpy,
    two_way_sweeps.row_sums: _base_row_sums,
    two_way_sweeps.fit_rows_of_base: _fit_rows_of_base,
    divergence_gain: gain_of,
    steps.sum_rows: _sum_rows,
    steps.scale_and_sum: _scale_and_sum,
    steps.rebuild_range: rebuild_range_in_numpy,
    steps.rebuild_masses: _rebuild_masses,
    steps.miss: miss_in_numpy,
    steps.measure: _measure,
    steps.measure_others: measure_others_in_numpy,
    steps.is_recorded: _is_recorded,
}
