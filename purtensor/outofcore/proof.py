"""What is proved of a point on disk: the basis of its parts together, and the passes over them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray
from purtensor.kernels.newton.proof import UNIT
from purtensor.outofcore.engine import map_each, map_reduce
from purtensor.outofcore.part_forests import At, Closings, Grown, Met, join_met
from purtensor.outofcore.proof_passes import grow, move, prove
from purtensor.outofcore.slab_store import SlabStore
from purtensor.solving.basis import MOST_CLOSING, UPWARD, find_pivots, invert_and_verify
from purtensor.solving.spaces.space import NEGLIGIBLE, Sums

_MOST_ROUTED = 3

_LITTLE = 2.0**-10
"""The correction on the basis is usually at most this share of the distance."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredBasis:
    """The profiles of all parts that close cycles, and the inverse of what these sum to in the rows that they meet.

    Those rows are the ones beside the forests, and of those that couple the parts the independent ones: `kept` marks
    them among all of both.
    """

    at: At
    kept: BoolArray
    closings: Closings
    inverse: FloatArray
    sizes: FloatArray


def start_at(store: SlabStore, token: str, outer: FloatArray, scale: float, change: str) -> At:
    """Return a point with the constraints of its forests, before it is known which rows these leave."""
    scopes = {k: set(store.scopes[k]) for k in store.inside}
    widest = tuple(
        k
        for k, own in scopes.items()
        if not any(own < other or (own == other and n < k) for n, other in scopes.items())
    )
    return At(store, widest[:2], widest[2:], {}, 0, token, outer, scale, change)


def find_basis(at: At) -> StoredBasis | None:
    """Return a basis of heavy profiles, the forests of the parts being written; None where none is found."""
    store = at.store
    # each part proposes more than are needed in all: its heaviest may depend on those of others
    most = 4 * len(store.outer_targets) + 64
    while True:
        grown = map_each(grow, store.parts, at, most)
        ends = np.cumsum([0, *(len(one.extras) for one in grown)])
        extras = {n: (int(begin), one.extras) for n, begin, one in zip(store.parts, ends[:-1], grown, strict=True)}
        at = at._replace(extras=extras, extra_count=int(ends[-1]))
        kept = np.concatenate([np.ones(at.extra_count, dtype=bool), store.kept])
        wanted = int(np.count_nonzero(kept))
        # the matrix of the cycles is dense, and inverted by the driver
        if wanted > MOST_CLOSING:
            return None
        if not wanted:
            return StoredBasis(at, kept, {}, np.empty((0, 0)), np.empty((0, 0)))
        basis = _invert(at, kept, grown)
        if basis is not None or all(one.is_all for one in grown):
            return basis
        # the heaviest had not the full rank: more candidates, unless every part has proposed all that it has
        most *= 8


def _invert(at: At, kept: BoolArray, grown: list[Grown]) -> StoredBasis | None:
    """Return the basis of the best of these profiles; None where no inverse is verified."""
    wanted = int(np.count_nonzero(kept))
    vectors = np.zeros((sum(len(one.weights) for one in grown), wanted))
    end = 0
    for number, one in zip(at.store.parts, grown, strict=True):
        begin, extras = at.extras[number]
        own = slice(end, end := end + len(one.weights))
        vectors[own, begin : begin + len(extras)] = one.vectors[:, : len(extras)]
        vectors[own, at.extra_count :] = one.vectors[:, len(extras) :]
    if len(vectors) < wanted:
        return None
    # scaled by their masses, so that elimination prefers heavy profiles, which stay positive when corrected
    chosen = find_pivots(vectors * np.concatenate([one.weights for one in grown])[:, None])
    inverted = invert_and_verify(np.ascontiguousarray(vectors[chosen].T))
    if inverted is None:
        return None
    numbers = np.repeat(np.array(at.store.parts), [len(one.weights) for one in grown])[chosen]
    profiles = np.concatenate([one.profiles for one in grown])[chosen]
    closings = {int(n): (profiles[numbers == n], np.flatnonzero(numbers == n)) for n in np.unique(numbers)}
    return StoredBasis(at, kept, closings, *inverted)


def prove_change(basis: StoredBasis, change: str, total: float) -> Sums:
    """Return what a change of the basis's point proves, the basis taking what it leaves of the misses."""
    at = basis.at._replace(change=change)
    met = map_reduce(move, join_met, at.store.parts, at, None, basis.closings)
    found = _prove(at, basis, met, total)
    for _ in range(_MOST_ROUTED):
        # a further round costs two passes over the disk, and would not change the bound's first digits
        if found.feasible and found.rest <= _LITTLE * found.distance:
            break
        values = basis.inverse @ (_sum_coupled_misses(at, met)[0] - met.next)[basis.kept]
        met = map_reduce(move, join_met, at.store.parts, at, values, basis.closings)
        better = _prove(at, basis, met, total)
        if not better.rest < found.rest:
            break
        found = better
    return found


def _sum_coupled_misses(at: At, met: Met) -> tuple[FloatArray, FloatArray]:
    """Return what the rows that cycles meet are missing, and no less than the sizes of that."""
    targets = np.concatenate([np.zeros(at.extra_count), at.store.outer_targets])
    # two-sum: these misses cancel to the last digits, and `low` has what `high` loses
    high = targets + met.high
    back = high - targets
    lost = (targets - (high - back)) + (met.high - back)
    missed = high + (lost + met.low)
    unsure = met.unsure + 4.0 * UNIT * (np.abs(missed) + np.abs(lost) + np.abs(met.low))
    return missed, (np.abs(missed) + unsure) * UPWARD


def _prove(at: At, basis: StoredBasis, met: Met, total: float) -> Sums:
    missed, sizes = _sum_coupled_misses(at, met)
    bounds = basis.sizes @ (sizes + met.reach)[basis.kept] * UPWARD
    # the moves' own change of the total: TV compares distributions, in which it is scaled away
    away = -met.moved / met.mass
    found = np.array(map_each(prove, at.store.parts, at, bounds, basis.closings, away))
    upper, gap, distance, rest = (math.fsum(found[:, n].tolist()) * UPWARD / total for n in range(4))
    distance = 0.5 * (distance + 2.0 * rest + 2.0**-40 * (distance + abs(met.moved) / total))
    l1, outer = met.l1.copy(), missed[at.extra_count :]
    for k, rows in at.store.outer_blocks.items():
        l1[k] = np.abs(outer[rows]).sum()
    # the scaling to the total rounds once more than the potentials say
    gap = (math.sqrt(gap) + UNIT) ** 2 if gap >= 0.0 else gap
    feasible = not found[:, 5].any() and float(l1.max()) <= NEGLIGIBLE * total
    # what profiles that a face leaves out may still have (notes/certificate.md, equation 11)
    beside = at.store.face_mass / total * UPWARD
    full = beside == 0.0 and not found[:, 6].any()
    return Sums(upper, gap, distance + beside, rest, float(found[:, 4].max()) + UNIT, feasible, full, beside)
