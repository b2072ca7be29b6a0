"""Exact ranks in numpy: forests by scipy's graphs, level by level, and elimination modulo a prime row by row."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.kernels.rank import forest, heaviest_forest, slab_elimination


def _forest_edges(
    first: IntArray,
    second: IntArray,
    first_rows: int,
    begin: int,
    end: int,
    leader: IntArray,
    in_forest: BoolArray,
    edges: IntArray,
    count: int,
) -> int:
    """Kruskal's algorithm on edges weighted by their numbers: the earliest edges, as one after the other would be."""
    found = _span(first[begin:end], second[begin:end], first_rows, np.arange(end - begin), leader)
    in_forest[begin:end] = False
    in_forest[begin + found] = True
    edges[count : count + len(found)] = begin + found
    return count + len(found)


def _span(first: IntArray, second: IntArray, first_rows: int, rank: IntArray, leader: IntArray) -> IntArray:
    """Return the edges, by rank, that join what `leader` has not joined, and join it: those of lowest rank."""
    nodes = len(leader)
    one, two = leader[first], leader[first_rows + second.astype(np.int64)]
    # of parallel edges the one of lowest rank counts, and none within a component
    by_rank = np.argsort(rank, kind="stable")
    pair = np.minimum(one, two) * nodes + np.maximum(one, two)
    earliest = by_rank[np.unique(pair[by_rank], return_index=True)[1]]
    earliest = earliest[one[earliest] != two[earliest]]
    tree = minimum_spanning_tree(
        csr_array((rank[earliest] + 1.0, (one[earliest], two[earliest])), shape=(nodes, nodes))
    )
    component = connected_components(tree, directed=False)[1]
    lowest = np.full(component.max() + 1, nodes)
    # the lowest node leads, as the compiled form has it
    np.minimum.at(lowest, component[leader], leader)
    leader[:] = lowest[component[leader]]
    return np.asarray(by_rank[np.sort(tree.data.astype(np.int64)) - 1])


def _heaviest_edges(
    masses: FloatArray,
    first: IntArray,
    second: IntArray,
    first_rows: int,
    part_ptr: IntArray,
    leader: IntArray,
    in_forest: BoolArray,
    edges: IntArray,
) -> int:
    rank = np.empty(len(masses), dtype=np.int64)
    rank[np.argsort(-masses, kind="stable")] = np.arange(len(masses))
    found = np.sort(_span(first, second, first_rows, rank, leader))
    in_forest[found] = True
    edges[: len(found)] = found
    return len(found)


def _root_forest(
    first: IntArray,
    second: IntArray,
    first_rows: int,
    edges: IntArray,
    supported: BoolArray,
    sequence: IntArray,
    parent: IntArray,
    via: IntArray,
    depth: IntArray,
) -> int:
    """Root every tree at its last node, and reach the others level by level, in all trees at once."""
    nodes = len(parent)
    one, two = first[edges].astype(np.int64), first_rows + second[edges].astype(np.int64)
    ends, others, numbers = np.concatenate([one, two]), np.concatenate([two, one]), np.concatenate([edges, edges])
    order = np.argsort(ends, kind="stable")
    others, numbers = others[order], numbers[order]
    start = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=nodes))])
    graph = csr_array((np.ones(len(edges)), (one, two)), shape=(nodes, nodes))
    component = connected_components(graph, directed=False)[1]
    last = np.full(component.max() + 1, -1)
    of_second = first_rows + np.flatnonzero(supported[first_rows:])
    np.maximum.at(last, component[of_second], of_second)
    parent[:] = -2
    level = np.sort(last[last >= 0])[::-1]
    parent[level], depth[level] = -1, 0
    reached = 0
    while len(level):
        sequence[reached : reached + len(level)] = level
        reached += len(level)
        counts = start[level + 1] - start[level]
        # the places of all edges at the nodes of this level, one node after the other
        at = np.repeat(start[level] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        # in a forest no two nodes of a level reach the same one
        fresh = parent[others[at]] == -2
        above, at = np.repeat(level, counts)[fresh], at[fresh]
        level = others[at]
        parent[level], via[level], depth[level] = above, numbers[at], depth[above] + 1
    return reached


def _cycle_vectors(
    profiles: IntArray,
    first: IntArray,
    second: IntArray,
    first_rows: int,
    parent: IntArray,
    via: IntArray,
    depth: IntArray,
    places: IntArray,
    index: IntArray,
    starts: IntArray,
    vectors: IntArray,
) -> None:
    """Go up from both ends of every cycle at once, the deeper end first, until they meet."""
    vectors[:] = 0

    def add(who: IntArray, edge: IntArray, sign: IntArray) -> None:
        for k in range(len(index)):
            place = places[starts[k] + index[k, edge].astype(np.int64)]
            kept = place >= 0
            np.add.at(vectors, (who[kept], place[kept]), sign[kept])

    who = np.arange(len(profiles))
    add(who, profiles, np.ones(len(profiles), dtype=np.int64))
    ends = np.array([first[profiles], first_rows + second[profiles].astype(np.int64)], dtype=np.int64)
    signs = np.full((2, len(profiles)), -1)
    who = who[ends[0] != ends[1]]
    while len(who):
        side = np.where(depth[ends[0, who]] >= depth[ends[1, who]], 0, 1)
        node = ends[side, who]
        add(who, via[node], signs[side, who])
        ends[side, who] = parent[node]
        signs[side, who] *= -1
        who = who[ends[0, who] != ends[1, who]]


def _reduce_in_place(values: FloatArray, prime: float) -> None:
    np.mod(values, prime, out=values)


def _echelon_in_place(vectors: FloatArray, prime: float, leads: IntArray) -> None:
    modulus = int(prime)
    for n in range(len(vectors)):
        for m in np.flatnonzero(leads[:n] >= 0):
            if vectors[n, leads[m]] != 0.0:
                vectors[n] = np.mod(vectors[n] - vectors[n, leads[m]] * vectors[m], prime)
        where = np.flatnonzero(vectors[n])
        leads[n] = where[0] if len(where) else -1
        if leads[n] < 0:
            continue
        vectors[n] = np.mod(vectors[n] * float(pow(int(vectors[n, leads[n]]), -1, modulus)), prime)
        others = np.flatnonzero(vectors[:n, leads[n]])
        factors = vectors[others, leads[n]]
        vectors[others] = np.mod(vectors[others] - factors[:, None] * vectors[n], prime)


FORMS = {
    forest.forest_edges: _forest_edges,
    forest.root_forest: _root_forest,
    forest.cycle_vectors: _cycle_vectors,
    heaviest_forest.heaviest_edges: _heaviest_edges,
    slab_elimination.reduce_in_place: _reduce_in_place,
    slab_elimination.echelon_in_place: _echelon_in_place,
}
