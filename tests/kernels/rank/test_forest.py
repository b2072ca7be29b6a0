"""Two constraints as a graph, compiled and as plain Python, against scipy's components and sums along cycles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from purtensor.kernels.rank import forest as compiled
from tests.kernels.drawn import plain


class Plain:
    """The same kernels without compilation."""

    def __getattr__(self, name):
        return plain(getattr(compiled, name))


ROWS, COLUMNS = 5, 6


def grow(kernels, seed: int):
    rng = np.random.default_rng(seed)
    edges = np.argwhere(rng.random((ROWS, COLUMNS)) < 0.35)
    first, second = edges[:, 0].astype(np.uint8), edges[:, 1].astype(np.uint8)
    in_forest = np.empty(len(edges), dtype=bool)
    leader, chosen, count = np.arange(ROWS + COLUMNS), np.empty(ROWS + COLUMNS, dtype=np.int64), 0
    for begin, end in ((0, len(edges) // 2), (len(edges) // 2, len(edges))):
        count = kernels.forest_edges(first, second, ROWS, begin, end, leader, in_forest, chosen, count)
    chosen = chosen[:count]
    supported = np.zeros(ROWS + COLUMNS, dtype=bool)
    supported[first] = supported[ROWS + second.astype(int)] = True
    sequence, parent, via, depth = (np.zeros(ROWS + COLUMNS, dtype=np.int64) for _ in range(4))
    reached = kernels.root_forest(first, second, ROWS, chosen, supported, sequence, parent, via, depth)
    return first, second, in_forest, chosen, supported, sequence[:reached], parent, via, depth


@pytest.mark.parametrize("kernels", [compiled, Plain()], ids=["compiled", "plain"])
@pytest.mark.parametrize("seed", range(4))
def test_root_forest__one_root_a_component_and_parents_first(kernels, seed: int) -> None:
    first, second, in_forest, chosen, supported, sequence, parent, via, depth = grow(kernels, seed)
    graph = coo_array((np.ones(len(first)), (first, ROWS + second.astype(int))), shape=(ROWS + COLUMNS,) * 2)
    count, label = connected_components(graph, directed=False)
    count -= np.count_nonzero(~supported)
    np.testing.assert_array_equal(np.flatnonzero(in_forest), chosen)
    assert len(chosen) == supported.sum() - count
    assert sorted(sequence) == np.flatnonzero(supported).tolist()
    roots = sequence[parent[sequence] < 0]
    assert len(roots) == count
    assert np.all(roots >= ROWS)
    seen = set()
    for node in sequence.tolist():
        if parent[node] >= 0:
            assert parent[node] in seen
            assert {node, parent[node]} == {int(first[via[node]]), ROWS + int(second[via[node]])}
            assert depth[node] == depth[parent[node]] + 1
            assert label[node] == label[parent[node]]
        seen.add(node)


@pytest.mark.parametrize("kernels", [compiled, Plain()], ids=["compiled", "plain"])
@pytest.mark.parametrize("seed", range(4))
def test_cycles__vectors_and_broken_ones_agree(kernels, seed: int) -> None:
    """A weight on other rows is a sum of potentials on exactly the profiles whose cycle it sums to 0 on."""
    first, second, in_forest, _, _, sequence, parent, via, depth = grow(kernels, seed)
    rng = np.random.default_rng(seed)
    index = rng.integers(0, 4, (2, len(first))).astype(np.uint8)
    starts, places = np.array([0, 4]), np.array([0, 1, 2, -1, 3, 4, -1, 5])
    closing = np.flatnonzero(~in_forest)
    vectors = np.empty((len(closing), 6), dtype=np.int32)
    kernels.cycle_vectors(closing, first, second, ROWS, parent, via, depth, places, index, starts, vectors)
    weights, broken = rng.integers(0, 3, 6), np.empty(len(first), dtype=bool)
    potentials = np.zeros(ROWS + COLUMNS, dtype=np.int64)
    kernels.spread_potentials(weights, 10007, sequence, parent, via, places, index, starts, potentials)
    for begin, end in ((0, len(first) // 2), (len(first) // 2, len(first))):
        kernels.mark_broken(weights, 10007, first, second, ROWS, begin, end, places, index, starts, potentials, broken)
    assert not broken[in_forest].any()
    np.testing.assert_array_equal(broken[closing], (vectors @ weights) % 10007 != 0)
    goal = np.append(weights, 0)[places[starts[:, None] + index]].sum(axis=0)
    given = potentials[first] + potentials[ROWS + second.astype(int)]
    np.testing.assert_array_equal((goal - given) % 10007 != 0, broken)
