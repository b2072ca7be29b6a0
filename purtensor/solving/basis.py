"""A basis of profiles: as few as can meet any misses, taken among the heaviest.

Whatever a table misses, changing the profiles of a basis repairs it exactly: C restricted to them has an inverse on the
independent rows, which does not depend on the masses, so nothing that is ill-conditioned in these enters. Two
constraints make a graph, of which a heaviest spanning forest is a basis; misses are routed along its trees by
additions. Each row that the other constraints add needs one more profile, and with it the cycle that this closes in the
forest. What these cycles sum to in those rows is a small matrix of whole numbers, inverted in float64 and verified
(notes/certificate.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.rank.independence import constraint_order, independent_rows
from purtensor.kernels.rank.forest import cycle_vectors
from purtensor.kernels.rank.heaviest_forest import heaviest_edges, list_leaves, reach, route, tree_parents
from purtensor.solving.problem import Problem

# the largest relative error of one rounding
UNIT = 2.0**-53

MOST_CLOSING = 1500
"""The most rows beside the forest's for which a matrix is inverted."""

UPWARD = 1.0 + 1e-8
"""Makes up for the rounding of sums of up to 2^26 numbers, none of them negative."""


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """A spanning forest as its leaves in the order in which they go: profile, leaf and the node that it hangs on."""

    blocks: tuple[slice, ...]
    edge: IntArray
    leaf: IntArray
    other: IntArray

    def gather_misses(self, rows: FloatArray) -> FloatArray:
        """Return what the forest's nodes miss, of what all rows miss; one that is not a row misses nothing."""
        # the last entry is the node that is not a row, on which the rows of a single constraint hang
        return np.concatenate([*(rows[block] for block in self.blocks), np.zeros(1)])


@dataclass(frozen=True, slots=True, eq=False)
class Closing:
    """The profiles that close a cycle each, for the rows that the forest leaves.

    Attributes
    ----------
    rows
        Those rows, shape (k,).
    profiles, nodes
        The profiles, shape (k,), and their two nodes in the forest, shape (2, k).
    inverse, sizes
        The inverse of the matrix of the cycles' sums in the rows, and no less than the sizes of the exact inverse.
    """

    rows: IntArray
    profiles: IntArray
    nodes: IntArray
    inverse: FloatArray
    sizes: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """Profiles that meet any misses of the independent rows, in one way."""

    problem: Problem
    forest: Forest
    others: list[int]
    closing: Closing | None

    def change(self, missed: FloatArray) -> FloatArray:
        """Return changes of the masses that make up for the misses, shape (M,), as exact as float64 makes them."""
        found, forest = np.zeros(self.problem.system.profiles), self.forest
        nodes = forest.gather_misses(missed)
        route(forest.edge, forest.leaf, forest.other, nodes.copy(), found)
        if self.closing is None:
            return found
        closing = self.closing
        # what the rows beside the forest miss once the forest has met its own rows
        values = closing.inverse @ (missed[closing.rows] - self._sums(found)[closing.rows])
        found[:] = 0.0
        for ends in closing.nodes:
            # .at, since several closing profiles may share a node: a plain -= would keep one of them
            np.subtract.at(nodes, ends, values)
        route(forest.edge, forest.leaf, forest.other, nodes, found)
        found[closing.profiles] = values
        return found

    def sizes(self, missed: FloatArray) -> FloatArray:
        """Return what the sizes of the exact changes cannot pass, shape (M,), where no miss passes these sizes."""
        found, forest = np.zeros(self.problem.system.profiles), self.forest
        nodes = forest.gather_misses(missed)
        # the passes of `change` with sizes in place of numbers: nothing cancels, so the bound holds for all signs
        reach(forest.edge, forest.leaf, forest.other, nodes.copy(), found)
        if self.closing is not None:
            closing = self.closing
            values = closing.sizes @ (missed[closing.rows] + self._sums(found)[closing.rows]) * UPWARD
            found[:] = 0.0
            for ends in closing.nodes:
                np.add.at(nodes, ends, values)
            reach(forest.edge, forest.leaf, forest.other, nodes, found)
            found[closing.profiles] = values
        return np.asarray(found * UPWARD)

    def _sums(self, change: FloatArray) -> FloatArray:
        """Return the sums over the rows that the forest leaves, of a change of the forest's profiles; 0 elsewhere."""
        system, edges = self.problem.system, self.forest.edge
        values, sums = change[edges], np.zeros(system.rows)
        for k in self.others:
            rows = system.block(k)
            sums[rows] = np.bincount(system.index[k][edges], values, minlength=rows.stop - rows.start)
        return sums


def heaviest_basis(problem: Problem, masses: FloatArray) -> Basis | None:
    """Return a basis of heavy profiles; None where none is found, or too many rows remain beside a forest's."""
    system = problem.system
    key = None if problem.slabs is None else problem.slabs.key
    independent = independent_rows(system, key).mask(system.rows)
    order = constraint_order(system, key)
    grown = _grow(problem, masses, order, independent)
    if grown is None:
        return None
    others = list(order[2:])
    rows = (
        np.concatenate(
            [np.arange(system.offsets[k], system.offsets[k + 1])[independent[system.block(k)]] for k in others]
        )
        if others
        else np.empty(0, dtype=np.int64)
    )
    # what all other constraints say follows from the first two
    if not len(rows):
        return Basis(problem, grown.forest, others, None)
    closing = _close(problem, masses, others, grown, rows) if len(rows) <= MOST_CLOSING else None
    return None if closing is None else Basis(problem, grown.forest, others, closing)


@dataclass(frozen=True, slots=True, eq=False)
class _Grown:
    """A forest, the profiles in it, and its graph: the node of each profile in both constraints."""

    forest: Forest
    inside: BoolArray
    first: IntArray
    second: IntArray
    first_rows: int
    nodes: int

    def parents(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the parent of each node, the profile that leads there, and its depth."""
        parent, via, depth = (np.zeros(self.nodes, dtype=np.int64) for _ in range(3))
        tree_parents(self.forest.edge, self.forest.leaf, self.forest.other, parent, via, depth)
        return parent, via, depth


def _grow(problem: Problem, masses: FloatArray, order: tuple[int, ...], independent: BoolArray) -> _Grown | None:
    """Return a heaviest forest of the first two constraints; None where the rows left out are not its roots."""
    system, slabs = problem.system, problem.slabs
    alone = len(order) == 1  # then its rows hang on a node that is not a row
    blocks = [system.block(k) for k in order[:2]]
    first_rows = blocks[0].stop - blocks[0].start
    second = np.zeros_like(system.index[order[0]]) if alone else system.index[order[1]]
    is_root = np.concatenate([~independent[block] for block in blocks] + [np.ones(1, dtype=bool)] * alone)
    # then no tree leaves its slab, and the edges are sorted slab by slab
    within = slabs is not None and not alone and set(order[:2]) <= set(slabs.inside)
    part_ptr = slabs.slab_ptr if slabs is not None and within else np.array([0, system.profiles])
    inside, edges = np.zeros(system.profiles, dtype=bool), np.empty(system.profiles, dtype=np.int64)
    first = system.index[order[0]]
    count = heaviest_edges(masses, first, second, first_rows, part_ptr, np.arange(len(is_root)), inside, edges)
    degree, links = np.zeros(len(is_root), dtype=np.int64), np.zeros(len(is_root), dtype=np.int64)
    edge, leaf, other = (np.empty(count, dtype=np.int64) for _ in range(3))
    if list_leaves(first, second, first_rows, edges[:count], is_root, degree, links, edge, leaf, other) != count:
        return None
    return _Grown(Forest(tuple(blocks), edge, leaf, other), inside, first, second, first_rows, len(is_root))


def _close(problem: Problem, masses: FloatArray, others: list[int], grown: _Grown, rows: IntArray) -> Closing | None:
    """Return heavy profiles whose cycles reach the rows that the forest leaves; None where no inverse is verified."""
    system, wanted = problem.system, len(rows)
    places = np.full(system.rows, -1, dtype=np.int64)
    places[rows] = np.arange(wanted)
    # the forest's own edges close no cycle
    weight = np.where(grown.inside, 0.0, masses)
    left = int(np.count_nonzero(weight))
    parents = grown.parents()
    # the heaviest few usually suffice; elimination costs tried * wanted^2
    tried = min(left, 4 * wanted + 64)
    while tried >= wanted:
        profiles = np.sort(np.argpartition(-weight, tried - 1)[:tried])
        vectors = np.empty((tried, wanted), dtype=np.int32)
        cycle_vectors(
            profiles,
            grown.first,
            grown.second,
            grown.first_rows,
            *parents,
            places,
            system.index[others],
            system.offsets[others],
            vectors,
        )
        # times the masses, so that pivoting prefers heavy profiles: they stay positive when they are changed
        chosen = find_pivots(np.asarray(vectors * weight[profiles][:, None], dtype=np.float64))
        # without the masses: small whole numbers are exact in float64, so the proof is about A itself
        inverted = invert_and_verify(vectors[chosen].T.astype(np.float64))
        if inverted is not None:
            taken = profiles[chosen]
            nodes = np.array([grown.first[taken], grown.first_rows + grown.second[taken].astype(np.int64)])
            return Closing(rows, taken, nodes.astype(np.int64), *inverted)
        if tried == left:
            break
        tried = min(left, 8 * tried)
    return None


def find_pivots(matrix: FloatArray) -> IntArray:
    """Return as many rows of a tall matrix as it has columns, which elimination finds independent: large ones."""
    order = np.arange(len(matrix))
    # LAPACK returns its interchanges one after another, not a permutation
    for place, other in enumerate(scipy.linalg.lapack.dgetrf(matrix)[1]):
        order[[place, other]] = order[[other, place]]
    return order[: matrix.shape[1]]


def invert_and_verify(matrix: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return an inverse and no less than the sizes of the exact one's entries; None where none is proved to exist.

    With E = |I - X A|, computed entry by entry and enlarged by what rounding can be, and a norm of E below 1, A is
    regular and |A^-1| <= |X| + E (1 - |E|)^-1 max |X| (notes/certificate.md, equation 7).
    """
    with np.errstate(all="ignore"):
        inverse, failed = scipy.linalg.lapack.dgetri(*scipy.linalg.lapack.dgetrf(matrix)[:2])
        if failed or not np.isfinite(inverse).all():
            return None
        count = len(matrix)
        sizes = np.abs(inverse)
        # a product of `count` terms is off by count * 2^-53 of their sizes; doubled to be safe
        error = np.abs(np.eye(count) - inverse @ matrix) + (2 * count + 4) * UNIT * (sizes @ np.abs(matrix))
        row_sums = error.sum(axis=1) * (1.0 + 2 * count * UNIT)
        largest = float(row_sums.max())
        # also where it is NaN; any norm below 1 proves that A is regular, and 1/2 keeps the bound tight
        if not largest < 0.5:
            return None
        # A^-1 = (X A)^-1 X, and (X A)^-1 - I is at most E / (1 - |E|) in every row's sum
        more = np.outer(row_sums / (1.0 - largest), sizes.max(axis=0))
    return inverse, np.asarray((sizes + more) * UPWARD)
