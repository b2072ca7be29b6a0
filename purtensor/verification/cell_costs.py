"""What cells cost, how they respond and give way, and their gaps, in extended precision: for `mixed`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.verification.row_costs import LongArray, MixedStatement, entropy


def logit_rate(stated: MixedStatement) -> LongArray:
    """Return how fast each cell between its bounds responds to its sum of potentials, at its reference."""
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
    return np.asarray((entropy(p - low, q - low) + entropy(high - p, high - q)) / logit_rate(stated))


def cell_costs(stated: MixedStatement, masses: LongArray) -> LongArray:
    """Return how far each cell is from its reference, by the distance that was requested."""
    return _between(stated, masses, np.asarray(stated.reference, dtype=np.longdouble))


def _response(stated: MixedStatement, z: LongArray) -> Any:
    f = np.asarray(stated.reference, dtype=np.longdouble)
    low, high = (np.asarray(end, dtype=np.longdouble) for end in (stated.cell_lower, stated.cell_upper))
    if stated.distance == "kl":
        return np.clip(f * np.exp(z), low, high)
    if stated.distance == "linear":
        return np.clip(f * (1 + z), low, high)
    return low + (high - low) / (1 + (high - f) / (f - low) * np.exp(-logit_rate(stated) * z))


def _slope(stated: MixedStatement, x: LongArray) -> Any:
    f = np.asarray(stated.reference, dtype=np.longdouble)
    return np.log(x / f) if stated.distance == "kl" else (x - f) / f


def cell_gaps(stated: MixedStatement, feasible: LongArray, z: LongArray) -> LongArray:
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
    rate, width = logit_rate(stated), np.asarray(stated.cell_upper - stated.cell_lower, dtype=np.longdouble)
    f = np.asarray(stated.reference, dtype=np.longdouble)
    s = rate * z + np.log((f - stated.cell_lower) / (stated.cell_upper - f))
    gap = np.zeros_like(z)
    for share, sign in ((feasible - stated.cell_lower, -1), (stated.cell_upper - feasible, 1)):
        # u log(u / u'), u' = width / (1 + exp(-s)) of one side and width / (1 + exp(s)) of the other
        gap += np.where(
            share > 0, share * (np.log(np.where(share > 0, share, 1) / width) + np.logaddexp(0, sign * s)), 0
        )
    return gap / rate


def give_way(stated: MixedStatement, masses: LongArray, kept: Any) -> Iterator[FloatArray]:
    """Yield by how much cells give way: as the slope of their response says, and by no more than their room."""
    f = np.asarray(stated.reference, dtype=np.longdouble)
    # cells give about as their x' says (notes/one_dual.md, equations 3 to 5); any weights lead to a feasible point
    give = masses if stated.distance == "kl" else f
    if stated.distance == "logit":
        give = logit_rate(stated) * (masses - stated.cell_lower) * (stated.cell_upper - masses)
    room = np.minimum(masses - stated.cell_lower, stated.cell_upper - masses)
    # cells at a bound stay there
    inside = kept & (room > 0)
    yield np.where(inside, give, 0).astype(np.float64)
    if (room < give)[inside].any():
        yield np.where(inside, np.minimum(give, room), 0).astype(np.float64)
