from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.sampling.polytope_vertices import walk_to_vertex
from tests.kernels.drawn import both

FUNCTIONS = both(walk_to_vertex, "walk")


def cube(rng, sizes=(3, 4, 3)):
    """Return random fractions of a cube, and the rows that each cell is in: two-way sums, and the total."""
    a, b, c = (index.ravel() for index in np.indices(sizes))
    fraction = rng.random(len(a))
    fraction *= np.floor(fraction.sum()) / fraction.sum()
    two_way = [a * sizes[1] + b, a * sizes[2] + c, b * sizes[2] + c]
    offsets = np.cumsum([0, *(int(index.max()) + 1 for index in two_way)])
    rows = np.column_stack([*(index + o for index, o in zip(two_way, offsets)), np.full(len(a), offsets[-1])])
    return fraction, rows


def sums_of(fraction, rows):
    return np.bincount(rows.ravel(), np.repeat(fraction, rows.shape[1]))


def walked(walk, fraction, rows, rng, work=10**9):
    point = fraction.copy()
    sums = sums_of(point, rows)
    low = np.floor(sums + 1e-9)
    upper = np.ceil(sums - 1e-9) - low
    basic, member = sums - low, np.full(len(sums), -1)
    inverse, chances = -np.eye(len(sums)), rng.random(len(point))
    start = calls = 0
    while start < len(point):
        start = walk(point, rows, inverse, basic, upper, member, chances, start, work)
        calls += 1
    point[member[member >= 0]] = basic[member >= 0]
    return point, calls


@FUNCTIONS
@pytest.mark.parametrize("work", [10**9, 1])
def test_walk_to_vertex__ends_at_a_vertex_within_the_bounds(walk, work):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        fraction, rows = cube(rng)
        point, calls = walked(walk, fraction, rows, rng, work)
        assert point.min() >= -1e-8
        assert point.max() <= 1 + 1e-8
        before, after = sums_of(fraction, rows), sums_of(point, rows)
        assert after[-1] == pytest.approx(before[-1], abs=1e-8)
        assert (after >= np.floor(before) - 1e-8).all()
        assert (after <= np.ceil(before) + 1e-8).all()
        # a vertex: no two points of the polytope have it between them, so what is open is fixed by the tight rows
        open_ = np.flatnonzero(np.abs(point - np.rint(point)) > 1e-8)
        tight = np.abs(after - np.rint(after)) < 1e-8
        matrix = np.zeros((len(after), len(point)))
        matrix[rows.ravel(), np.repeat(np.arange(len(point)), rows.shape[1])] = 1
        assert not len(open_) or np.linalg.matrix_rank(matrix[tight][:, open_]) == len(open_)
        assert calls > 1 or work > 1


@FUNCTIONS
def test_walk_to_vertex__mean_is_the_point(walk):
    rng = np.random.default_rng(4)
    fraction, rows = cube(rng, (2, 3, 2))
    draws = 500
    mean = sum(walked(walk, fraction, rows, rng)[0] for _ in range(draws)) / draws
    assert (np.abs(mean - fraction) < 4.5 * np.sqrt(fraction * (1 - fraction) / draws)).all()
    assert np.abs(walked(walk, fraction, rows, rng)[0] - fraction).max() > 0.1
