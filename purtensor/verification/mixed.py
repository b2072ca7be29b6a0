"""Verification of projections with rows of any kind, bounds and other distances, in extended precision.

It takes the question as arrays (coefficients, ends and prices of rows, bounds of cells) with the answer, and shares no
code with what solved it: the misses, the bounds, the objective and the gap are recomputed from their definitions
(notes/one_dual.md, equations 1 and 9), on the rows as they were asked, without slacks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from purtensor._typing import BoolArray, FloatArray
from purtensor.errors import TooLargeError
from purtensor.verification.row_costs import (
    UNIT,
    LongArray,
    MixedStatement,
    choose_sums,
    entropy,
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
    objective = float((_cell_costs(stated, masses).sum() + row_costs(stated, sums).sum()) / stated.total)
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
    for weight in _weights(stated, masses, kept):
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
    gap = float(_cell_gaps(stated, feasible, z)[kept].sum() + row_gaps(stated, there, potentials)[counted & ~met].sum())
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


def _logit_rate(stated: MixedStatement) -> LongArray:
    f, low, high = stated.reference, stated.cell_lower, stated.cell_upper
    return np.asarray((high - low) * f / ((f - low) * (high - f)), dtype=np.longdouble)


def _between(stated: MixedStatement, p: LongArray, q: LongArray) -> LongArray:
    """Return the Bregman distance of cells p from q by the distance that was requested."""
    f = np.asarray(stated.reference, dtype=np.longdouble)
    if stated.distance == "kl":
        return np.asarray(entropy(p, q))
    if stated.distance == "linear":
        return (p - q) ** 2 / (2 * f)
    low, high = stated.cell_lower, stated.cell_upper
    return np.asarray((entropy(p - low, q - low) + entropy(high - p, high - q)) / _logit_rate(stated))


def _times(matrix: sparse.csr_array, values: LongArray) -> LongArray:
    """Return the product in extended precision, row by row."""
    products = matrix.data.astype(np.longdouble) * values[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found = np.zeros(matrix.shape[0], dtype=np.longdouble)
    np.add.at(found, rows, products)
    return found


def _cell_costs(stated: MixedStatement, masses: LongArray) -> LongArray:
    return _between(stated, masses, np.asarray(stated.reference, dtype=np.longdouble))


def _response(stated: MixedStatement, z: LongArray) -> Any:
    f = np.asarray(stated.reference, dtype=np.longdouble)
    low, high = (np.asarray(end, dtype=np.longdouble) for end in (stated.cell_lower, stated.cell_upper))
    if stated.distance == "kl":
        return np.clip(f * np.exp(z), low, high)
    if stated.distance == "linear":
        return np.clip(f * (1 + z), low, high)
    return low + (high - low) / (1 + (high - f) / (f - low) * np.exp(-_logit_rate(stated) * z))


def _slope(stated: MixedStatement, x: LongArray) -> Any:
    f = np.asarray(stated.reference, dtype=np.longdouble)
    return np.log(x / f) if stated.distance == "kl" else (x - f) / f


def _cell_gaps(stated: MixedStatement, feasible: LongArray, z: LongArray) -> LongArray:
    """Return h(x) + h*(z) - z x of every cell: never negative."""
    response = _response(stated, z)
    gap = _between(stated, feasible, response)
    if stated.distance == "logit":
        # the response reaches no bound but by rounding: then the same from logarithms of what is left to either bound
        return np.where(np.isfinite(gap), gap, _logit_gaps(stated, feasible, z))
    # a cell held at a bound adds (h'(x) - z)(x^ - x), both factors of one sign (notes/one_dual.md, equation 10)
    slope = _slope(stated, response)
    held = (response == stated.cell_lower) | (response == stated.cell_upper)
    return gap + np.where(held & (feasible != response), (slope - z) * (feasible - response), 0)


def _logit_gaps(stated: MixedStatement, feasible: LongArray, z: LongArray) -> LongArray:
    rate, width = _logit_rate(stated), np.asarray(stated.cell_upper - stated.cell_lower, dtype=np.longdouble)
    f = np.asarray(stated.reference, dtype=np.longdouble)
    s = rate * z + np.log((f - stated.cell_lower) / (stated.cell_upper - f))
    gap = np.zeros_like(z)
    for share, sign in ((feasible - stated.cell_lower, -1), (stated.cell_upper - feasible, 1)):
        # u log(u / u'), u' = width / (1 + exp(-s)) of one side and width / (1 + exp(s)) of the other
        gap += np.where(
            share > 0, share * (np.log(np.where(share > 0, share, 1) / width) + np.logaddexp(0, sign * s)), 0
        )
    return gap / rate


def _weights(stated: MixedStatement, masses: LongArray, kept: Any) -> Iterator[FloatArray]:
    """Yield by how much cells give way: as the slope of their response says, and by no more than their room."""
    f = np.asarray(stated.reference, dtype=np.longdouble)
    # cells give about as their x' says (notes/one_dual.md, equations 3 to 5); any weights lead to a feasible point
    give = masses if stated.distance == "kl" else f
    if stated.distance == "logit":
        give = _logit_rate(stated) * (masses - stated.cell_lower) * (stated.cell_upper - masses)
    room = np.minimum(masses - stated.cell_lower, stated.cell_upper - masses)
    # cells at a bound stay there
    inside = kept & (room > 0)
    yield np.where(inside, give, 0).astype(np.float64)
    if (room < give)[inside].any():
        yield np.where(inside, np.minimum(give, room), 0).astype(np.float64)


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
        return float(np.sqrt(gap * (_logit_rate(stated) * width)[kept].sum() / 2))
    return 2 * gap / 3 + float(np.sqrt(4 * gap * gap / 9 + 2 * float(feasible.sum()) * gap))
