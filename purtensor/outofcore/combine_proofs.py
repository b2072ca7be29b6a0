"""One proof that nothing meets the constraints, out of several: what emptied profiles, and what refutes the rest.

What earlier weights prove is zero only to the rounding of the targets. Where much of them is needed to hold on the
profiles that they emptied, that rounding may be more than the contradiction: so the sum is weighed on all profiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from purtensor._typing import IntArray
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.check_certificate import LARGEST, Guess, Proven, spread_weights
from purtensor.outofcore.engine import map_each, map_reduce
from purtensor.outofcore.face_parts import codes_of_rows, labelled_codes
from purtensor.outofcore.part import read_part
from purtensor.outofcore.passes import START
from purtensor.outofcore.proof_step import Step
from purtensor.outofcore.slab_store import SlabStore, make_folders
from purtensor.outofcore.unreachable_targets import BareRowError
from purtensor.tables.domain import Domain

Terms = tuple[tuple[int, Path], ...]
"""Kept weights, each with how often they are taken."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """What weights that were written come to on a part: b.t and b.|t|, the largest, and how many C^T t are positive."""

    value: float
    absolute: float
    largest: int
    positive: int


def refuting(store: SlabStore, domain: Domain, steps: Sequence[Step], last: Path) -> Step | None:
    """Return the step that refutes the constraints on all profiles; None where rounding may be all that it proves.

    Parameters
    ----------
    store
        The whole problem, of which `steps` emptied profiles, one after the other.
    last
        The weights that refute what they left.
    """
    terms: Terms = ((1, last),)
    largest = _largest(store, last)
    # the last step first: its weights hold only on what the steps before it left, which comes next
    for step in reversed(steps):
        times = map_reduce(lacking_pass, max, store.parts, step.store, terms, step.folder)
        largest += times * step.proven.largest
        # before the sum is made, which might overflow 64 bits
        if largest > LARGEST:
            return None
        terms = (*terms, (times, step.folder)) if times else terms
    folder = store.folder / "verdict" / "combined"
    make_folders(folder.parent, (folder.name,))
    kept = map_each(keep_sum, store.parts, store, terms, folder)
    outer = _outer_weights(store, folder)
    rows = store.outer_targets * outer
    value = (math.fsum(one.value for one in kept) + math.fsum(rows.tolist())) / store.total
    absolute = (math.fsum(one.absolute for one in kept) + float(np.abs(rows).sum())) / store.total
    guess = Guess(START, np.zeros(0), np.zeros(0), False, 1.0)  # of none: they are sums
    proven = Proven(
        store, guess, outer, value, absolute, max(one.largest for one in kept), sum(one.positive for one in kept)
    )
    return Step(domain, folder, proven) if proven.infeasible else None


def _largest(store: SlabStore, folder: Path) -> int:
    found = (read_packed(folder / f"{number:06d}").arrays["weights"] for number in store.parts)
    return max(int(np.abs(weights).max(initial=0)) for weights in found)


def _outer_weights(store: SlabStore, folder: Path) -> IntArray:
    number = store.parts[0]
    part = read_part(store.part(number), store.kept)
    weights: IntArray = read_packed(folder / f"{number:06d}").arrays["weights"]
    return weights[part.outer_rows()]


def _sum(number: int, terms: Terms) -> IntArray:
    found = [times * read_packed(folder / f"{number:06d}").arrays["weights"] for times, folder in terms]
    summed: IntArray = np.sum(found, axis=0)
    return summed


def lacking_pass(number: int, store: SlabStore, terms: Terms, folder: Path) -> int:
    """Return how often the weights of a step are to be added to others, so that these hold on what the step emptied."""
    part = read_part(store.part(number), store.kept)
    costs = spread_weights(part, _sum(number, terms))
    base = read_packed(folder / f"{number:06d}").arrays["costs"]
    # only profiles that this step emptied can be mended by it; others are left to earlier steps
    lacking = (costs < 0) & (base > 0)
    # floor division of negative numbers rounds away from 0, so that the multiple suffices
    return int((-(costs[lacking] // base[lacking])).max(initial=0))


def keep_sum(number: int, store: SlabStore, terms: Terms, folder: Path) -> Kept:
    """Write the sum of kept weights and what C^T t it has on a part; return what the part's own rows come to."""
    part = read_part(store.part(number), store.kept)
    weights = _sum(number, terms)
    costs = spread_weights(part, weights)
    write_packed(folder / f"{number:06d}", {"weights": weights, "costs": costs}, {})
    inner = weights.copy()
    inner[part.outer_rows()] = 0
    products = part.targets * inner
    return Kept(
        math.fsum(products.tolist()),
        float(np.abs(products).sum()),
        int(np.abs(weights).max(initial=0)),
        int(np.count_nonzero(costs > 0)),
    )


def keep_bare(number: int, store: SlabStore, domain: Domain, bare: BareRowError, folder: Path) -> None:
    """Write -1 on the row that has a target and no profile any more, 0 on all others."""
    part = read_part(store.part(number), store.kept)
    rows = codes_of_rows(store, domain, part, labelled_codes(store, number)[0], bare.constraint)
    weights: IntArray = np.zeros(len(part.targets), dtype=np.int64)
    found = np.all([own == code for own, code in zip(rows, bare.codes, strict=True)], axis=0)
    weights[part.block(bare.constraint)] = np.where(found, -1, 0)
    write_packed(folder / f"{number:06d}", {"weights": weights}, {})
