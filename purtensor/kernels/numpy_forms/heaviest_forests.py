"""Heaviest spanning forests without compiled code: one leaf after the other over lists, as rows are few."""

from __future__ import annotations

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.kernels.numpy_forms.forms import Forms
from purtensor.kernels.numpy_forms.ranks import span
from purtensor.kernels.rank import heaviest_forest


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
    found = np.sort(span(first, second, first_rows, rank, leader))
    in_forest[found] = True
    edges[: len(found)] = found
    return len(found)


def _list_leaves(
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
    one, two = first[edges].astype(np.int64), first_rows + second[edges].astype(np.int64)
    places = np.arange(len(edges))
    for ends in (one, two):
        np.add.at(degree, ends, 1)
        np.bitwise_xor.at(links, ends, places)
    both_ends, left, link, rooted = (one + two).tolist(), degree.tolist(), links.tolist(), is_root.tolist()
    found: list[tuple[int, int, int]] = []
    for start in range(len(left)):
        node = start
        while left[node] == 1 and not rooted[node]:
            place = link[node]
            next_node = both_ends[place] - node
            found.append((place, node, next_node))
            left[node] = 0
            left[next_node] -= 1
            link[next_node] ^= place
            node = next_node
    count = len(found)
    listed = np.array(found, dtype=np.int64).reshape(count, 3)
    edge[:count], leaf[:count], other[:count] = edges[listed[:, 0]], listed[:, 1], listed[:, 2]
    return count


def _route(edge: IntArray, leaf: IntArray, other: IntArray, missed: FloatArray, change: FloatArray) -> None:
    left, values = missed.tolist(), []
    for node, next_node in zip(leaf.tolist(), other.tolist(), strict=True):
        value = left[node]
        values.append(value)
        left[next_node] -= value
    missed[:] = left
    change[edge] += values  # no edge is there twice


def _reach(edge: IntArray, leaf: IntArray, other: IntArray, missed: FloatArray, change: FloatArray) -> None:
    left, values = missed.tolist(), []
    for node, next_node in zip(leaf.tolist(), other.tolist(), strict=True):
        value = left[node]
        values.append(value)
        left[next_node] += value
    missed[:] = left
    change[edge] += values


def _tree_parents(
    edge: IntArray, leaf: IntArray, other: IntArray, parent: IntArray, via: IntArray, depth: IntArray
) -> None:
    parent[leaf], via[leaf] = other, edge
    depths = depth.tolist()
    for node, above in zip(leaf[::-1].tolist(), other[::-1].tolist(), strict=True):
        depths[node] = depths[above] + 1
    depth[:] = depths


FORMS: Forms = {
    heaviest_forest.heaviest_edges: _heaviest_edges,
    heaviest_forest.list_leaves: _list_leaves,
    heaviest_forest.route: _route,
    heaviest_forest.reach: _reach,
    heaviest_forest.tree_parents: _tree_parents,
}
