"""Generalised iterative scaling and linear sweeps in numpy."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.ipf.gis import run_gis
from purtensor.kernels.newton.linear_sweep import linear_sweep
from purtensor.kernels.numpy_forms.newton import excess
from purtensor.kernels.numpy_forms.sums import spread_range
from purtensor.kernels.numpy_forms.sweeps import Judge, log_ratios_in_numpy, rebuild_range_in_numpy, row_sums


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
    judge = Judge(reference, index, offsets, targets, 0, tolerance, tolerance_l1, records, dense)
    first, ones = judge.blocks[0], np.ones_like(sums)
    for n in range(1, limit + 1):
        # notes/solvers.md, equation 1
        move = log_ratios_in_numpy(targets, sums)[1] / len(index)
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
        if judge.record(done + n, masses, sums, t, ones, gain):
            return n, judge.written
    return limit, judge.written


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


FORMS = {
    run_gis: _run_gis,
    linear_sweep: _linear_sweep,
}
