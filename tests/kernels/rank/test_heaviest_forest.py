from __future__ import annotations

import itertools

import numpy as np
import pytest

from purtensor.kernels.rank.heaviest_forest import heaviest_edges, list_leaves, reach, route, tree_parents
from tests.kernels.drawn import both


class Graph:
    """A random bipartite graph of two constraints."""

    def __init__(self, seed, profiles=24, rows=(5, 4)):
        rng = np.random.default_rng(seed)
        pairs = np.array(list(itertools.product(range(rows[0]), range(rows[1]))))
        chosen = np.sort(rng.choice(len(pairs), min(profiles, len(pairs)), replace=False))
        self.first, self.second = pairs[chosen].T.astype(np.uint8)
        self.rows, self.nodes = rows, sum(rows)
        self.masses = rng.permutation(len(chosen)) + 1.0

    def ends(self, profile):
        return int(self.first[profile]), self.rows[0] + int(self.second[profile])

    def heaviest(self):
        """Kruskal's forest over sets, by falling mass."""
        trees = [{node} for node in range(self.nodes)]
        chosen = set()
        for profile in np.argsort(-self.masses):
            one, two = (next(tree for tree in trees if node in tree) for node in self.ends(profile))
            if one is not two:
                trees.remove(two)
                one |= two
                chosen.add(int(profile))
        return chosen, trees

    def forest(self, kernel=heaviest_edges):
        inside, edges = np.zeros(len(self.masses), dtype=bool), np.empty(len(self.masses), dtype=np.int64)
        count = kernel(
            self.masses,
            self.first,
            self.second,
            self.rows[0],
            np.array([0, len(self.masses)]),
            np.arange(self.nodes),
            inside,
            edges,
        )
        return inside, edges[:count]

    def leaves(self, kernel=list_leaves):
        _, edges = self.forest()
        is_root = np.zeros(self.nodes, dtype=bool)
        is_root[[max(tree) for tree in self.heaviest()[1]]] = True
        degree, links = np.zeros(self.nodes, dtype=np.int64), np.zeros(self.nodes, dtype=np.int64)
        lists = [np.empty(len(edges), dtype=np.int64) for _ in range(3)]
        gone = kernel(self.first, self.second, self.rows[0], edges, is_root, degree, links, *lists)
        return gone, is_root, lists


@both(heaviest_edges)
@pytest.mark.parametrize("seed", range(8))
def test_heaviest_edges__are_kruskals(kernel, seed):
    graph = Graph(seed, profiles=6 + 2 * seed)
    inside, edges = graph.forest(kernel)
    assert set(edges.tolist()) == graph.heaviest()[0] == set(np.flatnonzero(inside).tolist())


@both(heaviest_edges)
def test_heaviest_edges__part_by_part(kernel):
    first = np.array([0, 0, 1, 1, 2, 2], dtype=np.uint8)
    second = np.array([0, 1, 0, 1, 2, 3], dtype=np.uint8)
    inside, edges = np.zeros(6, dtype=bool), np.empty(6, dtype=np.int64)
    masses = np.array([1.0, 4.0, 3.0, 2.0, 0.5, 0.1])
    count = kernel(masses, first, second, 3, np.array([0, 4, 6]), np.arange(7), inside, edges)
    assert edges[:count].tolist() == [1, 2, 3, 4, 5]
    assert inside.tolist() == [False, True, True, True, True, True]


@both(list_leaves)
@pytest.mark.parametrize("seed", range(6))
def test_list_leaves__each_hangs_on_what_is_left(kernel, seed):
    graph = Graph(seed, profiles=7 + 2 * seed)
    gone, is_root, (edge, leaf, other) = graph.leaves(kernel)
    assert gone == len(edge)
    assert sorted(leaf) == [node for node in np.flatnonzero(~is_root) if node in set(leaf)]
    for n in range(gone):
        assert {int(leaf[n]), int(other[n])} == set(graph.ends(edge[n]))
        assert leaf[n] not in leaf[:n]
        assert other[n] not in leaf[:n]


@both(list_leaves)
def test_list_leaves__tells_of_a_tree_with_two_roots(kernel):
    first, second = np.array([0, 1], dtype=np.uint8), np.array([0, 0], dtype=np.uint8)
    lists = [np.empty(2, dtype=np.int64) for _ in range(3)]
    zeros = [np.zeros(3, dtype=np.int64) for _ in range(2)]
    assert kernel(first, second, 2, np.array([0, 1]), np.array([True, True, False]), *zeros, *lists) < 2


@both(route)
@pytest.mark.parametrize("seed", range(6))
def test_route__meets_what_every_node_but_the_roots_misses(kernel, seed):
    graph = Graph(seed, profiles=8 + 2 * seed)
    _, is_root, lists = graph.leaves()
    missed = np.random.default_rng(seed).integers(-9, 9, graph.nodes).astype(float)
    missed[[node for node in range(graph.nodes) if node not in lists[1] and not is_root[node]]] = 0.0
    change = np.zeros(len(graph.masses))
    kernel(*lists, missed.copy(), change)
    sums = np.zeros(graph.nodes)
    for profile, value in enumerate(change):
        for node in graph.ends(profile):
            sums[node] += value
    assert np.array_equal(sums[~is_root], missed[~is_root])
    assert set(np.flatnonzero(change)) <= set(lists[0])


@both(reach)
def test_reach__is_what_the_worst_signs_give(kernel):
    graph = Graph(1)
    _, _, lists = graph.leaves()
    sizes = np.random.default_rng(1).uniform(0.0, 1.0, graph.nodes)
    found, worst = np.zeros(len(graph.masses)), np.zeros(len(graph.masses))
    kernel(*lists, sizes.copy(), found)
    for signs in itertools.product((-1.0, 1.0), repeat=graph.nodes):
        change = np.zeros(len(graph.masses))
        route(*lists, sizes * signs, change)
        worst = np.maximum(worst, np.abs(change))
    assert found == pytest.approx(worst, rel=1e-12)


@both(tree_parents)
def test_tree_parents__lead_to_the_root(kernel):
    graph = Graph(2)
    _, is_root, lists = graph.leaves()
    parent, via, depth = (np.zeros(graph.nodes, dtype=np.int64) for _ in range(3))
    kernel(*lists, parent, via, depth)
    for node in lists[1]:
        assert {int(node), int(parent[node])} == set(graph.ends(via[node]))
        assert depth[node] == depth[parent[node]] + 1
    assert (depth[is_root] == 0).all()
