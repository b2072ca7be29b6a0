"""Over-relaxed sweeps, generalised iterative scaling and linear sweeps in numpy."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.ipf import steps
from purtensor.kernels.ipf.gis import run_gis
from purtensor.kernels.ipf.over_relaxation import least_share, run_relaxed_sweeps
from purtensor.kernels.newton.linear_sweep import linear_sweep
from purtensor.kernels.numpy_forms.forms import Forms
from purtensor.kernels.numpy_forms.newton import excess
from purtensor.kernels.numpy_forms.sums import phi, spread_range
from purtensor.kernels.numpy_forms.sweeps import Judge, rebuild_range_in_numpy, row_sums


def _log_ratios(targets: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (targets - sums) / sums and its log1p; 0 for rows without mass, where no potential can serve."""
    has_mass = sums > 0.0
    w = np.divide(targets - sums, sums, out=np.zeros_like(sums), where=has_mass)
    near = w > -0.5
    # where a target is next to nothing, 1 + w has lost its digits
    far = np.log(np.divide(targets, sums, out=np.ones_like(sums), where=has_mass))
    return w, np.where(near, np.log1p(np.where(near, w, 0.0)), far)


def _take_relaxed_factors(
    targets: FloatArray, sums: FloatArray, omega: float, factor: FloatArray, u: FloatArray
) -> float:
    w, log_ratio = _log_ratios(targets, sums)
    power, plain = omega * log_ratio, phi(w)
    own = power * np.expm1(log_ratio) - excess(power)
    is_relaxed = own >= least_share(omega) * plain
    factor[:] = np.where(is_relaxed, np.exp(power), 1.0 + w)
    total, mass = float(targets.sum()), float((sums * factor).sum())
    factor[sums > 0.0] *= total / mass
    u *= factor
    gain = float((sums * np.where(is_relaxed, own, plain)).sum())
    return gain + total * float(excess(np.asarray(math.log(mass / total))))


@np.errstate(all="ignore")  # numbers that are not finite end the run
def _run_relaxed_sweeps(
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
    """Make at most `limit` sweeps and record some: see purtensor.kernels.ipf.over_relaxation.run_relaxed_sweeps."""
    judge = Judge(reference, index, offsets, targets, int(order[0]), tolerance, tolerance_l1, dense)
    written = 0
    for n in range(1, limit + 1):
        gain = 0.0
        for k, following in zip(order, np.roll(order, -1), strict=True):
            rows, next_rows = judge.blocks[k], judge.blocks[following]
            gain += _take_relaxed_factors(targets[rows], sums[rows], omega, factor[rows], u[rows])
            masses *= factor[rows][index[k]]
            sums[next_rows] = row_sums(masses, index[following], next_rows.stop - next_rows.start)
        if (done + n) % steps.SWEEPS_PER_FOLD == 0:
            judge.fold(t, u, masses, sums)
        found = judge.judged(masses, sums, done + n)
        if found is not None:
            records[written] = done + n, *found.misses, gain, judge.dual(t, u, found.mass), found.mass
            written += 1
            if found.is_last or written == len(records):
                return n, written
    return limit, written


@np.errstate(all="ignore")
def _run_gis(
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
    """Make at most `limit` iterations and record some: see purtensor.kernels.ipf.gis.run_gis."""
    judge = Judge(reference, index, offsets, targets, 0, tolerance, tolerance_l1, dense)
    first, ones, written = judge.blocks[0], np.ones_like(sums), 0
    for n in range(1, limit + 1):
        move = _log_ratios(targets, sums)[1] / len(index)
        change = spread_range(index, offsets, move, 0, masses.size)
        gain = float(((targets - sums) * move).sum()) - float((masses * excess(change)).sum())
        t += move
        rebuild_range_in_numpy(reference, index, offsets, t, 0, masses.size, masses)
        for k, rows in enumerate(judge.blocks):
            sums[rows] = row_sums(masses, index[k], rows.stop - rows.start)
        ratio = judge.total / float(sums[first].sum())
        masses *= ratio
        sums *= ratio
        t[first] += math.log(ratio)
        gain += judge.total * float(excess(np.asarray(-math.log(ratio))))
        found = judge.judged(masses, sums, done + n)
        if found is not None:
            records[written] = done + n, *found.misses, gain, judge.dual(t, ones, found.mass), found.mass
            written += 1
            if found.is_last or written == len(records):
                return n, written
    return limit, written


def _linear_sweep(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    sums: FloatArray,
    order: IntArray,
    omega: float,
    x: FloatArray,
    z: FloatArray,
) -> None:
    for k in order:
        own = slice(int(offsets[k]), int(offsets[k + 1]))
        part = row_sums(masses * z, index[k], own.stop - own.start)
        left = (1.0 - omega) * float(part.sum()) / float(sums[own].sum())
        part = omega * np.divide(part, sums[own], out=np.zeros_like(part), where=sums[own] > 0.0) + left
        x[own] -= part
        z -= part[index[k]]


FORMS: Forms = {
    run_relaxed_sweeps: _run_relaxed_sweeps,
    run_gis: _run_gis,
    linear_sweep: _linear_sweep,
}
