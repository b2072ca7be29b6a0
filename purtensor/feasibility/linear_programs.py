"""Linear programs whose answers are candidates: weights that may prove something, never a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from purtensor._interrupts import run_apart
from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.system import System, columns_of
from purtensor.solving.dual.question import Question

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


_PROGRAM = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# room for the rounding of the targets: HiGHS would call them infeasible, or every cell stuck
_SLACK = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class SmallestMiss:
    """The smallest sum of misses of some rows, each over its largest coefficient.

    Attributes
    ----------
    miss
        The sum.
    misses, weights
        Shape (rows,): what each row misses, in its own unit; and a weight for each row, which together prove the sum.
    solution
        Masses that miss the rows so.
    """

    miss: float
    misses: FloatArray
    weights: FloatArray
    solution: FloatArray


def _solve_between(
    costs: FloatArray, rows: Any, lower: FloatArray, upper: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[Any, FloatArray]:
    """Return what HiGHS makes of a program whose rows and columns lie between ends, and the weights of the rows."""
    above, below = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    solved = linprog(
        costs,
        A_ub=sparse.vstack([rows[above], -rows[below]], format="csr"),
        b_ub=np.concatenate([upper[above], -lower[below]]),
        bounds=np.column_stack([low, high]),
        method="highs",
        options=_PROGRAM,
    )
    weights = np.zeros(len(lower))
    if solved.status == 0:
        # scipy's marginals are derivatives of the objective, negative for `<=` rows: that is y of equation 16
        marginals = solved.ineqlin.marginals
        weights[above] += marginals[: len(above)]
        weights[below] -= marginals[len(above) :]
    return solved, weights


def units_of(question: Question, rows: IntArray) -> FloatArray:
    """Return the largest coefficient of each row, 1 where it has none."""
    units = question.row_sizes[rows]
    return np.where(units > 0.0, units, 1.0)


def smallest_miss(question: Question, rows: IntArray) -> SmallestMiss | None:
    """Return the smallest sum of misses of these rows within the bounds; None if the linear program fails."""
    total, units = question.total, units_of(question, rows)
    c = (sparse.diags_array(1.0 / units) @ question.coefficients[rows]).tocsr()
    lower, upper = question.row_lower[rows] / units / total, question.row_upper[rows] / units / total
    count, cells = c.shape
    eye = sparse.eye_array(count, format="csr")
    if not (np.isfinite(lower) | np.isfinite(upper)).any():
        return SmallestMiss(0.0, np.zeros(count), np.zeros(count), question.lower)
    # all in shares of the total, as the tolerances of the program are absolute
    low = np.concatenate([question.lower / total, np.zeros(2 * count)])
    high = np.concatenate([question.upper / total, np.full(2 * count, np.inf)])
    costs = np.concatenate([np.zeros(cells), np.ones(2 * count)])
    solved, weights = _solve_between(costs, sparse.hstack([c, eye, -eye], format="csr"), lower, upper, low, high)
    if solved.status != 0:
        return None
    lacking, over = solved.x[cells : cells + count], solved.x[cells + count :]
    return SmallestMiss(
        float(solved.fun) * total, (over - lacking) * units * total, weights / units, solved.x[:cells] * total
    )


def reach(question: Question, hard: IntArray, row: int, side: float) -> float | None:
    """Return the most (side 1) or the least (side -1) that a row comes to while all other hard rows are met."""
    k = int(np.searchsorted(question.offsets, row, side="right")) - 1
    own = question.block(k)
    others = hard[(hard < own.start) | (hard >= own.stop)] if question.blocks[k].is_marginal else hard[hard != row]
    c, total = question.coefficients, question.total
    lower, upper = question.row_lower[others] / total, question.row_upper[others] / total
    rest = c[others]
    if question.blocks[k].is_marginal:  # the other rows of a marginal would fix this one: their sum stays
        rest = sparse.vstack([rest, c[own.start : own.stop].sum(axis=0)[None, :]], format="csr")
        whole = question.row_lower[own].sum() / total
        lower, upper = np.append(lower, whole), np.append(upper, whole)
    costs = -side * c[[row]].toarray().reshape(-1)
    solved, _ = _solve_between(costs, rest, lower, upper, question.lower / total, question.upper / total)
    return -side * float(solved.fun) * total if solved.status == 0 else None


def find_implied_bounds(question: Question) -> IntArray:
    """Return -1 and 1 for the cells that are at their lower and upper bound in every solution, else 0.

    The program gives as many cells as it can some room to both bounds; where one cell can have room in a solution and
    another in a second one, both have half of it in their mean. Cells that cannot move are recognized by their masses.
    """
    hard, total, cells = np.flatnonzero(question.hard), question.total, len(question.reference)
    free = np.flatnonzero(question.lower < question.upper)
    width = (question.upper - question.lower)[free] / total
    # small against a mean share, so that giving all cells room at once costs no solution
    cap = np.minimum(1e-3 / cells, 0.25 * width)
    c = question.coefficients[hard]
    low, high = question.lower / total, question.upper / total
    # low + room <= q <= high - room, 0 <= room <= cap
    pick = sparse.csr_array((np.ones(len(free)), (np.arange(len(free)), free)), shape=(len(free), cells))
    eye, nothing = sparse.eye_array(len(free), format="csr"), sparse.csr_array((len(hard), len(free)))
    above_low, below_high = sparse.hstack([pick, -eye], format="csr"), sparse.hstack([pick, eye], format="csr")
    unbounded = np.full(len(free), np.inf)
    solved, _ = _solve_between(
        np.concatenate([np.zeros(cells), -1.0 / cap]),
        sparse.vstack([sparse.hstack([c, nothing]), above_low, below_high], format="csr"),
        np.concatenate([question.row_lower[hard] / total - _SLACK, low[free], -unbounded]),
        np.concatenate([question.row_upper[hard] / total + _SLACK, unbounded, high[free]]),
        np.concatenate([low, np.zeros(len(free))]),
        np.concatenate([high, cap]),
    )
    found = np.zeros(cells, dtype=np.int64)
    if solved.status == 0:
        # less than a thousandth of the cap is the tolerance of the program
        stuck = free[solved.x[cells:] <= 1e-3 * cap]
        mass = solved.x[:cells][stuck]
        found[stuck] = np.where(mass - low[stuck] <= high[stuck] - mass, -1, 1)
    return found
