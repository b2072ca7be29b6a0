"""What rows of any kind cost, and by how much a potential misses being the slope of that cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

UNIT = float(np.finfo(np.float64).eps)
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


def measure_misses(stated: MixedStatement, sums: LongArray) -> LongArray:
    """Return by how much each sum is above its interval, negative below."""
    lower, upper = (np.asarray(end, dtype=np.longdouble) for end in (stated.lower, stated.upper))
    return np.where(sums < lower, sums - lower, np.maximum(sums - upper, 0))


def entropy(p: Any, q: Any) -> Any:
    """Return p log(p / q) - p + q."""
    w = np.where(q > 0, (p - q) / np.where(q > 0, q, 1), 0)
    # the series of (1 + w) log(1 + w) - w, whose closed form cancels for small w
    near = w * w * (0.5 - w * (1 / np.longdouble(6) - w * (1 / np.longdouble(12) - w / 20)))
    exact = np.where(w > -1, (1 + w) * np.log1p(np.maximum(w, -1)), 0) - w
    return np.where(q > 0, q * np.where(np.abs(w) < 1e-4, near, exact), np.where(p > 0, np.inf, 0))


def row_costs(stated: MixedStatement, sums: LongArray) -> LongArray:
    """Return what each row pays for its sum, in nats times mass."""
    miss, found = measure_misses(stated, sums), np.zeros(len(sums), dtype=np.longdouble)
    for r, word in enumerate(stated.penalty):
        size = abs(miss[r])
        if word == "kl":
            found[r] = stated.price[r] * entropy(sums[r], np.longdouble(stated.upper[r]))
        elif word == "l1":
            found[r] = stated.price[r] * size
        elif word == "quadratic":
            found[r] = size**2 / (2 * stated.variance[r])
        elif word == "huber":
            bend = stated.price[r] * stated.variance[r]
            inner = min(size, bend)
            found[r] = inner**2 / (2 * stated.variance[r]) + stated.price[r] * (size - inner)
    return found


def row_gaps(stated: MixedStatement, sums: LongArray, potentials: LongArray) -> LongArray:
    """Return w(v) + sup over v' of (-t v' - w(v')) + t v of every row, in forms in which nothing cancels."""
    found = np.zeros(len(sums), dtype=np.longdouble)
    for r, word in enumerate(stated.penalty):
        if word == "kl":
            # the sum that the row's price would choose at this potential: the slope of the cost is -t there
            asked = stated.upper[r] * np.exp(-potentials[r] / stated.price[r])
            found[r] = stated.price[r] * entropy(sums[r], asked)
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
    if push == 0:
        return row_costs(stated, np.full(len(stated.penalty), v, dtype=np.longdouble))[r] if word != "hard" else 0
    if word == "hard":
        return -push * min(off, 0)
    size = max(off, 0)
    inner = -push * min(off, 0)  # v inside of the interval, or beyond its other end
    other = row_costs(stated, np.full(len(stated.penalty), v, dtype=np.longdouble))[r] if off < 0 else 0
    if word == "l1":
        return (price - push) * size + inner + other
    if off < 0:
        return inner + other + variance * push**2 / 2
    if word == "quadratic" or size <= price * variance:
        return (size - variance * push) ** 2 / (2 * variance)
    return (price - push) * (size - variance * (price + push) / 2)


def choose_sums(stated: MixedStatement, sums: LongArray, potentials: LongArray) -> tuple[LongArray, LongArray]:
    """Return the sums that the prices of soft rows choose at these potentials, and how these fall with a potential.

    NaN and 0 for rows that have no such sum: hard ones, those at the price of a linear cost, and those without a
    potential whose sum is inside of their interval, where all are alike.
    """
    asked, gives = (np.full(len(stated.penalty), fill, dtype=np.longdouble) for fill in (np.nan, 0.0))
    for r, word in enumerate(stated.penalty):
        t = potentials[r]
        end = stated.lower[r] if t > 0 or (t == 0 and sums[r] < stated.lower[r]) else stated.upper[r]
        if word == "kl":
            asked[r] = stated.upper[r] * np.exp(-t / stated.price[r])
            gives[r] = asked[r] / stated.price[r]
            continue
        bends = word == "quadratic" or (word == "huber" and abs(t) < stated.price[r] * (1 - 4 * UNIT))
        if bends and np.isfinite(end) and (t != 0 or not stated.lower[r] <= sums[r] <= stated.upper[r]):
            asked[r], gives[r] = end - stated.variance[r] * t, stated.variance[r]
    return asked, gives
