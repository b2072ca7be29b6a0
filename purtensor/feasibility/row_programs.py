"""Linear programs about rows of any kind with bounds: the smallest misses, how far a row reaches, implied bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.dual.question import Question

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
    wide = sparse.hstack([c, eye, -eye], format="csr")
    above, below = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    if not len(above) + len(below):
        return SmallestMiss(0.0, np.zeros(count), np.zeros(count), question.lower)
    # all in shares of the total, as the tolerances of the program are absolute
    low = np.concatenate([question.lower / total, np.zeros(2 * count)])
    high = np.concatenate([question.upper / total, np.full(2 * count, np.inf)])
    solved = linprog(
        np.concatenate([np.zeros(cells), np.ones(2 * count)]),
        A_ub=sparse.vstack([wide[above], -wide[below]], format="csr"),
        b_ub=np.concatenate([upper[above], -lower[below]]),
        bounds=np.column_stack([low, high]),
        method="highs",
        options=_PROGRAM,
    )
    if solved.status != 0:
        return None
    weights = np.zeros(count)
    marginals = solved.ineqlin.marginals
    # scipy's marginals are derivatives of the objective, negative for `<=` rows: that is y of equation 16
    weights[above] += marginals[: len(above)]
    weights[below] -= marginals[len(above) :]
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
    above, below = np.isfinite(upper), np.isfinite(lower)
    solved = linprog(
        -side * c[[row]].toarray().reshape(-1),
        A_ub=sparse.vstack([rest[np.flatnonzero(above)], -rest[np.flatnonzero(below)]], format="csr"),
        b_ub=np.concatenate([upper[above], -lower[below]]),
        bounds=np.column_stack([question.lower / total, question.upper / total]),
        method="highs",
        options=_PROGRAM,
    )
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
    lower, upper = question.row_lower[hard] / total, question.row_upper[hard] / total
    above, below = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    low, high = question.lower / total, question.upper / total
    # low + room <= q <= high - room, 0 <= room <= cap
    pick = sparse.csr_array((np.ones(len(free)), (np.arange(len(free)), free)), shape=(len(free), cells))
    eye, nothing = sparse.eye_array(len(free), format="csr"), sparse.csr_array((len(hard), len(free)))
    wide = sparse.hstack([c, nothing], format="csr")
    with_low, with_high = np.flatnonzero(np.isfinite(low[free])), np.flatnonzero(np.isfinite(high[free]))
    solved = linprog(
        np.concatenate([np.zeros(cells), -1.0 / cap]),
        A_ub=sparse.vstack(
            [
                wide[above],
                -wide[below],
                sparse.hstack([-pick, eye], format="csr")[with_low],
                sparse.hstack([pick, eye], format="csr")[with_high],
            ],
            format="csr",
        ),
        b_ub=np.concatenate(
            [upper[above] + _SLACK, -lower[below] + _SLACK, -low[free][with_low], high[free][with_high]]
        ),
        bounds=np.column_stack([np.concatenate([low, np.zeros(len(free))]), np.concatenate([high, cap])]),
        method="highs",
        options=_PROGRAM,
    )
    found = np.zeros(cells, dtype=np.int64)
    if solved.status == 0:
        # less than a thousandth of the cap is the tolerance of the program
        stuck = free[solved.x[cells:] <= 1e-3 * cap]
        mass = solved.x[:cells][stuck]
        found[stuck] = np.where(mass - low[stuck] <= high[stuck] - mass, -1, 1)
    return found
