"""A basis that is known beforehand: what it changes meets the misses of independent rows, and only these can differ."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.problem import build_problem
from purtensor.solving.product_basis import ProductBasis, product_basis
from purtensor.solving.spaces import arrays as module
from tests.constraints.exact import dense_matrix

SIZES = {"y": 3, "s": 4, "x": 5}


def drawn(sizes=SIZES, seed=0):
    values = np.random.default_rng(seed).gamma(1.0, size=tuple(sizes.values())) + 1e-3
    return xr.DataArray(values, dims=tuple(sizes), coords={name: range(size) for name, size in sizes.items()})


def problem_of(table, conditions="PUR"):
    return build_problem(table, pt.pur(table, response="y", protected="s", conditions=conditions)).arrays


@pytest.mark.parametrize("conditions", ["PUR", "UR", "PU"])
@pytest.mark.parametrize("order", [("y", "s", "x"), ("x", "s", "y"), ("s", "x", "y")])
def test_product_basis__inverts_the_independent_rows(order, conditions):
    problem = problem_of(drawn().transpose(*order), conditions)
    basis = product_basis(problem)
    matrix = dense_matrix(problem.system).astype(float)
    rows = independent_rows(problem.system, problem.slabs.key).rows
    changes = []
    for row in rows:
        missed = np.zeros(problem.system.rows)
        missed[row] = 1.0
        changes.append(basis.change(missed))
        assert matrix[rows] @ changes[-1] == pytest.approx(missed[rows], abs=1e-14)
        assert (basis.sizes(missed) >= np.abs(changes[-1])).all()
    assert np.count_nonzero(np.any(changes, axis=0)) == len(rows)


def test_product_basis__bounds_what_any_misses_of_a_size_change():
    problem = problem_of(drawn())
    basis, rng = product_basis(problem), np.random.default_rng(1)
    sizes = rng.random(problem.system.rows)
    bound = basis.sizes(sizes)
    largest = np.zeros_like(bound)
    for _ in range(400):
        largest = np.maximum(largest, np.abs(basis.change(sizes * rng.choice([-1.0, 1.0], len(sizes)))))
    assert (largest <= bound).all()
    assert (largest > 0.3 * bound)[bound > 0.0].all()


@pytest.mark.parametrize("conditions", ["PUR", "UR", "P"])
def test_product_basis__none_where_slabs_are_no_products(conditions):
    table = drawn()
    if conditions in ("PUR", "UR"):
        table[0, 0, 0] = 0.0
    assert product_basis(problem_of(table, conditions)) is None


def test_product_basis__none_where_a_third_constraint_is_not_on_the_pairs():
    table = drawn({**SIZES, "z": 3})
    scopes = [("y", "x", "z"), ("s", "x", "z"), ("y", "z")]
    assert product_basis(build_problem(table, pt.marginals_of(table, scopes)).arrays) is None


@pytest.mark.parametrize("max_iterations", [3, None])
def test_project__proves_as_much_on_a_product_basis(monkeypatch, max_iterations):
    table = drawn(seed=4)
    constraints = pt.pur(table, response="y", protected="s")
    found, used = [], []
    for most in (10**9, 0):
        monkeypatch.setattr(module, "MOST_ENTRIES", most)
        monkeypatch.setattr(module, "routes_of", lambda problem: None)
        monkeypatch.setattr(module.ArraySpace, "_sums_on", spied(module.ArraySpace._sums_on, used))
        found.append(pt.project(table, constraints, max_iterations=max_iterations, on_failure="return"))
        monkeypatch.undo()
    assert ProductBasis in used
    assert found[1].certified
    assert found[1].tv_bound == pytest.approx(found[0].tv_bound, rel=1e-3)


def spied(method, used):
    def with_basis(self, basis, *arguments):
        used.append(type(basis))
        return method(self, basis, *arguments)

    return with_basis


def test_project__searches_for_a_heavy_basis_where_the_known_one_proves_nothing(monkeypatch):
    table, used = drawn(seed=4), []
    monkeypatch.setattr(module, "MOST_ENTRIES", 0)
    monkeypatch.setattr(module, "routes_of", lambda problem: None)
    monkeypatch.setattr(module.ArraySpace, "_sums_on", spied(module.ArraySpace._sums_on, used))
    monkeypatch.setattr(ProductBasis, "sizes", lambda self, missed: np.ones_like(self.problem.reference))
    assert pt.project(table, pt.pur(table, response="y", protected="s")).certified
    assert used[:2] == [ProductBasis, module.Basis]
