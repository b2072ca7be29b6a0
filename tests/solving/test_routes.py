"""Bounds on masses that meet misses without a search: a linear program finds such masses within them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import purtensor as pt
from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.certificate import certify
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.dense import SHIFT, build_dense
from purtensor.solving.problem import build_problem
from purtensor.solving.routes import bound_by_matrix, routes_of
from purtensor.solving.spaces import arrays as module
from purtensor.solving.spaces.arrays import ArraySpace
from tests.constraints.exact import dense_matrix
from tests.solving.drawn import random_arrays, solved


def drawn(seed, conditions="PUR", holes=0.15):
    """A problem with holes in most slabs."""
    rng = np.random.default_rng(seed)
    sizes = {"y": 3, "s": 3, "x": 8}
    masses = rng.gamma(0.5, size=tuple(sizes.values())) + 1e-3
    masses[..., 1:] *= rng.random((3, 3, 7)) > holes
    cells = np.argwhere(masses > 0.0)
    records = {name: cells[:, n].tolist() for n, name in enumerate(sizes)}
    table = pt.tabulate(records, weights=masses[masses > 0.0])
    problem = build_problem(table, pt.pur(table, response="y", protected="s", conditions=conditions)).arrays
    hessian_of(problem)
    return problem


def least_share(problem, missed, masses):
    """The smallest t such that masses e, |e| <= t p, meet the misses of the independent rows."""
    key = None if problem.slabs is None else problem.slabs.key
    rows = independent_rows(problem.system, key).rows
    matrix = dense_matrix(problem.system).astype(float)[rows]
    zero, one = np.zeros((len(rows), 1)), np.ones((len(masses), 1))
    scaled = np.hstack([matrix * masses, zero])
    limits = np.vstack([np.hstack([np.eye(len(masses)), -one]), np.hstack([-np.eye(len(masses)), -one])])
    goal = np.append(np.zeros(len(masses)), 1.0)
    free = [(None, None)] * (len(masses) + 1)
    found = linprog(goal, limits, np.zeros(len(limits)), scaled, missed[rows], free)
    assert found.status == 0
    return found.x[-1]


@pytest.mark.parametrize("conditions", ["PUR", "UR", "PU", "P"])
@pytest.mark.parametrize("seed", range(6))
def test_routes__bound_what_a_program_finds(seed, conditions):
    problem = drawn(seed, conditions)
    routes, rng = routes_of(problem), np.random.default_rng(seed)
    missed = rng.normal(size=problem.system.rows) * (rng.random(problem.system.rows) < 0.3)
    masses = problem.reference
    sizes = np.abs(missed)
    rest = routes.bound(sizes, float((1.0 / masses).sum()), float(masses.min()))
    assert least_share(problem, missed, masses) <= rest.share
    # the same size wherever it is added
    largest = rest.share * masses.min()
    assert least_share(problem, missed, np.ones_like(masses)) <= largest * (1 + 1e-9)
    assert rest.square == pytest.approx(largest**2 * (1.0 / masses).sum(), rel=1e-6)
    assert rest.size >= largest
    assert (routes.form is not None) == (conditions == "PUR")
    if routes.form is not None:
        by_slab = routes.bound_by_slab(sizes, masses)
        assert least_share(problem, missed, masses) <= by_slab.share <= rest.share * (1 + 1e-6)
        assert by_slab.square <= rest.square * (1 + 1e-6)
        assert by_slab.size <= rest.size * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tolerance", [1e-1, 1e-6, 1e-9])
def test_certify__proves_as_much_without_a_search(seed, tolerance, monkeypatch):
    problem = drawn(seed)
    point = solved(problem, pt.IPF(), tolerance=tolerance).iterate
    searched: list[object] = []
    spied = ArraySpace._sums_on_basis
    monkeypatch.setattr(ArraySpace, "_sums_on_basis", lambda *given: searched.append(0) or spied(*given))
    found = certify(ArraySpace(problem), point)
    was_searched = bool(searched)
    monkeypatch.setattr(module, "routes_of", lambda problem: None)
    wanted = certify(ArraySpace(problem), point)
    assert len(searched) > was_searched
    assert found.bound == pytest.approx(wanted.bound, rel=0.05)
    assert 0.99 * wanted.tv_bound <= found.tv_bound <= 1.1 * wanted.tv_bound
    assert was_searched == (tolerance > 1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_factor_shifted__proves_the_least_eigenvalue_and_what_misses_take(seed):
    problem = random_arrays(seed)
    p, rows = problem.reference, independent_rows(problem.system).rows
    shifted = build_dense(problem.system, rows).factor_shifted(p)
    matrix = dense_matrix(problem.system).astype(float)[rows]
    exact = (matrix * p) @ matrix.T
    scale = 1.0 / np.sqrt(np.diag(exact))
    values = np.linalg.eigvalsh(exact * scale * scale[:, None])
    assert 0.5 * SHIFT < shifted.least <= values[0]
    missed = np.random.default_rng(seed).normal(size=problem.system.rows)
    found = shifted.solve(missed)
    assert exact @ found[rows] == pytest.approx(missed[rows], rel=1e-6, abs=1e-6)
    added = p * (matrix.T @ np.linalg.solve(exact, missed[rows]))
    rest = bound_by_matrix(shifted, np.abs(missed), float(p.sum()))
    assert (added**2 / p).sum() <= rest.square
    assert np.abs(added / p).max() <= rest.share
    assert np.abs(added).sum() <= rest.size


def test_factor_shifted__none_where_rows_nearly_depend_on_each_other():
    problem = random_arrays(3)
    form = build_dense(problem.system, np.arange(problem.system.rows))
    assert form.factor_shifted(problem.reference) is None
    rows = independent_rows(problem.system).rows
    masses = np.where(problem.system.index[0] == 0, 0.0, problem.reference)
    assert build_dense(problem.system, rows).factor_shifted(masses) is None


def test_routes__none_where_no_slab_has_all_places():
    whole = drawn(1, holes=0.0)
    assert routes_of(whole) is not None
    cells = np.flatnonzero(np.arange(72) % 9 != np.arange(72) // 9)
    rng = np.random.default_rng(0)
    records = {"x": (cells // 9).tolist(), "y": (cells % 9 // 3).tolist(), "s": (cells % 3).tolist()}
    table = pt.tabulate(records, weights=rng.random(len(cells)) + 0.1)
    holed = build_problem(table, pt.pur(table, response="y", protected="s")).arrays
    assert len(holed.index) == 3
    assert routes_of(holed) is None
    hessian_of(holed)
    assert routes_of(holed) is None
