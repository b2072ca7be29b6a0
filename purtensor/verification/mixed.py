"""Verification of projections with rows of any kind, bounds and other distances, in extended precision.

It takes the question as arrays (coefficients, ends and prices of rows, bounds of cells) with the answer, and shares no
code with what solved it: the misses, the bounds, the objective and the gap are recomputed from their definitions
(notes/one_dual.md, equations 1 and 9), on the rows as they were asked, without slacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from purtensor.errors import TooLargeError

_MOST_ROWS = 4000
_UNIT = float(np.finfo(np.float64).eps)
# rounds of least squares in float64 on misses in extended precision
_REFINEMENTS = 6
LongArray = np.ndarray[Any, np.dtype[np.longdouble]]


@dataclass(frozen=True, slots=True, eq=False)
class MixedStatement:
    """A question with its answer, in numbers.

    Attributes
    ----------
    coefficients, lower, upper
        The rows: shape (rows, cells) and (rows,).
    penalty
        One word a row: "hard", "kl", "l1", "quadratic" or "huber".
    price
        One number per row: nats per unit of mass for "kl" and "l1", and beyond the bend of "huber".
    variance
        One number per row, for "quadratic" and "huber"; in nats times mass.
    reference, cell_lower, cell_upper, distance, total
        The cells, and what they pay.
    masses, potentials
        The answer: sizes of masses, and a potential for every row.
    """

    coefficients: sparse.csr_array
    lower: Any
    upper: Any
    penalty: tuple[str, ...]
    price: Any
    variance: Any
    reference: Any
    cell_lower: Any
    cell_upper: Any
    distance: str
    total: float
    fixed_total: bool
    masses: Any
    potentials: Any


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
        return _measured(stated)


def _measured(stated: MixedStatement) -> MixedFigures:
    masses = np.asarray(stated.masses, dtype=np.longdouble)
    low, high = (np.asarray(end, dtype=np.longdouble) for end in (stated.cell_lower, stated.cell_upper))
    # the unit of a residual: a row's largest coefficient, as the solver divides by it
    sizes = np.asarray(abs(stated.coefficients).max(axis=1).todense()).reshape(-1)
    sums = _times(stated.coefficients, masses)
    hard = np.array([word == "hard" for word in stated.penalty])
    missed = np.where(hard, np.abs(_missed(stated, sums)), 0)
    residual = float((missed / (stated.total * np.where(sizes > 0, sizes, 1))).max(initial=0))
    outside = float(np.maximum(low - masses, masses - high).max(initial=0) / stated.total)
    objective = float((_cell_costs(stated, masses).sum() + _row_costs(stated, sums).sum()) / stated.total)
    potentials = np.asarray(stated.potentials, dtype=np.longdouble)
    # a potential of -inf says that its row, and every cell with a coefficient in it, is empty
    empty = np.isneginf(potentials)
    kept = ~np.asarray(abs(stated.coefficients[np.flatnonzero(empty)]).sum(axis=0) > 0).reshape(-1) & (high > 0)
    potentials = np.where(empty, 0, potentials)
    z = _times(stated.coefficients.T.tocsr(), potentials)
    # potentials come as float64: their rounding moves the exponent of a cell by this at most
    blur = _UNIT * float(_times(abs(stated.coefficients).T.tocsr(), np.abs(potentials))[kept].max(initial=0))
    feasible, left = _feasible(stated, masses, potentials, kept, hard & ~empty)
    # weak duality needs a feasible point: without one nothing is proved
    if left > 64 * _UNIT:
        return MixedFigures(residual, outside, objective, np.inf, 1.0, blur)
    there = _times(stated.coefficients, feasible)
    gap = float(_cell_gaps(stated, feasible, z)[kept].sum() + _row_gaps(stated, there, potentials)[~empty].sum())
    # |masses - x*| <= |masses - x^| + |x^ - x*|, in the L1 norm
    apart = float(np.abs(feasible - masses).sum()) + _distance(stated, max(gap, 0.0), feasible, kept)
    mass = float(masses.sum())
    # the total variation of equal totals is half the L1 distance; a free total keeps all of it
    if stated.fixed_total:
        apart = 0.5 * (apart + abs(mass - stated.total))
    return MixedFigures(residual, outside, objective, max(gap, 0.0) / stated.total, min(1.0, apart / mass), blur)


def _times(matrix: sparse.csr_array, values: LongArray) -> LongArray:
    """Return the product in extended precision, row by row."""
    products = matrix.data.astype(np.longdouble) * values[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found = np.zeros(matrix.shape[0], dtype=np.longdouble)
    np.add.at(found, rows, products)
    return found


def _missed(stated: MixedStatement, sums: LongArray) -> LongArray:
    lower, upper = (np.asarray(end, dtype=np.longdouble) for end in (stated.lower, stated.upper))
    return np.where(sums < lower, sums - lower, np.maximum(sums - upper, 0))


def _entropy(p: Any, q: Any) -> Any:
    """Return p log(p / q) - p + q."""
    w = np.where(q > 0, (p - q) / np.where(q > 0, q, 1), 0)
    # the series of (1 + w) log(1 + w) - w, whose closed form cancels for small w
    near = w * w * (0.5 - w * (1 / np.longdouble(6) - w * (1 / np.longdouble(12) - w / 20)))
    exact = np.where(w > -1, (1 + w) * np.log1p(np.maximum(w, -1)), 0) - w
    return np.where(q > 0, q * np.where(np.abs(w) < 1e-4, near, exact), np.where(p > 0, np.inf, 0))


def _logit_rate(stated: MixedStatement) -> LongArray:
    f, low, high = stated.reference, stated.cell_lower, stated.cell_upper
    return np.asarray((high - low) * f / ((f - low) * (high - f)), dtype=np.longdouble)


def _between(stated: MixedStatement, p: LongArray, q: LongArray) -> LongArray:
    """Return the Bregman distance of cells p from q by the distance that was requested."""
    f = np.asarray(stated.reference, dtype=np.longdouble)
    if stated.distance == "kl":
        return np.asarray(_entropy(p, q))
    if stated.distance == "linear":
        return (p - q) ** 2 / (2 * f)
    low, high = stated.cell_lower, stated.cell_upper
    return np.asarray((_entropy(p - low, q - low) + _entropy(high - p, high - q)) / _logit_rate(stated))


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
    # the response never reaches a bound there
    if stated.distance == "logit":
        return gap
    # a cell held at a bound adds (h'(x) - z)(x^ - x), both factors of one sign (notes/one_dual.md, equation 10)
    slope = _slope(stated, response)
    held = (response == stated.cell_lower) | (response == stated.cell_upper)
    return gap + np.where(held & (feasible != response), (slope - z) * (feasible - response), 0)


def _row_costs(stated: MixedStatement, sums: LongArray) -> LongArray:
    miss, found = _missed(stated, sums), np.zeros(len(sums), dtype=np.longdouble)
    for r, word in enumerate(stated.penalty):
        size = abs(miss[r])
        if word == "kl":
            found[r] = stated.price[r] * _entropy(sums[r], np.longdouble(stated.upper[r]))
        elif word == "l1":
            found[r] = stated.price[r] * size
        elif word == "quadratic":
            found[r] = size**2 / (2 * stated.variance[r])
        elif word == "huber":
            bend = stated.price[r] * stated.variance[r]
            inner = min(size, bend)
            found[r] = inner**2 / (2 * stated.variance[r]) + stated.price[r] * (size - inner)
    return found


def _row_gaps(stated: MixedStatement, sums: LongArray, potentials: LongArray) -> LongArray:
    """Return w(v) + sup over v' of (-t v' - w(v')) + t v of every row, in forms in which nothing cancels."""
    found = np.zeros(len(sums), dtype=np.longdouble)
    for r, word in enumerate(stated.penalty):
        if word == "kl":
            # the sum that the row's price would choose at this potential: the slope of the cost is -t there
            asked = stated.upper[r] * np.exp(-potentials[r] / stated.price[r])
            found[r] = stated.price[r] * _entropy(sums[r], asked)
        # an equality that holds has no gap, whatever its potential
        elif word != "hard" or stated.lower[r] != stated.upper[r]:
            found[r] = _gap_beside(stated, r, word, sums[r], potentials[r])
    return found


def _gap_beside(stated: MixedStatement, r: int, word: str, v: Any, t: Any) -> Any:
    """Return the gap of a row with an interval, possibly of one point; `size` is how far v lies beyond t's end."""
    # a positive potential pushes the sum up, towards its lower end
    end = stated.lower[r] if t > 0 else stated.upper[r]
    push = abs(t)
    off = (end - v if t > 0 else v - end) if np.isfinite(end) else np.longdouble(-np.inf)
    price, variance = stated.price[r], stated.variance[r]
    # beyond the price the conjugate of the cost is infinite: such a potential proves nothing
    if word in ("l1", "huber") and push > price * (1 + 4 * _UNIT):
        return np.inf
    if push == 0:
        return _row_costs(stated, np.full(len(stated.penalty), v, dtype=np.longdouble))[r] if word != "hard" else 0
    if word == "hard":
        return -push * min(off, 0)
    size = max(off, 0)
    inner = -push * min(off, 0)  # v inside of the interval, or beyond its other end
    other = _row_costs(stated, np.full(len(stated.penalty), v, dtype=np.longdouble))[r] if off < 0 else 0
    if word == "l1":
        return (price - push) * size + inner + other
    if off < 0:
        return inner + other + variance * push**2 / 2
    if word == "quadratic" or size <= price * variance:
        return (size - variance * push) ** 2 / (2 * variance)
    return (price - push) * (size - variance * (price + push) / 2)


def _feasible(
    stated: MixedStatement, masses: LongArray, potentials: LongArray, kept: Any, hard: Any
) -> tuple[LongArray, float]:
    """Return masses moved onto the rows that must hold, by least squares, and what the hard ones lack over their sums.

    A row with a potential belongs to the end that this pushes to, unless it pays its full price for missing it.
    """
    f = np.asarray(stated.reference, dtype=np.longdouble)
    # cells give about as their x' says (notes/one_dual.md, equations 3 to 5); any weights lead to a feasible point
    give = masses if stated.distance == "kl" else f
    if stated.distance == "logit":
        give = _logit_rate(stated) * (masses - stated.cell_lower) * (stated.cell_upper - masses)
    # cells at a bound stay there
    inside = kept & (masses > stated.cell_lower) & (masses < stated.cell_upper)
    weight = np.where(inside, give, 0).astype(np.float64)
    absolute = np.array([word == "l1" for word in stated.penalty])
    # an l1 row is missed only at its full price: below it the answer meets it
    tied = hard | (absolute & (np.abs(potentials) < np.asarray(stated.price) * (1 - 4 * _UNIT)))
    end = np.where(potentials > 0, stated.lower, stated.upper)
    exact = tied & (np.asarray(stated.lower == stated.upper) | ((potentials != 0) & np.isfinite(end)))
    sizes = _times(abs(stated.coefficients), np.abs(masses)) + np.where(np.isfinite(end), np.abs(end), 0)
    sizes = np.where(sizes > 0, sizes, 1)
    feasible, left = masses.copy(), np.inf
    for _ in range(_REFINEMENTS):
        sums = _times(stated.coefficients, feasible)
        miss = np.where(exact, sums - np.where(exact, end, 0), np.where(tied, _missed(stated, sums), 0))
        left = float((np.where(hard, np.abs(miss), 0) / sizes).max(initial=0))
        if float((np.abs(miss) / sizes).max(initial=0)) <= 4 * np.finfo(np.longdouble).eps:
            break
        active = np.flatnonzero(exact | (miss != 0))
        own = stated.coefficients[active]
        system = (own @ sparse.diags_array(weight) @ own.T).toarray()
        # a unit diagonal, as rows of any units may stand side by side
        scale = 1 / np.sqrt(np.where(system.diagonal() > 0, system.diagonal(), 1))
        wanted = scale * -miss[active].astype(np.float64)
        # rows may depend on each other: the least-norm solution does not mind
        solved = np.linalg.lstsq(system * scale[:, None] * scale, wanted, rcond=1e-13)[0]
        feasible = feasible + weight * _times(own.T.tocsr(), (scale * solved).astype(np.longdouble))
        feasible = np.clip(feasible, stated.cell_lower, stated.cell_upper)
    return feasible, left


def _distance(stated: MixedStatement, gap: float, feasible: LongArray, kept: Any) -> float:
    """Return the largest L1 distance of `feasible` from the answer that a gap allows (notes/one_dual.md, 14)."""
    if stated.distance == "linear":
        return float(np.sqrt(2 * gap * np.asarray(stated.reference)[kept].sum()))
    if stated.distance == "logit":
        width = np.asarray(stated.cell_upper - stated.cell_lower)
        return float(np.sqrt(gap * (_logit_rate(stated) * width)[kept].sum() / 2))
    return 2 * gap / 3 + float(np.sqrt(4 * gap * gap / 9 + 2 * float(feasible.sum()) * gap))
