"""The statements of notes/rate_product.md, on dense projections; nothing of the package is used."""

from __future__ import annotations

import numpy as np
import pytest


def projection(vectors):
    """The orthogonal projection on the span of the columns, and an orthonormal basis of it."""
    basis, values, _ = np.linalg.svd(vectors, full_matrices=False)
    basis = basis[:, values > 1e-9 * max(values[0], 1e-300)]
    return basis @ basis.T, basis


def both_sides(spaces):
    """det(I - S) on V, the two products, the last factor of equation 1, rho, and the number of nonzero eigenvalues."""
    (first, _), (second, _), (third, _) = map(projection, spaces)
    inner, inner_basis = projection(np.hstack(spaces[1:]))
    _, whole = projection(np.hstack(spaces))
    one = np.eye(len(first))
    sweep = whole.T @ (one - third) @ (one - second) @ (one - first) @ whole
    cosines = [
        np.linalg.svd(a.T @ b, compute_uv=False)
        for a, b in (
            (projection(spaces[1])[1], projection(spaces[2])[1]),
            (projection(spaces[0])[1], inner_basis),
        )
    ]
    sigma, mu = (values[values < 1 - 1e-9] ** 2 for values in cosines)
    values, vectors = np.linalg.eigh(first @ inner @ first)
    shared = vectors[:, values > 1 - 1e-9]
    step = inner_basis.T @ (one - (one - third) @ (one - second)) @ inner_basis
    seen = inner_basis.T @ shared
    last = np.linalg.det(seen.T @ np.linalg.solve(step, seen))
    moduli = np.abs(np.linalg.eigvals(sweep))
    left = np.linalg.det(np.eye(len(sweep)) - sweep)
    return left, np.prod(1 - mu) * np.prod(1 - sigma), last, moduli.max(), int((moduli > 1e-9).sum())


def of_pur(masses):
    """Functions of (y,s), (y,x), (s,x) in L2 of the masses; the profiles without mass are left out."""
    held = masses > 0
    codes = np.indices(masses.shape)[:, held]
    root = np.sqrt(masses[held] / masses.sum())
    spaces = []
    for pair in ((0, 1), (0, 2), (1, 2)):
        row = codes[pair[0]] * masses.shape[pair[1]] + codes[pair[1]]
        columns = (row[:, None] == np.unique(row)) * root[:, None]
        spaces.append(columns)
    return spaces


@pytest.mark.parametrize("seed", range(30))
def test_determinant__of_any_three_subspaces_that_meet_or_not(seed):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((9, 3))
    spaces = [rng.standard_normal((9, int(rng.integers(1, 4)))) for _ in range(3)]
    spaces[0] = np.hstack([spaces[0], common[:, :1], spaces[1][:, :1] + spaces[2][:, :1]])  # so J is not empty
    spaces[1] = np.hstack([spaces[1], common[:, 1:2]])
    spaces[2] = np.hstack([spaces[2], common[:, 1:2]])
    left, products, last, *_ = both_sides(spaces)
    assert left == pytest.approx(products * last, rel=1e-8)
    assert last != pytest.approx(1.0, rel=1e-3)  # the last factor is needed


def at_parity(masses):
    joint = masses.sum(2)
    return masses * (np.outer(joint.sum(1), joint.sum(0)) / joint)[:, :, None]


@pytest.mark.parametrize("seed", range(30))
def test_determinant__of_pur_at_parity_is_the_bare_product(seed):
    rng = np.random.default_rng(seed)
    masses = at_parity(rng.gamma(0.5, size=(*rng.integers(2, 4, 2), rng.integers(2, 5))) + 1e-2)
    left, products, last, rho, count = both_sides(of_pur(masses / masses.sum()))
    assert last == pytest.approx(1.0, rel=1e-8)
    assert left == pytest.approx(products, rel=1e-7)
    assert 1 - rho <= products ** (1 / count) * (1 + 1e-9)


def test_determinant__the_bare_product_is_wrong_where_the_rank_drops():
    masses = np.array([[(0, 0.3433), (0.3407, 0.1169)], [(0.0523, 0.0331), (0.1137, 0)]])
    left, products, last, *_ = both_sides(of_pur(masses))
    assert (left, products) == pytest.approx((0.9947, 0.7467), abs=1e-4)
    assert left == pytest.approx(products * last, rel=1e-9)


def three_lines(x, y, z):
    """(1 - s)(1 - mu), 1 - s, 1 - mu and rho of three lines with these cosines of 1 and 2, 1 and 3, 2 and 3."""
    product, slab = 1 - x * x - y * y - z * z + 2 * x * y * z, 1 - z * z
    middle = np.emath.sqrt((x * x + y * y + z * z - x * y * z) ** 2 - 4 * x * y * z)
    roots = [(x * x + y * y + z * z - x * y * z + sign * middle) / 2 for sign in (1, -1)]
    return product, slab, product / slab, np.abs(roots).max(axis=0)


def test_three_lines__the_eigenvalues_are_those_of_the_sweep():
    for seed in range(20):
        lines = np.random.default_rng(seed).standard_normal((3, 3))
        lines /= np.linalg.norm(lines, axis=0)
        cosines = (lines.T @ lines)[[0, 0, 1], [1, 2, 2]]
        product, slab, merged, rho = three_lines(*cosines)
        left, products, _, dense, _ = both_sides([lines[:, k : k + 1] for k in range(3)])
        assert (left, products, dense) == pytest.approx((product, slab * merged, rho), rel=1e-8)


def test_three_lines__both_ends_hold_and_are_sharp():
    rng = np.random.default_rng(0)
    near = np.array([0.5, 0.5, -0.5]) * (1 - rng.uniform(0, 0.01, (2000, 1))) + rng.normal(0, 1e-3, (2000, 3))
    z = 1 - 10.0 ** -rng.uniform(1, 4, 2000)
    side = np.sqrt((3 * z * z - 1) ** 2 / (4 * z)) * (1 + rng.normal(0, 1e-4, 2000))
    alike = 1 - 10.0 ** -rng.uniform(0.5, 3, (20_000, 3))
    x, y, z = np.vstack([rng.uniform(-1, 1, (200_000, 3)), near, np.column_stack([side, side, z]), alike]).T
    product, slab, merged, rho = three_lines(x, y, z)
    are_lines = product > 1e-9  # cosines of lines have a positive Gram determinant
    lower, upper_slab, upper_merged = ((1 - rho[are_lines]) / one[are_lines] for one in (product, slab, merged))
    assert 8 / 9 - 1e-6 < lower.min() < 0.90
    assert 1.45 < upper_slab.max() < 1.5 + 1e-6
    assert 1.95 < upper_merged.max() < 2.0 + 1e-6
