"""What proves a dense two-way table: sums against fractions, the tree against scipy's, bounds against 50 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

from purtensor.kernels.ipf.two_way_proof import heaviest_tree, prove_line, prove_rows, route, sum_exactly
from purtensor.kernels.ipf.two_way_sweeps import gram_product, write_masses

SHAPE = (7, 11)
WIDTH = 16


def padded(values):
    out = np.zeros((*values.shape[:-1], WIDTH))
    out[..., : values.shape[-1]] = values
    return out


def drawn(seed, spread=20.0):
    rng = np.random.default_rng(seed)
    masses = padded(np.exp(spread * rng.standard_normal(SHAPE)))
    return masses, rng.standard_normal(SHAPE[0]), padded(rng.standard_normal(SHAPE[1]))


def test_sum_exactly__is_the_sum_to_twice_the_digits():
    masses, one, other = drawn(0)
    of_rows, of_columns = np.empty((SHAPE[0], 2)), np.empty((2, WIDTH))
    sum_exactly(masses, one, other, 0, SHAPE[0], of_rows, of_columns)
    moved = masses * (one[:, None] + other)
    exact = [
        [Fraction(p) + Fraction(c) for p, c in zip(*pair, strict=True)] for pair in zip(masses, moved, strict=True)
    ]
    sizes = np.abs(masses) + np.abs(moved)
    for i, row in enumerate(exact):
        assert abs(sum(map(Fraction, of_rows[i])) - sum(row)) <= 1e-30 * sizes[i].sum()
    for j, column in enumerate(zip(*exact, strict=True)):
        assert abs(sum(map(Fraction, of_columns[:, j])) - sum(column)) <= 1e-30 * sizes[:, j].sum()


@pytest.mark.parametrize(("begin", "end"), [(0, 7), (1, 7), (2, 4)])
def test_gram_product__of_some_rows(begin, end):
    masses, one, other = drawn(1, 1.0)
    scale, rows, sums = np.exp(one), np.zeros(SHAPE[0]), np.empty(WIDTH)
    gram_product(masses, other, scale, begin, end, rows, sums)
    expected = (masses @ other / scale)[begin:end]
    np.testing.assert_allclose(rows[begin:end], expected, rtol=1e-12)
    np.testing.assert_allclose(sums, expected @ masses[begin:end], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("columns", [11, 16])
def test_write_masses__with_sums_and_the_least(columns):
    base, u, v = np.exp(drawn(3)[1][:, None] + np.zeros(WIDTH)), np.exp(drawn(4)[1]), np.ones(WIDTH)
    base[:, columns:] = 0.0
    base[2, 3], u[5] = 1e-9, 1e-7
    masses, of_rows, of_columns = np.empty_like(base), np.empty(SHAPE[0]), np.empty(WIDTH)
    v[3], v[columns:] = 1e3, 0.0
    least = write_masses(base, u, v, columns, 0, SHAPE[0], masses, of_rows, of_columns)
    np.testing.assert_allclose(masses, base * u[:, None] * v, rtol=1e-15)
    np.testing.assert_allclose(of_rows, masses.sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(of_columns, masses.sum(axis=0), rtol=1e-14)
    # without the last factor, too: a product of three may pass through less than it is
    assert least == (base * u[:, None])[:, :columns].min() < masses[:, :columns].min()


@pytest.mark.parametrize("seed", range(5))
def test_heaviest_tree__weighs_as_much_as_any(seed):
    masses, _, _ = drawn(seed, 2.0)
    nodes = sum(SHAPE)
    order, parent = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    heaviest_tree(masses, SHAPE[1], 3, order, parent)
    assert sorted(order) == list(range(nodes))
    assert (order[0], parent[3]) == (3, 3)
    place = np.argsort(order)
    assert all(place[parent[node]] < place[node] for node in order[1:])
    ends = np.array([sorted((node, parent[node])) for node in order[1:]]) - [0, SHAPE[0]]
    graph = np.zeros((nodes, nodes))
    graph[: SHAPE[0], SHAPE[0] :] = 1e6 - masses[:, : SHAPE[1]]
    assert (1e6 - masses[ends[:, 0], ends[:, 1]]).sum() == pytest.approx(minimum_spanning_tree(graph).sum())


def test_route__carries_what_lies_behind():
    # 2 - 0 - 1, and 3 behind 1
    order, parent = np.array([2, 0, 1, 3]), np.array([2, 0, 2, 1])
    loads = np.array([1.0, 10.0, 100.0, 1000.0])
    route(order, parent, loads)
    assert loads.tolist() == [1011.0, 1010.0, 1111.0, 1000.0]


@pytest.mark.parametrize("scale", [1e-3, 1e-7])
def test_prove__is_never_below_the_truth(scale):
    masses, one, other = drawn(2, 1.0)
    one, other = scale * one, scale * other
    sums = np.zeros((5, 8))
    prove_rows(masses, one, other, 0.0, 0, SHAPE[0], sums)
    with localcontext() as digits:
        digits.prec = 50
        divergence = gap = Decimal(0)
        for i, j in np.ndindex(SHAPE):
            p, w = Decimal(masses[i, j]), Decimal(one[i]) + Decimal(other[j])
            divergence += p * ((1 + w) * (1 + w).ln() - w)
            gap += p * ((1 + w) * (1 + w).ln() - w - w * w + w.exp() - 1 - w)
        assert divergence <= Decimal(sums[1].sum()) <= divergence * Decimal("1.01") + Decimal("1e-20")
        assert gap <= Decimal(sums[2].sum())
    tilts = one[:, None] + other[: SHAPE[1]]
    moved = masses[:, : SHAPE[1]] * tilts
    assert sums[0].max() == pytest.approx(np.abs(tilts).max())
    assert sums[3].sum() == pytest.approx(np.abs(moved).sum())
    assert sums[4].sum() == pytest.approx(moved.sum(), abs=1e-12 * np.abs(moved).sum())


def test_prove_line__takes_rests_in():
    masses, ones = np.linspace(1.0, 2.0, 8), np.full(8, 1e-4)
    with_rest, without = np.zeros((5, 8)), np.zeros((5, 8))
    prove_line(masses, ones, ones, np.full(8, 1e-4), 0.0, with_rest)
    prove_line(masses, ones, ones, np.zeros(8), 0.0, without)
    assert with_rest[0].max() == pytest.approx(3e-4)
    assert with_rest[1].sum() == pytest.approx(0.5 * np.sum(masses * (2e-4 + 1e-4 / masses) ** 2), rel=1e-3)
    assert (with_rest[1] > without[1]).all()
    assert (with_rest[2] > without[2]).all()
