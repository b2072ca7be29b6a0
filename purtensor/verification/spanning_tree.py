"""A heaviest spanning forest of the graph that two constraints make of their rows, and what misses flow along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from purtensor._typing import BoolArray, FloatArray, IntArray

# each try is a pass over all profiles
_PAIRS_TRIED = 6


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A spanning forest of the graph of two constraints' rows, by depth: its nodes are row numbers.

    Attributes
    ----------
    levels
        The nodes of each depth from 1 on.
    parent, via
        One a row: the row that it hangs on, and by which profile; -1 where it hangs on none.
    depth
        One a row.
    """

    levels: tuple[IntArray, ...]
    parent: IntArray
    via: IntArray
    depth: IntArray

    def route(self, missed: FloatArray, change: FloatArray, sign: float) -> None:
        """Add to `change` what meets the misses; with sign 1.0 the largest sizes of it, for misses of these sizes."""
        # leaves first: a node passes on to its parent what its own edge took
        for nodes in reversed(self.levels):
            change[self.via[nodes]] += missed[nodes]
            np.add.at(missed, self.parent[nodes], sign * missed[nodes])


def pair_of(index: IntArray, count: int, named: BoolArray | None = None) -> tuple[int, ...]:
    """Return the constraint of most rows and the one whose graph with it has the highest rank.

    Where rows are named, they are the constraint of which fewest are not, and of most rows, and the one with it whose
    graph has a root for each tree among the rows that are not named.
    """
    used = [np.unique(one) for one in index]
    rows = [len(one) for one in used]
    left = [0 if named is None else int(np.count_nonzero(~named[one])) for one in used]
    by_size = sorted(range(len(index)), key=lambda k: (left[k], -rows[k]))
    first = by_size[0]
    if len(index) == 1:
        return (first,)

    def rank(k: int) -> tuple[bool, int]:
        graph = sp.coo_array((np.ones(index.shape[1]), (index[first], index[k])), shape=(count, count))
        lone = count - len(np.unique(index[[first, k]]))
        trees = int(csgraph.connected_components(graph, directed=False)[0] - lone)
        # the rank of a bipartite graph's rows: nodes less connected components
        spans = named is not None and left[first] + left[k] == trees
        return spans, rows[first] + rows[k] - trees

    return first, max(by_size[1 : 1 + _PAIRS_TRIED], key=rank)


def tree_of(pair: Sequence[IntArray], count: int, order: IntArray, named: BoolArray | None = None) -> Tree:
    """Return the forest that takes profiles in this order.

    Each tree hangs on the row that is not named, where there is one, else on its last row of the second constraint.
    """
    top = count  # a node above all trees
    one, two = pair[0][order], pair[1][order] if len(pair) > 1 else np.full(len(order), top)
    # parallel profiles join the same two rows: the first in this order, the heaviest, stands for them
    _, heaviest = np.unique(one * np.int64(count + 1) + two, return_index=True)
    # places in the order as weights, from 1 as a weight of 0 is no edge: the least tree is the heaviest
    graph = sp.coo_array((heaviest + 1.0, (one[heaviest], two[heaviest])), shape=(count + 1, count + 1)).tocsr()
    forest = csgraph.minimum_spanning_tree(graph).tocoo()
    chosen = order[forest.data.astype(np.int64) - 1]
    # profile numbers as weights, from 2 on, as 1 marks the links to the top below and 0 would be no link
    links = sp.coo_array((chosen + 2.0, (forest.row, forest.col)), shape=(count + 1, count + 1))
    component = csgraph.connected_components(links, directed=False)[1]
    nodes = np.unique(np.concatenate(pair))
    if len(pair) > 1:
        roots = np.full(component.max() + 1, -1)
        second = np.unique(pair[1])
        roots[component[second]] = second  # the last one stays
        if named is not None:
            others = nodes[~named[nodes]]
            alone = np.bincount(component[others], minlength=len(roots))[component[others]] == 1
            roots[component[others[alone]]] = others[alone]
        roots = roots[roots >= 0]
        ones = np.ones(len(roots))
        links = sp.coo_array(
            (
                np.concatenate([links.data, ones]),
                (np.concatenate([links.row, roots]), np.concatenate([links.col, np.full(len(roots), top)])),
            ),
            shape=links.shape,
        )
    both = sp.csr_array(links + links.T)
    # breadth first gives parents and depths in one pass; all trees hang on the node `top`
    sequence, before = csgraph.breadth_first_order(both, top, directed=False)
    parent, via, depth = (np.full(count + 1, fill) for fill in (-1, -1, 0))
    parent[sequence[1:]] = before[sequence[1:]]
    for node in sequence[1:]:
        depth[node] = depth[parent[node]] + 1
    via[sequence[1:]] = np.asarray(both[sequence[1:], parent[sequence[1:]]]).reshape(-1).astype(np.int64) - 2
    hanging = nodes[via[nodes] >= 0]
    levels = [hanging[depth[hanging] == d] for d in range(1, int(depth.max(initial=0)) + 1)]
    return Tree(tuple(level for level in levels if len(level)), parent, via, depth)
