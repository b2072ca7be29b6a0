"""Two constraints as a bipartite graph: rows are nodes, profiles are edges, forests are independent columns.

Nodes are numbered 0 .. A - 1 for the rows of the first constraint and from A on for those of the second.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def _root(leader: IntArray, node: int) -> int:
    while leader[node] != node:
        # path halving: trees stay flat without a second pass
        leader[node] = leader[leader[node]]
        node = leader[node]
    return node


@compiled
def forest_edges(
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
    """Mark which of the profiles begin .. end - 1 belong to a spanning forest, and append their numbers to `edges`.

    A profile belongs to it when no earlier ones connect its two rows. `leader` starts as 0, 1, 2, ... and is kept
    between calls, as are the `count` edges found so far; returns how many there are now.
    """
    for i in range(begin, end):
        a = _root(leader, int(first[i]))
        b = _root(leader, first_rows + int(second[i]))
        in_forest[i] = a != b
        if a != b:
            # the lower number leads, so that a forest found in several calls is that of one
            leader[max(a, b)] = min(a, b)
            edges[count] = i
            count += 1
    return count


@compiled
def root_forest(
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
    """Root every tree of a forest at its last row of the second constraint; return how many rows have support.

    Writes the supported rows in an order in which parents come before children, and for each row its parent (-1 at
    a root), the profile that leads there, and the depth.
    """
    nodes = parent.size
    start = np.zeros(nodes + 1, dtype=np.int64)
    # counted first: the edges at each node then get a range of one array
    for e in edges:
        start[np.int64(first[e]) + 1] += 1
        start[first_rows + np.int64(second[e]) + 1] += 1
    for n in range(nodes):
        start[n + 1] += start[n]
    filled = start[:-1].copy()
    incident = np.empty(2 * edges.size, dtype=np.int64)
    for e in edges:
        for node in (np.int64(first[e]), first_rows + np.int64(second[e])):
            incident[filled[node]] = e
            filled[node] += 1
    parent[:] = -2
    reached = 0
    # from the last row on: the one that is left out of the independent rows
    for root in range(nodes - 1, first_rows - 1, -1):
        if parent[root] != -2 or not supported[root]:
            continue
        parent[root] = -1
        depth[root] = 0
        sequence[reached] = root
        here = reached
        reached += 1
        # breadth first: `sequence` is the queue, and the order that is returned
        while here < reached:
            node = sequence[here]
            here += 1
            for k in range(start[node], start[node + 1]):
                e = incident[k]
                # the other end: the sum of both less this one
                other = np.int64(first[e]) + first_rows + np.int64(second[e]) - node
                if parent[other] == -2:
                    parent[other] = node
                    via[other] = e
                    depth[other] = depth[node] + 1
                    sequence[reached] = other
                    reached += 1
    return reached


@compiled
def cycle_vectors(
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
    """Write what the cycle that each profile closes sums to in the other constraints' rows, shape (profiles, places).

    Along the cycle profiles count +1 and -1 in turn, so that its sums over both constraints vanish. `places` says
    which place a row has (-1: none); the rows of other constraint k begin at `starts[k]`, `index[k]` are its rows.
    """
    vectors[:] = 0
    for n in range(profiles.size):
        i = profiles[n]
        for k in range(index.shape[0]):
            place = places[starts[k] + index[k, i]]
            if place >= 0:
                vectors[n, place] += 1
        # both ends of the profile climb until they meet; along the way profiles count with changing signs
        one, sign_one = np.int64(first[i]), -1
        two, sign_two = first_rows + np.int64(second[i]), -1
        while one != two:
            # the deeper end first: otherwise one may pass the node where they meet
            if depth[one] >= depth[two]:
                e, sign = via[one], sign_one
                one, sign_one = parent[one], -sign_one
            else:
                e, sign = via[two], sign_two
                two, sign_two = parent[two], -sign_two
            for k in range(index.shape[0]):
                place = places[starts[k] + index[k, e]]
                if place >= 0:
                    vectors[n, place] += sign


@compiled
def spread_potentials(
    weights: IntArray,
    modulus: int,
    sequence: IntArray,
    parent: IntArray,
    via: IntArray,
    places: IntArray,
    index: IntArray,
    starts: IntArray,
    potentials: IntArray,
) -> None:
    """Write potentials, one a node, that sum to the weighted places on the forest's profiles, modulo `modulus`.

    Those of the roots are 0. `weights` has one number a place.
    """
    for s in range(sequence.size):
        node = sequence[s]
        if parent[node] < 0:
            potentials[node] = 0
        else:
            goal = _weight(weights, via[node], places, index, starts)
            # parents come first in the sequence
            potentials[node] = (goal - potentials[parent[node]]) % modulus


@compiled
def mark_broken(
    weights: IntArray,
    modulus: int,
    first: IntArray,
    second: IntArray,
    first_rows: int,
    begin: int,
    end: int,
    places: IntArray,
    index: IntArray,
    starts: IntArray,
    potentials: IntArray,
    broken: BoolArray,
) -> None:
    """Mark which of the profiles begin .. end - 1 have other potentials than the weighted places, mod `modulus`."""
    for i in range(begin, end):
        goal = _weight(weights, i, places, index, starts)
        broken[i] = (goal - potentials[first[i]] - potentials[first_rows + np.int64(second[i])]) % modulus != 0


@compiled
def _weight(weights: IntArray, i: int, places: IntArray, index: IntArray, starts: IntArray) -> int:
    total = 0
    for k in range(index.shape[0]):
        place = places[starts[k] + index[k, i]]
        if place >= 0:
            total += weights[place]
    return total
