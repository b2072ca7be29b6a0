from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.feasibility.max_flow import blocking_flow, layers
from tests.kernels.drawn import plain

KERNELS = [(layers, blocking_flow), (plain(layers), plain(blocking_flow))]


def network(arcs, nodes):
    tail = np.array([end for a, b, _ in arcs for end in (a, b)])
    head = np.array([end for a, b, _ in arcs for end in (b, a)])
    room = np.array([value for _, _, capacity in arcs for value in (capacity, 0)], dtype=np.int64)
    out = np.argsort(tail, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=nodes))])
    return head, room, begin, out


def maximum(kernels, arcs, nodes, steps):
    find_layers, block = kernels
    head, room, begin, out = network(arcs, nodes)
    level, queue, path = (np.empty(nodes, dtype=np.int64) for _ in range(3))
    total = 0
    while True:
        find_layers(head, room, begin, out, 0, level, queue)
        if level[nodes - 1] < 0:
            return total, room, level
        following, depth, done = begin[:-1].copy(), 0, False
        while not done:
            sent, depth, done = block(head, room, begin, out, 0, nodes - 1, level, following, path, depth, steps)
            total += sent


@pytest.mark.parametrize("kernels", KERNELS, ids=["compiled", "python"])
@pytest.mark.parametrize("steps", [1, 3, 1000])
def test_blocking_flow__textbook_network(kernels, steps):
    # Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms, figure 26.1: the maximum is 23
    arcs = [(0, 1, 16), (0, 2, 13), (1, 3, 12), (2, 1, 4), (2, 4, 14), (3, 2, 9), (3, 5, 20), (4, 3, 7), (4, 5, 4)]
    total, room, level = maximum(kernels, arcs, 6, steps)
    assert total == 23
    assert room.min() >= 0
    assert sum(capacity for a, b, capacity in arcs if level[a] >= 0 > level[b]) == 23


@pytest.mark.parametrize("kernels", KERNELS, ids=["compiled", "python"])
def test_blocking_flow__random_networks_reach_their_cut_and_conserve(kernels):
    rng = np.random.default_rng(0)
    for _ in range(20):
        nodes = int(rng.integers(3, 9))
        pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b and rng.random() < 0.4]
        arcs = [(a, b, int(rng.integers(1, 20)) << 55) for a, b in pairs]
        if not arcs:
            continue
        total, room, level = maximum(kernels, arcs, nodes, 1 << 30)
        assert total == sum(capacity for a, b, capacity in arcs if level[a] >= 0 > level[b])
        balance = [0] * nodes
        for number, (a, b, capacity) in enumerate(arcs):
            flow = capacity - int(room[2 * number])
            assert 0 <= flow <= capacity
            balance[a] -= flow
            balance[b] += flow
        assert balance[1:-1] == [0] * (nodes - 2)
        assert balance[-1] == total
