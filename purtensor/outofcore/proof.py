"""What is proved of a point on disk: the basis of its parts together, and the passes over them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.newton.proof import UNIT
from purtensor.outofcore.engine import map_each, map_reduce
from purtensor.outofcore.proof_passes import At, Closings, Met, grow, joined, move, prove
from purtensor.outofcore.slab_store import SlabStore
from purtensor.solving.basis import MOST_CLOSING, UPWARD, pivots, verified_inverse
from purtensor.solving.spaces.space import NEGLIGIBLE, Sums

_MOST_ROUTED = 3

_LITTLE = 2.0**-10
"""What is left to the basis is no more than this share of the distance itself, as a rule."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredBasis:
    """The profiles of all parts that close cycles, and the inverse of what these sum to in the coupling rows."""

    closings: Closings
    inverse: FloatArray
    sizes: FloatArray


def forest_pair(store: SlabStore) -> tuple[int, ...] | None:
    """Return one or two constraints within the parts that imply all others there; None where it takes more.

    The rows of three are no graph, and have no forest.
    """
    scopes = {k: set(store.scopes[k]) for k in store.inside}
    widest = [
        k for k, own in scopes.items()
        if not any(own < other or (own == other and n < k) for n, other in scopes.items())
    ]  # fmt: skip
    return tuple(widest) if 1 <= len(widest) <= 2 else None


def stored_basis(at: At) -> StoredBasis | None:
    """Return a basis of heavy profiles, the forests of the parts being written; None where none is found."""
    store, wanted = at.store, int(np.count_nonzero(at.store.kept))
    if wanted > MOST_CLOSING:
        return None
    most = 4 * wanted + 64
    while True:
        found = map_each(grow, store.parts, at, most)
        weights = np.concatenate([one[0] for one in found])
        profiles = np.concatenate([one[1] for one in found])
        vectors = np.concatenate([one[2] for one in found])
        numbers = np.repeat(np.array(store.parts), [len(one[0]) for one in found])
        if not wanted:
            return StoredBasis({}, np.empty((0, 0)), np.empty((0, 0)))
        if len(weights) >= wanted:
            chosen = pivots(np.asarray(vectors * weights[:, None], dtype=np.float64))
            inverted = verified_inverse(vectors[chosen].T.astype(np.float64))
            if inverted is not None:
                return StoredBasis(_by_part(numbers[chosen], profiles[chosen]), *inverted)
        if all(one[3] for one in found):
            return None
        most *= 8


def _by_part(numbers: IntArray, profiles: IntArray) -> Closings:
    return {int(n): (profiles[numbers == n], np.flatnonzero(numbers == n)) for n in np.unique(numbers)}


def stored_sums(at: At, basis: StoredBasis, total: float) -> Sums:
    """Return what the change of a point proves, the basis taking what it leaves of the misses."""
    store = at.store
    met = map_reduce(move, joined, store.parts, at, None, basis.closings)
    found = _proved(at, basis, met, total)
    for _ in range(_MOST_ROUTED):
        if found.feasible and found.rest <= _LITTLE * found.distance:
            break
        missed, _ = _outer_misses(at, met)
        values = basis.inverse @ (missed - met.next)[store.kept]
        met = map_reduce(move, joined, store.parts, at, values, basis.closings)
        better = _proved(at, basis, met, total)
        if not better.rest < found.rest:
            break
        found = better
    return found


def _outer_misses(at: At, met: Met) -> tuple[FloatArray, FloatArray]:
    """Return what the rows that couple the parts miss, and no less than the sizes of that."""
    high = at.store.outer_targets + met.high
    back = high - at.store.outer_targets
    lost = (at.store.outer_targets - (high - back)) + (met.high - back)
    missed = high + (lost + met.low)
    unsure = met.unsure + 4.0 * UNIT * (np.abs(missed) + np.abs(lost) + np.abs(met.low))
    return missed, (np.abs(missed) + unsure) * UPWARD


def _proved(at: At, basis: StoredBasis, met: Met, total: float) -> Sums:
    store = at.store
    missed, sizes = _outer_misses(at, met)
    bounds = basis.sizes @ (sizes + met.reach)[store.kept] * UPWARD
    away = -met.moved / met.mass
    found = np.array(map_each(prove, store.parts, at, bounds, basis.closings, away))
    upper, gap, distance, rest = (math.fsum(found[:, n].tolist()) * UPWARD / total for n in range(4))
    distance = 0.5 * (distance + 2.0 * rest + 2.0**-40 * (distance + abs(met.moved) / total))
    l1 = met.l1.copy()
    for k, rows in store.outer_blocks.items():
        l1[k] = np.abs(missed[rows]).sum()
    # the scaling to the total rounds once more than the potentials say
    gap = (math.sqrt(gap) + UNIT) ** 2 if gap >= 0.0 else gap
    feasible = not found[:, 5].any() and float(l1.max()) <= NEGLIGIBLE * total
    return Sums(upper, gap, distance, rest, float(found[:, 4].max()) + UNIT, feasible)
