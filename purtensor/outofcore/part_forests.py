"""The forests of parts, on which bounds are proved, and what is left on the rows that cycles meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.newton.proof import UNIT
from purtensor.kernels.rank.heaviest_forest import reach, route
from purtensor.outofcore.array_file import read_packed
from purtensor.outofcore.part import Part
from purtensor.outofcore.slab_store import SlabStore
from purtensor.solving.basis import UPWARD

BASIS, MOVES = "change.basis", "change.moves"
"""The states in which a part's forest lies, and where the moves of its masses."""

Closings = Mapping[int, tuple[IntArray, IntArray]]
"""For each part its profiles that close cycles, and which of the rows that couple the parts each one meets."""


class At(NamedTuple):
    """A point, scaled to the targets' total, and the state of the change that is made to it.

    Attributes
    ----------
    pair, others
        The one or two constraints within parts whose graph has the forests, and those that these do not imply.
    extras, extra_count
        For each part the rows of `others` that are to be met beside its forest, from which place on they count among
        all such rows, and how many these are.
    """

    store: SlabStore
    pair: tuple[int, ...]
    others: tuple[int, ...]
    extras: Mapping[int, tuple[int, IntArray]]
    extra_count: int
    token: str
    outer: FloatArray
    scale: float
    change: str

    def select_coupled(self, number: int, part: Part, rows: FloatArray) -> FloatArray:
        """Return what a part says of the rows that cycles meet: of those beside all forests, and that couple parts."""
        found = np.zeros(self.extra_count)
        # extra rows belong to one part, in a stretch of its own; the coupled rows are shared
        begin, own = self.extras[number]
        found[begin : begin + len(own)] = rows[own]
        return np.concatenate([found, rows[part.outer_rows()]])


class Grown(NamedTuple):
    """What a part has beside its forest.

    Attributes
    ----------
    extras
        The rows within the part that the forest does not meet.
    weights, profiles, vectors
        Profiles that close cycles: their masses, their numbers, and what the cycles sum to in the extra rows and in
        the kept rows that couple the parts.
    is_all
        Whether there are no others to choose from.
    """

    extras: IntArray
    weights: FloatArray
    profiles: IntArray
    vectors: IntArray
    is_all: bool


class Met(NamedTuple):
    """What moves leave on the rows that cycles meet, over some parts.

    Attributes
    ----------
    l1
        The misses within the parts, one per constraint.
    high, low, unsure
        In twice the digits, and by how much they can be off: the misses within the parts, minus the sums of the others.
    next, reach
        What the forests' own answer to the misses within the parts adds to these rows, and no less than its sizes.
    moved, mass
        The sums of the moves and of the masses.
    """

    l1: FloatArray
    high: FloatArray
    low: FloatArray
    unsure: FloatArray
    next: FloatArray
    reach: FloatArray
    moved: float
    mass: float


def join_met(parts: list[Met]) -> Met:
    """Return what several parts leave together; what rounding takes from the high digits is kept in the low ones."""
    total = parts[0]
    for part in parts[1:]:
        high = total.high + part.high
        # two-sum (Knuth): what the addition loses is known exactly
        back = high - total.high
        low = total.low + part.low + ((total.high - (high - back)) + (part.high - back))
        # `low` itself is summed with rounding, of its own sizes
        unsure = total.unsure + part.unsure + 4.0 * UNIT * (np.abs(total.low) + np.abs(part.low) + UNIT * np.abs(high))
        following, reached = total.next + part.next, total.reach + part.reach
        moved, mass = total.moved + part.moved, total.mass + part.mass
        total = Met(total.l1 + part.l1, high, low, unsure, following, reached, moved, mass)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """A part's forest: the graph's nodes of each profile, and its leaves in the order in which they go."""

    first: IntArray
    second: IntArray
    first_rows: int
    nodes: int
    edge: IntArray
    leaf: IntArray
    other: IntArray

    @classmethod
    def read(cls, at: At, number: int, part: Part) -> Forest:
        """Return what `grow` has written."""
        found = read_packed(at.store.state(BASIS, number)).arrays
        # the graph follows from the part: only the forest is stored
        return cls(*build_graph(part, at.pair), found["edge"], found["leaf"], found["other"])

    def gather_misses(self, part: Part, pair: tuple[int, ...], rows: FloatArray) -> FloatArray:
        """Return what the nodes miss, of what all rows miss."""
        own = [rows[part.block(k)] for k in pair]
        # the node above all rows of a single constraint misses nothing
        return np.concatenate([*own, np.zeros(self.nodes - sum(map(len, own)))])

    def ends(self, profiles: IntArray) -> tuple[IntArray, IntArray]:
        """Return the two nodes of profiles."""
        return self.first[profiles], self.first_rows + self.second[profiles]

    def route_misses(self, nodes: FloatArray) -> FloatArray:
        """Return changes of the masses that meet the misses of the nodes; these are used up."""
        found = np.zeros(len(self.first))
        route(self.edge, self.leaf, self.other, nodes, found)
        return found

    def bound_changes(self, nodes: FloatArray) -> FloatArray:
        """Return no less than the sizes of the changes for misses of these sizes; these are used up."""
        found = np.zeros(len(self.first))
        reach(self.edge, self.leaf, self.other, nodes, found)
        return found * UPWARD


def build_graph(part: Part, pair: tuple[int, ...]) -> tuple[IntArray, IntArray, int, int]:
    """Return the nodes of each profile in the graph of two constraints, how many are rows of the first, and how many.

    The rows of one constraint alone hang on a node that is not a row.
    """
    sizes = [part.block(k).stop - part.block(k).start for k in pair]
    first = part.index[pair[0]].astype(np.int64)
    second = part.index[pair[1]].astype(np.int64) if len(sizes) > 1 else np.zeros_like(first)
    return first, second, sizes[0], sizes[0] + (sizes[1] if len(sizes) > 1 else 1)
