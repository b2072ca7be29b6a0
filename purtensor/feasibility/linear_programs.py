"""Linear programs whose answers are candidates: weights that may prove something, never a verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from purtensor._interrupts import run_apart
from purtensor._typing import BoolArray, FloatArray
from purtensor.constraints.system import System, columns_of

_LONGEST = 20.0
"""Time limit in seconds of a linear program: a candidate must not take arbitrarily long."""

# tighter than HiGHS' own 1e-7: weights are rounded to whole numbers afterwards
_TOLERANCES = {
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "presolve": True,
    "time_limit": _LONGEST,
}


def _solve(costs: FloatArray, **program: Any) -> Any:
    """Return what HiGHS makes of a program. It does not hear Ctrl-C, which ends the wait for it."""
    return run_apart(lambda: linprog(costs, method="highs", options=_TOLERANCES, **program))


def refuting_weights(system: System, counted: BoolArray | None = None) -> FloatArray | None:
    """Return weights with C^T t >= 0 that make b.t as small as it gets; None where the program fails.

    They lie in [-1, 1] on the rows that are counted, all of them by default. Minus the smallest b.t is then the
    smallest L1 miss over these rows that any table on the support has, if it meets all others; with rows counted it is
    the smallest, or None.
    """
    scaled = system.targets / _unit(system.targets[system.targets > 0])
    matrix = columns_of(system).T
    # rows that are not counted are met exactly, so their weight is free
    lowest = np.full(system.rows, -1.0) if counted is None else np.where(counted, -1.0, -np.inf)
    found = _solve(scaled, A_ub=-matrix, b_ub=np.zeros(system.profiles), bounds=np.stack([lowest, -lowest], axis=1))
    if found.x is None or (counted is not None and found.status != 0):
        return None
    return np.asarray(found.x)


def covering_weights(system: System) -> FloatArray | None:
    """Return weights y >= 0 with C^T y >= 1 that make b.y as small as it gets; None where the program fails.

    The smallest b.y is the largest mass of a table on the support whose marginals exceed no target.
    """
    scaled = system.targets / _unit(system.targets[system.targets > 0])
    matrix = columns_of(system).T
    found = _solve(scaled, A_ub=-matrix, b_ub=-np.ones(system.profiles), bounds=(0.0, 1.0))
    return np.asarray(found.x) if found.x is not None and found.status == 0 else None


def _unit(targets: FloatArray) -> float:
    """Return the median of targets; where it is almost nothing, what leaves the largest within a program's range."""
    return max(float(np.median(targets)), 1e-15 * float(targets.max()))


def sparse_weights(system: System) -> FloatArray | None:
    """Return weights with C^T t >= 0 and b.t = -1 whose absolute values sum to the least; None on failure.

    They show a contradiction in few rows, the largest one for their number.
    """
    return _sparse(system, -1.0, np.zeros(system.profiles))


def sparse_emptying_weights(system: System, profile: int) -> FloatArray | None:
    """Return weights with C^T t >= 0, at least 1 at a profile, and b.t = 0, of least absolute sum; None on failure."""
    least = np.zeros(system.profiles)
    least[profile] = 1.0
    return _sparse(system, 0.0, least)


def _sparse(system: System, value: float, least: FloatArray) -> FloatArray | None:
    shares = system.targets / system.targets[system.block(0)].sum()
    matrix = columns_of(system).T
    found = _solve(
        # t as a difference of two positive parts, whose sum is the absolute value
        np.ones(2 * system.rows),
        A_ub=hstack([-matrix, matrix]).tocsr(),
        b_ub=-least,
        A_eq=csr_array(np.concatenate([shares, -shares])[None, :]),
        b_eq=[value],
        bounds=(0.0, None),
    )
    if found.x is None:
        return None
    raised, lowered = np.split(np.asarray(found.x), 2)
    weights: FloatArray = raised - lowered
    return weights


def emptying_weights(system: System) -> FloatArray | None:
    """Return weights with C^T t >= 0 and b.t = 0 that are positive at as many profiles as any; None on failure."""
    scaled = system.targets / _unit(system.targets)
    rows, profiles = system.rows, system.profiles
    matrix = columns_of(system).T
    # a flag in [0, 1] below each (C^T t)_i: scaling t up makes as many flags 1 as can be positive
    flags = csr_array((np.ones(profiles), (np.arange(profiles), np.arange(profiles))), shape=(profiles, profiles))
    above = hstack([-matrix, flags]).tocsr()
    # b.t = 0
    level = csr_array(np.concatenate([scaled, np.zeros(profiles)])[None, :])
    found = _solve(
        np.concatenate([np.zeros(rows), -np.ones(profiles)]),
        A_ub=above,
        b_ub=np.zeros(profiles),
        A_eq=level,
        b_eq=np.zeros(1),
        bounds=[(None, None)] * rows + [(0.0, 1.0)] * profiles,
    )
    return None if found.x is None else np.asarray(found.x[:rows])
