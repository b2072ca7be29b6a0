"""Exact ranks by two constraints as a graph, and the others on its cycles.

Two constraints are a bipartite graph (rows are nodes, profiles are edges): their rank is the number of rows less the
number of components. What the other constraints add is the rank of the cycles, summed over their rows: whole
numbers, small and few (notes/independence.md, equation 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.rank.echelon import lift
from purtensor.constraints.rank.exact_rank import Proof, RankProfile, Sampled, Structure, blocks, rank_profile
from purtensor.constraints.system import System, rows_of
from purtensor.kernels.rank.forest import cycle_vectors, forest_edges, mark_broken, root_forest, spread_potentials


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """A spanning forest of two constraints' rows, rooted at rows of the second.

    Attributes
    ----------
    constraints
        The two constraints; node n is row n of the first, or row n - `first_rows` of the second.
    in_forest
        Shape (M,): the profiles that are edges of the forest; every other closes one cycle with them.
    sequence
        The supported nodes, parents before children.
    parent, via, depth
        For each node its parent (-1 at a root), the profile that leads there, and its depth.
    """

    constraints: tuple[int, int]
    first: IntArray
    second: IntArray
    first_rows: int
    in_forest: BoolArray
    sequence: IntArray
    parent: IntArray
    via: IntArray
    depth: IntArray

    @property
    def roots(self) -> IntArray:
        """The nodes without a parent, rows of the second constraint that follow from the rest of their component."""
        return np.flatnonzero(self.parent == -1)  # -2 where a node has no support


def grow_forest(system: System, first: int, second: int, supported: BoolArray) -> Forest:
    """Return a spanning forest of the graph of two constraints."""
    one, two = system.index[first], system.index[second]
    rows = np.diff(system.offsets)
    first_rows, nodes = int(rows[first]), int(rows[first] + rows[second])
    in_forest = np.zeros(system.profiles, dtype=bool)
    # union-find: every row begins as its own leader
    leader, edges, count = np.arange(nodes), np.empty(nodes, dtype=np.int64), 0
    for begin, end in blocks(system.profiles):
        count = forest_edges(one, two, first_rows, begin, end, leader, in_forest, edges, count)
    has_support = np.concatenate([supported[system.block(first)], supported[system.block(second)]])
    sequence, parent, via, depth = (np.zeros(nodes, dtype=np.int64) for _ in range(4))
    reached = root_forest(one, two, first_rows, edges[:count], has_support, sequence, parent, via, depth)
    return Forest((first, second), one, two, first_rows, in_forest, sequence[:reached], parent, via, depth)


@dataclass(frozen=True, slots=True, eq=False)
class Coupling(Sampled):
    """What the cycles of a forest sum to in the rows of the other constraints.

    Attributes
    ----------
    rows
        The row number of each place.
    places
        Shape (D,): the place of each row, -1 for rows left out.
    index, starts
        Of the other constraints: the row of every profile, and where the rows of each begin.
    closing
        The profiles outside of the forest, each of which closes one cycle.
    """

    forest: Forest
    rows: IntArray
    places: IntArray
    index: IntArray
    starts: IntArray
    closing: IntArray

    @property
    def size(self) -> int:
        """How many rows the cycles are summed over."""
        return len(self.rows)

    def of(self, profiles: IntArray) -> IntArray:
        """Return the sums over every place along the cycles that the profiles close, shape (profiles, size)."""
        forest = self.forest
        vectors = np.empty((len(profiles), self.size), dtype=np.int32)
        cycle_vectors(
            profiles,
            forest.first,
            forest.second,
            forest.first_rows,
            forest.parent,
            forest.via,
            forest.depth,
            self.places,
            self.index,
            self.starts,
            vectors,
        )
        return vectors

    def broken(self, weights: IntArray, modulus: int) -> BoolArray:
        """Mark the profiles where the weighted places are not combination of the two constraints, mod `modulus`."""
        return self._solve(weights, modulus)[0]

    def _solve(self, weights: IntArray, modulus: int) -> tuple[BoolArray, IntArray]:
        forest = self.forest
        broken = np.empty(len(forest.in_forest), dtype=bool)
        potentials = np.zeros(len(forest.parent), dtype=np.int64)
        spread_potentials(
            weights,
            modulus,
            forest.sequence,
            forest.parent,
            forest.via,
            self.places,
            self.index,
            self.starts,
            potentials,
        )
        for begin, end in blocks(len(broken)):
            mark_broken(
                weights,
                modulus,
                forest.first,
                forest.second,
                forest.first_rows,
                begin,
                end,
                self.places,
                self.index,
                self.starts,
                potentials,
                broken,
            )
        return broken, potentials

    def bound(self, weights: IntArray) -> int:
        """Return what no potential of the weights, and no weighted sum of a cycle, passes in size."""
        # a cycle is two paths up to a common node, and the profile that closes it
        longest = 2 * int(self.forest.depth.max(initial=0)) + 2
        return longest * len(self.starts) * int(np.abs(weights).max(initial=0))

    def potentials(self, weights: IntArray) -> IntArray:
        """Return the whole-number potentials, one per node, of weights that hold on every cycle.

        At every profile the weighted places sum to the potentials of its two nodes; those of the roots are 0.
        """
        bound = self.bound(weights)
        return lift(lambda prime: self._solve((weights % prime).astype(np.int64), prime)[1], lambda _: bound)


def couple(system: System, forest: Forest, others: Sequence[int], rows: IntArray) -> Coupling:
    """Return the cycles of a forest on the given rows of the other constraints, in the order given."""
    places = np.full(system.rows, -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    closing = np.flatnonzero(~forest.in_forest)
    side_by_side = len(others) > 1 and list(others) == list(range(others[0], others[-1] + 1))
    # a view where that is possible: of many constraints a copy is as large as the problem
    chosen = slice(others[0], others[-1] + 1) if side_by_side else list(others)
    return Coupling(forest, rows, places, system.index[chosen], system.offsets[:-1][chosen], closing)


@dataclass(frozen=True, slots=True, eq=False)
class Graph(Structure):
    """The structure of two constraints as a graph, and of the spanning rows of the others on its cycles.

    Attributes
    ----------
    node_rows
        The row of each node; independent are all but one a component, and what the cycles add.
    profile
        Which rows of the coupling are independent; None where no row is left for the cycles.
    """

    forest: Forest
    node_rows: IntArray
    coupling: Coupling
    profile: RankProfile | None

    def proofs(self) -> Iterator[Proof]:
        """Yield the roots, then the dependent rows of the coupling."""
        yield from self._components()
        if self.profile is None:
            return
        numbers = np.concatenate([self.coupling.rows, self.node_rows])
        for place, weights in self.profile.explain(self.coupling):
            # at every profile the weighted rows sum to the potentials of its two nodes
            terms = np.concatenate([-weights, self.coupling.potentials(weights)])
            terms[place] = 0
            used = np.flatnonzero(terms)
            yield Proof(int(numbers[place]), int(weights[place]), numbers[used], terms[used])

    def _components(self) -> Iterator[Proof]:
        """Yield the roots: both constraints of the graph have the same sum over each component."""
        forest = self.forest
        component = np.full(len(forest.parent), -1, dtype=np.int64)
        for node in forest.sequence:
            parent = forest.parent[node]
            component[node] = node if parent < 0 else component[parent]
        members = forest.sequence[np.argsort(component[forest.sequence], kind="stable")]
        begins = np.flatnonzero(np.diff(component[members], prepend=-1))
        for nodes in np.split(members, begins[1:]):
            root = component[nodes[0]]
            rest = np.sort(nodes[nodes != root])
            # the rows of either constraint sum to the component's mass: root = first - rest of second
            signs = np.where(rest < forest.first_rows, 1, -1)
            yield Proof(int(self.node_rows[root]), 1, self.node_rows[rest], signs)


def graph_of(system: System, order: Sequence[int], supported: BoolArray, rows: IntArray) -> Graph:
    """Return the graph of the first two constraints, with the given rows of the others on its cycles."""
    forest = grow_forest(system, order[0], order[1], supported)
    node_rows = rows_of(system.offsets, order[:2])
    coupling = couple(system, forest, order[2:], rows)
    profile = rank_profile(coupling) if len(rows) else None
    independent = np.zeros(system.rows, dtype=bool)
    independent[node_rows] = supported[node_rows]
    # notes/independence.md, equation 3: one row a component follows from the others
    independent[node_rows[forest.roots]] = False
    if profile is not None:
        independent[rows[profile.independent]] = True
    method = "graph" if profile is None else "graph and cycles"
    return Graph(method, independent, forest.constraints, True, forest, node_rows, coupling, profile)
