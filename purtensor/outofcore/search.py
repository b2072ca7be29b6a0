"""Newton's method on a cut problem as a search for evidence: a positive solution, or weights that prove something.

What each step tells is that of the search in memory (notes/feasibility.md, equations 3 to 5), in one pass over the
parts; candidates are weighed in another.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import StoreError
from purtensor.kernels.feasibility.sums import repair_price
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.spread import spread
from purtensor.outofcore.array_file import read_own
from purtensor.outofcore.check_certificate import Guess, Proven, weighed
from purtensor.outofcore.checkpoint import PartsPoint, recalled
from purtensor.outofcore.coupling_rank import relations_of
from purtensor.outofcore.engine import map_each, map_reduce
from purtensor.outofcore.part import extended_from
from purtensor.outofcore.parts_space import PartsChange, PartsSpace
from purtensor.outofcore.passes import START, Tally, added, opened_part
from purtensor.outofcore.slab_store import SlabStore
from purtensor.outofcore.unreachable_targets import refuse_bare
from purtensor.solving.certificate import best_change
from purtensor.solving.line_search import search
from purtensor.solving.loop import State, begin
from purtensor.solving.spaces.space import NEGLIGIBLE
from purtensor.tables.domain import Domain

_ITERATIONS = 80
_SWEEPS = 3
_NEAR_ONE = 0.9
_STANDING = 1e-9
_FINE = 2.0**44


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A point and the change that makes it a positive solution, to rounding."""

    stand: PartsPoint
    change: PartsChange


def searched(store: SlabStore, domain: Domain) -> Proven | Solved | None:
    """Return what Newton's steps lead to, None where they end without a proof; their states are left in the store.

    After each step there is a checkpoint: a search that broke off goes on from it, to the same bits.

    Raises
    ------
    BareRowError
        A row that couples the parts has a positive target and no profile.
    """
    space = PartsSpace(store)
    state = _recalled(store)
    if state is None:
        state = _begin(space, domain)
        broken = _broken_relation(space)
        if broken is not None:
            return broken
    while state.iterations < _ITERATIONS:
        point = state.point
        direction = space.direction(point, 0.0)
        told = map_reduce(evidence_pass, added, store.parts, store, point.token, point.outer, direction.solved)
        lowest, highest = -told.largest["lowest"], told.largest["highest"]
        positive = told.largest["least"] < 0.0  # else rounding to 0 hides what has mass
        if not np.isfinite([lowest, highest, told.sums["gain"]]).all():
            return None
        if lowest > -_NEAR_ONE:
            change = best_change(space, point)
            met = change is not None and change.lowest > -1.0 and change.left / store.total <= NEGLIGIBLE
            if change is not None and met and positive:
                return Solved(point, change)
            if max(highest, -lowest) < _STANDING:
                return None
        for scale in _scales(store, told, direction.solved):
            found = weighed(store, Guess(point.token, point.outer, direction.solved, True, scale))
            if found is not None and (found.infeasible or found.empties):
                return found
        moved = search(space, point, direction)
        if moved is None:
            return None
        state.point = moved[0]
        state.iterations += 1
        space.keep(state)
    return None


def _recalled(store: SlabStore) -> State[PartsPoint] | None:
    """Return where an earlier search broke off; None where none did, or where it left something that is not whole."""
    if not store.checkpoint.exists():
        return None
    try:
        state, _ = recalled(store)
        map_each(require_state, store.parts, store, state.point.token)
    except StoreError:
        store.checkpoint.unlink(missing_ok=True)
        return None
    return state


def require_state(number: int, store: SlabStore, token: str) -> None:
    """Raise StoreError where the state of a part is not whole."""
    read_own(store.state(token, number))


def _begin(space: PartsSpace, domain: Domain) -> State[PartsPoint]:
    """Return the state after some sweeps, from which the search in memory begins, too."""
    point = space.start()
    refuse_bare(space.store, point.tally, domain)
    left = _SWEEPS
    while left:
        point, made = space.warm_up(point, None, left)
        left -= made
        here = space.store.state(point.token, 0).parent
        for state in here.parent.iterdir():  # those of other points, also of those that were only tried
            if state != here:
                shutil.rmtree(state, ignore_errors=True)
    return begin(space, point)


def evidence_pass(number: int, store: SlabStore, token: str, outer: FloatArray, solved: FloatArray) -> Tally:
    """Return what Newton's direction tells on a part.

    b.d and what it costs to lower it until C^T d <= 0, over the part's own rows; the extremes of C^T d and of d; the
    smallest mass.
    """
    part, potentials = opened_part(store, number, token, outer)
    masses = part.masses(potentials)
    rhs = part.inner_miss(part.sums(masses))
    with np.errstate(all="ignore"):
        direction = extended_from(part, store.kept, masses, rhs, solved)
    change = np.empty_like(masses)
    spread(part.index, part.offsets, direction, change)
    direction[part.outer_rows()] = 0.0
    highest = np.empty_like(direction)
    price = min(
        float(repair_price(change, part.index[k], part.targets[part.block(k)], highest[part.block(k)]))
        for k in part.inside
    )
    return Tally(
        {"gain": inner_product(part.targets, direction), "price": price},
        {
            "lowest": -float(change.min()),
            "highest": float(change.max()),
            "size": float(np.abs(direction).max()),
            "least": -float(masses.min()),
        },
    )


def _scales(store: SlabStore, told: Tally, solved: FloatArray) -> Iterator[float]:
    """Yield the scales at which Newton's direction may be whole numbers that prove something, the simplest first."""
    size = max(told.largest["size"], float(np.abs(solved).max(initial=0.0)))
    gain = told.sums["gain"] + float(store.outer_targets[store.kept] @ solved)
    if gain > 1e-12 * size and gain > told.sums["price"]:
        yield from (1.0 / size, 2.0 / size, 3.0 / size, _FINE / size)
    elif told.largest["lowest"] > _NEAR_ONE:
        yield 1.0


def _broken_relation(space: PartsSpace) -> Proven | None:
    """Return the proof by a row that follows from others on this support, but has another target than they say."""
    store = space.store
    relations = relations_of(store)
    if not relations:
        return None
    everything = replace(store, kept=np.ones_like(store.kept))
    outer = space.start().outer
    for relation in relations:
        for sign in (1.0, -1.0):
            found = weighed(everything, Guess(START, outer, sign * relation.astype(np.float64), False, 1.0))
            if found is not None and found.infeasible:
                return found
    return None
