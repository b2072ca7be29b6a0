"""Verification of projections with rows of any kind, bounds and other distances, in extended precision.

It takes the question as arrays (coefficients, ends and prices of rows, bounds of cells) with the answer, and shares no
code with what solved it: the misses, the bounds, the objective and the gap are recomputed from their definitions
(notes/one_dual.md, equations 1 and 9), on the rows as they were asked, without slacks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from purtensor._typing import BoolArray, FloatArray
from purtensor.errors import TooLargeError
from purtensor.verification.cell_costs import cell_costs, cell_gaps, give_way, logit_rate
from purtensor.verification.row_costs import (
    UNIT,
    LongArray,
    MixedStatement,
    choose_sums,
    measure_misses,
    row_costs,
    row_gaps,
)

_MOST_ROWS = 4000
# rounds of least squares in float64 on misses in extended precision
_REFINEMENTS = 6
_MET = 4 * float(np.finfo(np.longdouble).eps)
"""Of the sum of sizes of a row: a miss in extended precision that is rounding."""


@dataclass(frozen=True, slots=True)
class MixedFigures:
    """What the recomputation finds; `blur` is what rounding of the potentials alone can make of a distance."""

    residual: float
    outside: float
    objective: float
    bound: float
    tv_bound: float
    blur: float


def measure_mixed(stated: MixedStatement) -> MixedFigures:
    """Return the figures of an answer.

    Raises
    ------
    TooLargeError
        More rows than the dense equations of the check are made for.
    """
    rows = len(stated.penalty)
    if rows > _MOST_ROWS:
        need = 8 * rows * rows
        raise TooLargeError(
            f"verify solves dense equations of {rows} rows, at most {_MOST_ROWS}", need, 8 * _MOST_ROWS**2
        )
    with np.errstate(all="ignore"):
        return _measure(stated)


def _measure(stated: MixedStatement) -> MixedFigures:
    masses = np.asarray(stated.masses, dtype=np.longdouble)
    low, high = (np.asarray(end, dtype=np.longdouble) for end in (stated.cell_lower, stated.cell_upper))
    # the unit of a residual: a row's largest coefficient, as the solver divides by it
    sizes = np.asarray(abs(stated.coefficients).max(axis=1).todense()).reshape(-1)
    sums = _times(stated.coefficients, masses)
    hard = np.array([word == "hard" for word in stated.penalty])
    misses = np.where(hard, np.abs(measure_misses(stated, sums)), 0)
    residual = float((misses / (stated.total * np.where(sizes > 0, sizes, 1))).max(initial=0))
    outside = float(np.maximum(low - masses, masses - high).max(initial=0) / stated.total)
    objective = float((cell_costs(stated, masses).sum() + row_costs(stated, sums).sum()) / stated.total)
    potentials = np.asarray(stated.potentials, dtype=np.longdouble)
    # a potential of -inf says that its row, and every cell with a coefficient in it, is empty
    empty = np.isneginf(potentials)
    kept = ~np.asarray(abs(stated.coefficients[np.flatnonzero(empty)]).sum(axis=0) > 0).reshape(-1) & (high > 0)
    potentials = np.where(empty, 0, potentials)
    # beyond the price of a row its cost has no conjugate, and an ulp below it a whole miss counts; any potentials prove
    price = np.asarray(stated.price, dtype=np.longdouble)
    priced = np.array([word in ("l1", "huber") for word in stated.penalty])
    full = priced & (np.abs(potentials) >= price * (1 - 4 * UNIT))
    potentials = np.where(full, np.copysign(price, potentials), potentials)
    # potentials come as float64: their rounding moves the exponent of a cell by this at most
    blur = UNIT * float(_times(abs(stated.coefficients).T.tocsr(), np.abs(potentials))[kept].max(initial=0))
    best = np.inf, 1.0
    for weight in give_way(stated, masses, kept):
        for start in (potentials, _release_intervals(stated, sums, potentials)):
            feasible, moved, left, rest = _move_onto_rows(stated, masses, start, weight, hard & ~empty)
            # weak duality needs a feasible point: without one nothing is proved
            if left > 64 * UNIT:
                continue
            # any potentials prove with the same point; those that Newton's step leads to are often closer
            stepped = np.where(priced, np.clip(start + moved, -price, price), start + moved)
            for at in (start, stepped):
                found = _prove(stated, masses, (feasible, rest, weight), np.where(empty, 0, at), kept, ~empty)
                best = found if found[1] < best[1] else best
    return MixedFigures(residual, outside, objective, *best, blur)


def _release_intervals(stated: MixedStatement, sums: LongArray, potentials: LongArray) -> LongArray:
    """Return the potentials, 0 for rows with sums that are nearer to the other end than to the one they push to."""
    to_lower, to_upper = np.abs(sums - stated.lower), np.abs(sums - stated.upper)
    return np.where(np.where(potentials > 0, to_upper < to_lower, to_lower < to_upper), 0, potentials)


def _prove(
    stated: MixedStatement,
    masses: LongArray,
    near: tuple[LongArray, FloatArray, FloatArray],
    potentials: LongArray,
    kept: Any,
    counted: Any,
) -> tuple[float, float]:
    """Return bounds of the divergence and of the total variation that a point and potentials prove.

    `near` are the point, how far each cell may be from one that meets the rows exactly, and how cells give way.
    """
    feasible, rest, weight = near
    z, there = (
        _times(matrix, own)
        for matrix, own in ((stated.coefficients.T.tocsr(), potentials), (stated.coefficients, feasible))
    )
    # rows that are met to rounding at the end that they belong to have no gap, like equalities
    tied, end = _ends_of(stated, potentials)
    met = tied & (np.abs(there - np.where(tied, end, 0)) <= _MET * _sizes_of(stated, masses, end))
    gap = float(cell_gaps(stated, feasible, z)[kept].sum() + row_gaps(stated, there, potentials)[counted & ~met].sum())
    if not np.isfinite(gap):
        return np.inf, 1.0
    # gaps are squares of distances in the norm of 1 / x', in which the exact point is so far from this one
    gap = (math.sqrt(max(gap, 0.0)) + math.sqrt(float((rest**2 / np.where(weight > 0, 2 * weight, 1)).sum()))) ** 2
    # |masses - x*| <= |masses - x^| + |x^ - x*|, in the L1 norm
    apart = float(np.abs(feasible - masses).sum() + rest.sum()) + _distance(stated, max(gap, 0.0), feasible, kept)
    mass = float(masses.sum())
    # the total variation of equal totals is half the L1 distance; a free total keeps all of it
    if stated.fixed_total:
        apart = 0.5 * (apart + abs(mass - stated.total))
    return max(gap, 0.0) / stated.total, min(1.0, apart / mass)


def _times(matrix: sparse.csr_array, values: LongArray) -> LongArray:
    """Return the product in extended precision, row by row."""
    products = matrix.data.astype(np.longdouble) * values[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found = np.zeros(matrix.shape[0], dtype=np.longdouble)
    np.add.at(found, rows, products)
    return found


def _ends_of(stated: MixedStatement, potentials: LongArray) -> tuple[BoolArray, LongArray]:
    """Return which rows are to be met exactly, and the ends of their intervals that they belong to.

    A row with a potential belongs to the end that this pushes to, unless it pays its full price for missing it.
    """
    hard, absolute = (np.array([word == kind for word in stated.penalty]) for kind in ("hard", "l1"))
    # an l1 row is missed only at its full price: below it the answer meets it
    tied = hard | (absolute & (np.abs(potentials) < np.asarray(stated.price) * (1 - 4 * UNIT)))
    end = np.where(potentials > 0, stated.lower, stated.upper)
    return np.asarray(tied & ((stated.lower == stated.upper) | ((potentials != 0) & np.isfinite(end)))), end


def _sizes_of(stated: MixedStatement, masses: LongArray, end: LongArray) -> LongArray:
    """Return the sum of sizes of each row, in units of which rounding is."""
    sizes = _times(abs(stated.coefficients), np.abs(masses)) + np.where(np.isfinite(end), np.abs(end), 0)
    return np.where(sizes > 0, sizes, 1)


def _move_onto_rows(
    stated: MixedStatement, masses: LongArray, potentials: LongArray, weight: FloatArray, hard: Any
) -> tuple[LongArray, LongArray, float, FloatArray]:
    """Return masses moved onto the rows that must hold, by least squares, the step of the potentials, and what is left.

    The last are what the hard rows lack over their sums of sizes, and by how much each cell would move to mend it.
    """
    exact, end = _ends_of(stated, potentials)
    sizes, tied = _sizes_of(stated, masses, end), exact | hard
    soft = np.zeros(len(end), dtype=bool)
    asked, gives, moved = (np.zeros(len(end), dtype=np.longdouble) for _ in range(3))
    feasible, left = masses.copy(), np.inf
    for _ in range(_REFINEMENTS):
        sums = _times(stated.coefficients, feasible)
        # soft rows give way: their sums fall with their potentials, as those of their slacks would
        chosen, slopes = choose_sums(stated, sums, potentials)
        new = np.isfinite(chosen) & ~soft  # some leave their intervals on the way
        asked, gives, soft = np.where(new, chosen, asked), np.where(new, slopes, gives), soft | new
        miss = np.where(exact, sums - np.where(exact, end, 0), np.where(tied, measure_misses(stated, sums), 0))
        miss = np.where(soft, sums + gives * moved - asked, miss)
        left = float((np.where(hard, np.abs(miss), 0) / sizes).max(initial=0))
        if float((np.abs(miss) / sizes).max(initial=0)) <= _MET:
            break
        active = np.flatnonzero(exact | soft | (miss != 0))
        own = stated.coefficients[active]
        system = (own @ sparse.diags_array(weight) @ own.T).toarray() + np.diag(gives[active].astype(np.float64))
        # a unit diagonal, as rows of any units may stand side by side
        scale = 1 / np.sqrt(np.where(system.diagonal() > 0, system.diagonal(), 1))
        wanted = scale * -miss[active].astype(np.float64)
        # rows may depend on each other: the least-norm solution does not mind
        found = np.linalg.lstsq(system * scale[:, None] * scale, wanted, rcond=1e-13)[0]
        solved = (scale * found).astype(np.longdouble)
        moved[active] += solved
        feasible = feasible + weight * _times(own.T.tocsr(), solved)
        feasible = np.clip(feasible, stated.cell_lower, stated.cell_upper)
    sums = _times(stated.coefficients, feasible)
    miss = np.where(
        exact, np.abs(sums - np.where(exact, end, 0)), np.where(tied, np.abs(measure_misses(stated, sums)), 0)
    )
    rows = np.flatnonzero(exact | (miss != 0))
    return feasible, moved, left, _reach(stated, weight, rows, (miss + _MET * sizes)[rows].astype(np.float64))


def _reach(stated: MixedStatement, weight: FloatArray, rows: Any, unsure: FloatArray) -> FloatArray:
    """Return by how much cells move where rows are met that may be missed by so much, one by one.

    A miss is no distance: rows of amounts that all but cancel make 10^5 units of rounding of one.
    """
    own = stated.coefficients[rows]
    system = (own @ sparse.diags_array(weight) @ own.T).toarray()
    scale = 1 / np.sqrt(np.where(system.diagonal() > 0, system.diagonal(), 1))
    solve = scale[:, None] * np.linalg.pinv(system * scale[:, None] * scale, rcond=1e-13) * scale
    return np.asarray(np.abs(weight[:, None] * (own.T @ solve)) @ unsure)


def _distance(stated: MixedStatement, gap: float, feasible: LongArray, kept: Any) -> float:
    """Return the largest L1 distance of `feasible` from the answer that a gap allows (notes/one_dual.md, 14)."""
    if stated.distance == "linear":
        return float(np.sqrt(2 * gap * np.asarray(stated.reference)[kept].sum()))
    if stated.distance == "logit":
        width = np.asarray(stated.cell_upper - stated.cell_lower)
        return float(np.sqrt(gap * (logit_rate(stated) * width)[kept].sum() / 2))
    return 2 * gap / 3 + float(np.sqrt(4 * gap * gap / 9 + 2 * float(feasible.sum()) * gap))
