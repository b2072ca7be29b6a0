"""The last digits of an absolute penalty: rows at their bounds put there exactly, the others met to rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from purtensor._typing import BoolArray, FloatArray
from purtensor.solving.soft_ascent import SoftEnding, SoftPoint, SoftRun, hard_residual, is_met, point_at
from purtensor.solving.soft_problem import SoftProblem

_FAINT, _HOLDING = 1e-10, 1e20
"""Ridges: of rows that are to be met, so that dependent ones do no harm, and of rows that are not."""

_STEPS = 3
_WRONG_SIDE = 1e-12
_NOTHING = 1e-10


def polished(soft: SoftProblem, run: SoftRun, tolerance: float) -> SoftRun:
    """Return a converged run with each soft row either at its bound or met, to rounding; the run itself otherwise.

    Which is which the run has found out. The result is a Newton step or two away, and is taken only where its
    potentials keep within the bounds and the rows at a bound miss on the side that belongs to it.
    """
    if run.ending is not SoftEnding.CONVERGED or not len(soft.rows):
        return run
    tight = tight_rows(soft, run.point, run.level)
    potentials = run.point.potentials.copy()
    held = soft.rows[~tight]
    potentials[held] = np.copysign(run.level, potentials[held])
    point = point_at(soft, potentials)
    miss = _size(miss_to_meet(soft, point.sums, tight))
    for _ in range(_STEPS):
        left = miss_to_meet(soft, point.sums, tight)
        step, _ = soft.hessian.factor_and_solve(point.masses, left, holding_ridge(soft, point.sums, tight))
        step[held] = 0.0
        moved = point_at(soft, point.potentials + step)
        after = _size(miss_to_meet(soft, moved.sums, tight))
        if not after < miss:
            break
        point, miss = moved, after
    residual = hard_residual(soft, point.sums)
    if not (is_met(residual, tolerance) and _is_optimal(soft, point, run.level, held)):
        return run
    return replace(run, point=point, residual=residual)


def tight_rows(soft: SoftProblem, point: SoftPoint, level: float) -> BoolArray:
    """Return which soft rows are met, rather than missed with their potential at a bound: what is nearer to true.

    A row's miss is compared as a share of all misses, unless these are nothing but rounding.
    """
    misses = np.abs(soft.soft_targets - point.sums[soft.rows]) / soft.problem.total
    shares = misses / max(float(misses.sum()), _NOTHING)
    return np.asarray(shares < 1.0 - np.abs(point.potentials[soft.rows]) / level)


def miss_to_meet(soft: SoftProblem, sums: FloatArray, tight: BoolArray) -> FloatArray:
    """Return what hard and tight rows lack, 0 on the others."""
    counted = np.zeros(len(sums), dtype=bool)
    counted[: soft.hard_count] = True
    counted[soft.rows[tight]] = True
    return np.where(counted, soft.problem.targets - sums, 0.0)


def holding_ridge(soft: SoftProblem, sums: FloatArray, tight: BoolArray) -> FloatArray:
    """Return a ridge that lets the tight rows be met and holds the potentials of the other soft rows where they are."""
    ridge = np.zeros(len(sums))
    ridge[soft.rows] = np.where(tight, _FAINT * sums[soft.rows], _HOLDING)
    return ridge


def _size(miss: FloatArray) -> float:
    return float(np.abs(miss).sum())


def _is_optimal(soft: SoftProblem, point: SoftPoint, level: float, held: FloatArray) -> bool:
    inside = np.abs(point.potentials[soft.rows]) <= level
    misses = (soft.problem.targets - point.sums)[held] * np.sign(point.potentials[held])
    return bool(inside.all() and np.all(misses >= -_WRONG_SIDE * soft.problem.total))
