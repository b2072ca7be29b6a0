"""Whole numbers on disk that refute constraints or empty profiles, whether they do, and one proof out of several.

What earlier weights prove is zero only to the rounding of the targets. Where much of them is needed to hold on the
profiles that they emptied, that rounding may be more than the contradiction: so the sum is weighed on all profiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from purtensor._typing import IntArray, Table
from purtensor.feasibility.farkas import exact_terms, spread_whole
from purtensor.feasibility.targets import ROUNDING
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.check_certificate import (
    LARGEST,
    Proven,
    Weighed,
    add_outer_rows,
    add_weights,
    weigh_inner_rows,
)
from purtensor.outofcore.engine import map_each, map_reduce
from purtensor.outofcore.part import Part, codes_of_rows, read_labels, read_part
from purtensor.outofcore.restrict import outer_weights
from purtensor.outofcore.slab_store import SlabStore
from purtensor.outofcore.targets import BareRowError
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.store.write import Piece


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Whole numbers t, kept on disk part by part, that refute the constraints or empty profiles.

    They hold on the profiles that the steps before left.
    """

    domain: Domain
    folder: Path
    proven: Proven

    @property
    def store(self) -> SlabStore:
        """The problem that the step is about."""
        return self.proven.store

    def parts(self) -> Iterator[tuple[Part, list[IntArray], IntArray]]:
        """Yield every part, the codes of its profiles, and the weights of its rows."""
        for number in self.store.parts:
            codes, count, _ = read_labels(self.store, number)
            part = read_part(self.store, number)
            yield part, [code[:count] for code in codes], read_packed(self.folder / f"{number:06d}").arrays["weights"]

    def chunks(self) -> Iterator[tuple[Table, ...]]:
        """Yield the weights part by part: a table for each constraint, on the rows that have a profile there."""
        for part, codes, weights in self.parts():
            tables = []
            for k, scope in enumerate(self.store.scopes):
                rows, first = np.unique(part.index[k], return_index=True)
                columns = [codes[self.domain.position(name)][first] for name in scope]
                tables.append(
                    sparse_table(self.domain.select(scope), columns, weights[part.block(k)][rows], name="certificate")
                )
            yield tuple(tables)

    def list_emptied(self) -> Iterator[Piece]:
        """Yield the profiles that the weights empty, with the reference's values, part by part."""
        for part, codes, weights in self.parts():
            chosen = spread_whole(part.index, part.offsets, weights) > 0
            if chosen.any():
                values = np.ldexp(part.reference[chosen], self.store.reference_exponent)
                yield [code[chosen] for code in codes], values

    def list_left(self) -> Iterator[list[IntArray]]:
        """Yield the codes of the profiles that the weights do not empty, part by part."""
        for part, codes, weights in self.parts():
            stays = spread_whole(part.index, part.offsets, weights) == 0
            yield [code[stays] for code in codes]

    def holds(self) -> bool:
        """Return whether the weights prove what is said of them, recomputed in whole numbers and fractions."""
        value, absolute = Fraction(0), Fraction(0)
        positive = largest = 0
        for part, _, weights in self.parts():
            costs = spread_whole(part.index, part.offsets, weights)
            # C^T t >= 0 everywhere, with the same numbers on the rows that all parts share
            if costs.min() < 0 or not np.array_equal(weights[part.outer_rows()], self.proven.outer):
                return False
            positive += int(np.count_nonzero(costs > 0))
            # rows that couple the parts are in every part, and count once, after the loop
            inner = np.ones(len(weights), dtype=bool)
            inner[part.outer_rows()] = False
            terms = exact_terms(part.targets[inner], weights[inner])
            value, absolute = value + sum(terms), absolute + sum(map(abs, terms))
            largest = max(largest, int(np.abs(weights).max()))
        terms = exact_terms(self.store.outer_targets, self.proven.outer)
        value, absolute = value + sum(terms), absolute + sum(map(abs, terms))
        total = Fraction(self.store.total)
        # as `Proven.allowed`, but in fractions, without its allowance for sums of floats
        allowed = ROUNDING * (absolute if positive else max(absolute, largest * total))
        # b.t < 0 refutes; b.t = 0 to rounding empties the profiles of positive C^T t
        return value < -allowed or (positive > 0 and abs(value) <= 2 * allowed)


Terms = tuple[tuple[int, Path], ...]
"""Kept weights, each with how often they are taken."""


def refute_everywhere(store: SlabStore, domain: Domain, steps: Sequence[Step], last: Path, largest: int) -> Step | None:
    """Return the step that refutes the constraints on all profiles; None where rounding may be all that it proves.

    Parameters
    ----------
    store
        The whole problem, of which `steps` emptied profiles, one after the other.
    last, largest
        The weights that refute what they left, and the largest absolute one.
    """
    terms: Terms = ((1, last),)
    # the last step first: its weights hold only on what the steps before it left, which comes next
    for step in reversed(steps):
        times = map_reduce(lacking_pass, max, store.parts, step.store, terms, step.folder)
        largest += times * step.proven.largest
        # before the sum is made, which might overflow 64 bits
        if largest > LARGEST:
            return None
        terms = (*terms, (times, step.folder)) if times else terms
    folder = store.folder / "verdict" / "combined"
    kept = add_weights(map_each(keep_sum, store.parts, store, terms, folder))
    proven = add_outer_rows(store, outer_weights(store, folder), kept)
    return Step(domain, folder, proven) if proven.infeasible else None


def _sum_weights(number: int, terms: Terms) -> IntArray:
    found = [times * read_packed(folder / f"{number:06d}").arrays["weights"] for times, folder in terms]
    summed: IntArray = np.sum(found, axis=0)
    return summed


def lacking_pass(number: int, store: SlabStore, terms: Terms, folder: Path) -> int:
    """Return how often the weights of a step are to be added to others, so that these hold on what the step emptied."""
    part = read_part(store, number)
    costs = spread_whole(part.index, part.offsets, _sum_weights(number, terms))
    base = read_packed(folder / f"{number:06d}").arrays["costs"]
    # only profiles that this step emptied can be mended by it; others are left to earlier steps
    lacking = (costs < 0) & (base > 0)
    # floor division of negative numbers rounds away from 0, so that the multiple suffices
    return int((-(costs[lacking] // base[lacking])).max(initial=0))


def keep_sum(number: int, store: SlabStore, terms: Terms, folder: Path) -> Weighed:
    """Write the sum of kept weights and what C^T t it has on a part; return its sums over the part's own rows."""
    part = read_part(store, number)
    weights = _sum_weights(number, terms)
    costs = spread_whole(part.index, part.offsets, weights)
    write_packed(folder / f"{number:06d}", {"weights": weights, "costs": costs})
    return weigh_inner_rows(part, weights, costs, 0.0, np.zeros(len(store.outer_targets), dtype=np.int64))


def keep_bare(number: int, store: SlabStore, domain: Domain, bare: BareRowError, folder: Path) -> None:
    """Write -1 on the row that has a target and no profile any more, 0 on all others."""
    part = read_part(store, number)
    rows = codes_of_rows(store, domain, part, read_labels(store, number)[0], bare.constraint)
    weights: IntArray = np.zeros(len(part.targets), dtype=np.int64)
    found = np.all([own == code for own, code in zip(rows, bare.codes, strict=True)], axis=0)
    weights[part.block(bare.constraint)] = np.where(found, -1, 0)
    write_packed(folder / f"{number:06d}", {"weights": weights})
