"""Whole numbers on the rows of a cut problem, and what they prove: one pass over the parts each.

Weights t with C^T t >= 0 on every profile prove that there is no solution where b.t is negative, and that the profiles
of positive C^T t are empty where it is zero (notes/feasibility.md, equations 1 and 2). Within a part the weights of the
rows that couple the parts are given; those of the other rows are guessed and raised until they do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.feasibility.farkas import spread_whole
from purtensor.feasibility.targets import ROUNDING
from purtensor.kernels.feasibility.sums import raise_to
from purtensor.outofcore.array_file import write_packed
from purtensor.outofcore.engine import map_reduce
from purtensor.outofcore.part import Part, extend_from
from purtensor.outofcore.passes import open_masses
from purtensor.outofcore.slab_store import SlabStore

LARGEST = 2.0**50
"""Weights beyond it are not candidates: sums of some of them have to fit into 64 bits."""

_LARGEST_OF_FLOATS = 2**12
"""With floats for targets, larger weights empty nothing: what rounding leaves b.t may be that much mass."""

_SAFE = 1.0 + 2.0**-4
"""On the allowance for rounding: the sums here are of floats, right to 2^-50 of their absolute terms."""


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """Where weights come from: minus a solution of Newton's equations at a point, times a scale, rounded.

    Attributes
    ----------
    token, outer
        The point.
    solved
        The solution on the kept rows that couple the parts.
    misses
        Whether the parts' own misses are on the right of the equations, else zeros.
    scale
        What the solution is multiplied by.
    """

    token: str
    outer: FloatArray
    solved: FloatArray
    misses: bool
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """The sums of weights over some parts, targets as scaled.

    Attributes
    ----------
    value, absolute
        b.t and b.|t| over the rows of the parts.
    largest
        The largest absolute weight.
    positive
        How many profiles have a positive C^T t.
    price
        What raising the parts' own rows cost of b.t.
    lacking
        For each row that couples the parts, what C^T t lacked at its worst profile before anything was raised.
    """

    value: float
    absolute: float
    largest: int
    positive: int
    price: float
    lacking: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Proven:
    """Weights that hold, C^T t >= 0 on every profile, and what they prove.

    Attributes
    ----------
    store, outer
        What the weights are of; those of the rows that couple the parts.
    value, absolute
        b.t and b.|t|, the total mass being 1.
    largest, positive
        The largest absolute weight, and how many profiles have a positive C^T t.
    guess
        What they were made from; None for sums of weights.
    """

    store: SlabStore
    outer: IntArray
    value: float
    absolute: float
    largest: int
    positive: int
    guess: Guess | None = None

    @property
    def allowed(self) -> float:
        """How far from 0 the value may be and still be rounding of the targets."""
        # where C^T t is 0 everywhere the targets only contradict each other, and their totals may do so by rounding
        share = self.absolute if self.positive else max(self.absolute, float(self.largest))
        return float(ROUNDING) * _SAFE * share

    @property
    def infeasible(self) -> bool:
        """Whether no solution exists."""
        return self.value < -self.allowed

    @property
    def empties(self) -> bool:
        """Whether profiles are empty in every solution."""
        return self.positive > 0 and abs(self.value) <= self.allowed and self.largest <= _LARGEST_OF_FLOATS


def weigh_guess(store: SlabStore, guess: Guess) -> Proven | None:
    """Return what a guess proves, its rows raised where that costs least; None where it is not a number, or nothing."""
    direction = np.zeros(len(store.outer_targets))
    direction[store.kept] = guess.solved
    outer = _round_to_whole(direction, guess.scale)
    first = None if outer is None else _weigh_on_parts(store, guess, outer)
    if outer is None or first is None:
        return None
    found = add_outer_rows(store, outer, first, guess)
    # where nothing was raised there is no price that coupling rows could save
    if found.infeasible or found.empties or not first.price > 0.0:
        return found
    for rows in store.outer_blocks.values():
        raised = outer.copy()
        raised[rows] += first.lacking[rows]
        # raising rows that couple the parts instead may cost less of b.t, as they serve all parts at once
        if float(store.outer_targets[rows] @ first.lacking[rows]) < first.price:
            again = _weigh_on_parts(store, guess, raised)
            if again is not None:
                other = add_outer_rows(store, raised, again, guess)
                if other.infeasible or other.empties:
                    return other
    return found


def _weigh_on_parts(store: SlabStore, guess: Guess, outer: IntArray) -> Weighed | None:
    found: Weighed = map_reduce(weigh_pass, add_weights, store.parts, store, guess, outer)
    return found if math.isfinite(found.value) else None


def add_outer_rows(store: SlabStore, outer: IntArray, found: Weighed, guess: Guess | None = None) -> Proven:
    """Return what weights prove, given their sums over the parts' own rows."""
    terms = store.outer_targets * outer
    value = (found.value + math.fsum(terms.tolist())) / store.total
    absolute = (found.absolute + float(np.abs(terms).sum())) / store.total
    largest = max(found.largest, int(np.abs(outer).max(initial=0)))
    return Proven(store, outer, value, absolute, largest, found.positive, guess)


def _round_to_whole(direction: FloatArray, scale: float) -> IntArray | None:
    """Return minus a direction times a scale, rounded; None where it is not a number or too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        # minus: C^T d <= 0 and b.d > 0 refute (notes/feasibility.md, equation 4), and proofs have C^T t >= 0
        values = np.rint(-direction * scale)
    return values.astype(np.int64) if np.all(np.abs(values) <= LARGEST) else None


def weigh_pass(number: int, store: SlabStore, guess: Guess, outer: IntArray) -> Weighed:
    """Return the sums of the weights of a candidate on a part."""
    part, found = weights_on(number, store, guess, outer)
    if found is None:
        return Weighed(math.nan, math.nan, 0, 0, math.nan, np.zeros_like(outer))
    return weigh_inner_rows(part, *found)


def weigh_inner_rows(part: Part, weights: IntArray, costs: IntArray, price: float, lacking: IntArray) -> Weighed:
    """Return the sums of weights over a part's own rows."""
    inner = np.ones(len(weights), dtype=bool)
    # rows that couple the parts are in every part, and are counted once, by the driver
    inner[part.outer_rows()] = False
    terms = part.targets[inner] * weights[inner]
    return Weighed(
        math.fsum(terms.tolist()),
        float(np.abs(terms).sum()),
        int(np.abs(weights[inner]).max(initial=0)),
        int(np.count_nonzero(costs > 0)),
        price,
        lacking,
    )


def add_weights(parts: list[Weighed]) -> Weighed:
    """Return the sums of weights over several parts."""
    return Weighed(
        math.fsum(one.value for one in parts),
        sum(one.absolute for one in parts),
        max(one.largest for one in parts),
        sum(one.positive for one in parts),
        sum(one.price for one in parts),
        np.maximum.reduce([one.lacking for one in parts]),
    )


def keep_weights(number: int, proven: Proven, folder: Path) -> int:
    """Write the weights of all rows of a part, and C^T t of its profiles, into a folder; return the file's checksum."""
    found = None if proven.guess is None else weights_on(number, proven.store, proven.guess, proven.outer)[1]
    if found is None:
        raise AssertionError("unreachable: what is kept was weighed before")
    return write_packed(folder / f"{number:06d}", {"weights": found[0], "costs": found[1]})


def weights_on(
    number: int, store: SlabStore, guess: Guess, outer: IntArray
) -> tuple[Part, tuple[IntArray, IntArray, float, IntArray] | None]:
    """Return a part, and on it the weights, C^T t, the price of raising, and what the rows that couple parts lack."""
    part, potentials, masses = open_masses(store, number, guess.token, guess.outer)
    # with zeros on the right the guess depends on the rows that couple the parts alone
    rhs = part.inner_miss(part.sums(masses)) if guess.misses else np.zeros_like(potentials)
    # a singular system gives NaN, which `_round_to_whole` refuses
    with np.errstate(all="ignore"):
        direction = extend_from(part, store.kept, masses, rhs, guess.solved)
    weights = _round_to_whole(direction, guess.scale)
    if weights is None:
        return part, None
    # all parts must have the same whole numbers there, whatever each would round to
    weights[part.outer_rows()] = outer
    costs = spread_whole(part.index, part.offsets, weights)
    lacking = np.zeros_like(outer)
    if not len(costs) or costs.min() >= 0:
        return part, (weights, costs, 0.0, lacking)
    for k, rows in store.outer_blocks.items():
        raise_to(lacking[rows], part.index[k], costs)
    choices = []
    for k in part.inside:
        raised = np.zeros(part.block(k).stop - part.block(k).start, dtype=np.int64)
        raise_to(raised, part.index[k], costs)
        choices.append((float(part.targets[part.block(k)] @ raised), k, raised))
    # any one inside constraint can raise every profile: the one that costs the least of b.t
    price, k, raised = min(choices, key=lambda choice: choice[:2])
    weights[part.block(k)] += raised
    return part, (weights, spread_whole(part.index, part.offsets, weights), price, lacking)
