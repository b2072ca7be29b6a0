"""Heaviest spanning forests of two constraints' rows, and what misses flow along them.

Nodes are numbered 0 .. A - 1 for the rows of the first constraint and from A on for those of the second; profiles are
edges. A forest is kept as a sequence of leaves: each has one edge to what is left of its tree, and then goes.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.rank.forest import _root


@compiled
def _sort_by_mass(masses: FloatArray, order: IntArray) -> None:
    """Sort profile numbers by falling mass, both in place: Shell's sort, for parts of some thousand profiles."""
    gap = 1
    while gap < order.size // 8:  # a dozen profiles, as slabs have them, are sorted by insertion alone
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, order.size):
            own, mass = order[i], masses[i]
            j = i
            # strictly: of equal masses the earlier profile stays ahead within a gap
            while j >= gap and masses[j - gap] < mass:
                order[j], masses[j] = order[j - gap], masses[j - gap]
                j -= gap
            order[j], masses[j] = own, mass
        gap //= 3


@compiled
def heaviest_edges(
    masses: FloatArray,
    first: IntArray,
    second: IntArray,
    first_rows: int,
    part_ptr: IntArray,
    leader: IntArray,
    in_forest: BoolArray,
    edges: IntArray,
) -> int:
    """Mark and list the profiles of a heaviest spanning forest; return how many there are.

    The profiles of a part share no row with those of another. `leader` starts as 0, 1, 2, ...; `in_forest` as False.
    """
    count, largest = 0, 0
    for part in range(part_ptr.size - 1):
        largest = max(largest, part_ptr[part + 1] - part_ptr[part])
    order, sorted_masses = np.empty(largest, dtype=np.int64), np.empty(largest)
    for part in range(part_ptr.size - 1):
        begin, end = part_ptr[part], part_ptr[part + 1]
        for n in range(end - begin):
            # a copy: the masses themselves keep their order
            order[n], sorted_masses[n] = begin + n, masses[begin + n]
        _sort_by_mass(sorted_masses[: end - begin], order[: end - begin])
        for n in range(end - begin):
            i = order[n]
            a = _root(leader, int(first[i]))
            b = _root(leader, first_rows + int(second[i]))
            # Kruskal: heaviest first, and none that closes a cycle
            if a != b:
                leader[max(a, b)] = min(a, b)
                in_forest[i] = True
                edges[count] = i
                count += 1
    return count


@compiled
def list_leaves(
    first: IntArray,
    second: IntArray,
    first_rows: int,
    edges: IntArray,
    is_root: BoolArray,
    degree: IntArray,
    links: IntArray,
    edge: IntArray,
    leaf: IntArray,
    other: IntArray,
) -> int:
    """List the edges of a forest such that each ties a leaf to what is left of its tree; return how many went.

    Nodes that are roots are no leaves. `degree` and `links` start as 0, one a node: `links` is the exclusive or of the
    edges that are left at a node, which is the edge itself at a leaf.
    """
    for e in edges:
        for end in (np.int64(first[e]), first_rows + np.int64(second[e])):
            degree[end] += 1
            # at a leaf one edge is left, and the exclusive or of what is left is the edge itself
            links[end] ^= e
    count = 0
    for start in range(degree.size):
        node = np.int64(start)
        while degree[node] == 1 and not is_root[node]:
            e = links[node]
            next_node = np.int64(first[e]) + first_rows + np.int64(second[e]) - node
            edge[count], leaf[count], other[count] = e, node, next_node
            count += 1
            degree[node] = 0
            degree[next_node] -= 1
            links[next_node] ^= e
            # the next node may have become a leaf: the chain is followed at once, without a queue
            node = next_node
    return count


@compiled
def route(edge: IntArray, leaf: IntArray, other: IntArray, missed: FloatArray, change: FloatArray) -> None:
    """Add to `change`, one a profile, what meets the misses of all nodes but roots along the forest.

    `missed`, one a node, is used up.
    """
    for n in range(edge.size):
        value = missed[leaf[n]]
        change[edge[n]] += value
        # leaves come first, so that what a node misses is final when its own turn comes
        missed[other[n]] -= value


@compiled
def reach(edge: IntArray, leaf: IntArray, other: IntArray, missed: FloatArray, change: FloatArray) -> None:
    """Add to `change` the largest sizes of what `route` adds for misses of these sizes; `missed` is used up."""
    for n in range(edge.size):
        value = missed[leaf[n]]
        change[edge[n]] += value
        missed[other[n]] += value


@compiled
def tree_parents(
    edge: IntArray, leaf: IntArray, other: IntArray, parent: IntArray, via: IntArray, depth: IntArray
) -> None:
    """Write, for each leaf of the list, its parent, the profile that leads there, and its depth; roots keep theirs."""
    # from the roots down: the depth above is known
    for n in range(edge.size - 1, -1, -1):
        node = leaf[n]
        parent[node], via[node], depth[node] = other[n], edge[n], depth[other[n]] + 1
