from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.sampling.rounding import round_flow
from tests.kernels.drawn import both

ONE = 1 << 20


def network(rng, left=6, right=5, cells=40):
    """Return a flow from a source over two layers to a sink with fractions on all edges, and its value."""
    first, second = rng.integers(left, size=cells), rng.integers(right, size=cells)
    carried = rng.integers(1, 3 * ONE, size=cells)
    carried[0] += -int(carried.sum()) % ONE
    tail = np.concatenate([2 + first, np.zeros(left, int), 2 + left + np.arange(right)])
    head = np.concatenate([2 + left + second, 2 + np.arange(left), np.ones(right, int)])
    sums = [np.bincount(first, carried, left), np.bincount(second, carried, right)]
    return tail, head, np.concatenate([carried, *sums]).astype(np.int64)


def adjacency(tail, head):
    ends = np.concatenate([tail, head])
    bounds = np.concatenate([[0], np.cumsum(np.bincount(ends))])
    return bounds[:-1].copy(), bounds[1:].copy(), np.argsort(ends, kind="stable") % len(tail)


def rounded(function, tail, head, carried, rng, steps=10**6):
    fraction = carried % ONE
    begin, end, incident = adjacency(tail, head)
    chances = rng.random(len(tail))
    start = used = calls = 0
    while start < len(tail):
        start, used = function(tail, head, fraction, ONE, begin, end, incident, chances, start, used, steps)
        calls += 1
    return carried // ONE + fraction // ONE, fraction, calls


@both(round_flow, "function")
@pytest.mark.parametrize("steps", [10**6, 5])
def test_round_flow__is_whole_near_and_conserved(function, steps):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        tail, head, carried = network(rng)
        flow, fraction, calls = rounded(function, tail, head, carried, rng, steps)
        assert np.isin(fraction, [0, ONE]).all()
        assert (np.abs(flow - carried / ONE) < 1).all()
        inner = np.bincount(head, flow) - np.bincount(tail, flow)
        assert not inner[2:].any()
        assert inner[1] == carried[:40].sum() / ONE
        assert calls > 1 or steps > 5


@both(round_flow, "function")
def test_round_flow__mean_is_the_flow(function):
    rng = np.random.default_rng(1)
    tail, head, carried = network(rng)
    draws = 600
    mean = sum(rounded(function, tail, head, carried, rng)[0] for _ in range(draws)) / draws
    # an edge is one of two neighbours: its variance is fraction (1 - fraction)
    fraction = carried % ONE / ONE
    assert (np.abs(mean - carried / ONE) <= 4.5 * np.sqrt(fraction * (1 - fraction) / draws) + 1e-12).all()
