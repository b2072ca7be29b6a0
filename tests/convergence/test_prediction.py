"""Rates before the solve: bounds that hold, links that are named, and the rate at the solution."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.solving.problem import build_problem
from tests.constraints.exact import dense_matrix
from tests.solving.convergence.test_rates import product_of_means


def table_of(masses):
    coords = {name: [f"{name}{k}" for k in range(size)] for name, size in zip("ysx", masses.shape)}
    return xr.DataArray(masses / masses.sum(), dims=list("ysx"), coords=coords)


def drawn(seed):
    """A PUR question with small masses, zeros, or neither."""
    rng = np.random.default_rng(seed)
    shape = (*rng.integers(2, 4, 2), rng.integers(2, 6))
    masses = rng.dirichlet(np.full(np.prod(shape), rng.choice([0.2, 0.5, 1.0, 5.0]))).reshape(shape)
    if seed % 3 == 1:
        masses[rng.random(shape) < 0.2] = 0.0
    if seed % 3 == 2:
        masses = masses * (rng.random(shape) < 0.6) + 10.0 ** -rng.uniform(2, 5) * rng.random(shape)
    table = table_of(masses)
    return table, pt.pur(table, response="y", protected="s")


@pytest.mark.parametrize("seed", range(30))
def test_predict__lies_between_its_bounds(seed):
    found = pt.convergence.predict(*drawn(seed))
    assert found.lower * (1 - 1e-6) <= found.sweeps_per_decade <= found.upper * (1 + 1e-6)
    assert not found.proved
    assert found.estimate == max(found.slab, found.merged)


def planted(seed):
    """A question in one slab of which the profiles (y0, s0) and the others are joined by next to nothing."""
    rng = np.random.default_rng(seed)
    masses = 0.5 + rng.random((3, 3, 6))
    slab = int(rng.integers(6))
    masses[0, 1:, slab] = masses[1:, 0, slab] = 1e-6 * (1 + rng.random(2))
    table = table_of(masses)
    return table, pt.pur(table, response="y", protected="s"), slab


@pytest.mark.parametrize("seed", range(10))
def test_predict__names_the_weak_link(seed):
    table, constraints, slab = planted(seed)
    found = pt.convergence.predict(table, constraints)
    assert found.pair == (("y", "x"), ("s", "x"))
    assert found.weakest.where == {"x": f"x{slab}"}
    assert sorted(found.weakest.first) == ["s=s0", "y=y0"]
    assert found.weakest.profiles == 4
    assert found.weakest.sweeps_per_decade == pytest.approx(found.slab, rel=1e-4)
    assert found.sweeps_per_decade == pytest.approx(found.slab, rel=0.05)
    assert f"within x=x{slab}, {{y=y0; s=s0}}" in found.explanation


@pytest.mark.parametrize(("strength", "rate"), [(1e-2, 59.19), (1e-4, 5780.4), (1e-6, 577_900)])
def test_predict__at_the_solution_of_b(strength, rate):
    problem = pt.problems.variant("b", records=45_000, strength=strength)
    found = pt.convergence.predict(problem.reference, problem.constraints, at="solution")
    assert found.sweeps_per_decade == pytest.approx(rate, rel=1e-3)
    assert found.slab == pytest.approx(rate, rel=2e-3)
    assert found.merged == pytest.approx(2.01, abs=0.01)
    before = pt.convergence.predict(problem.reference, problem.constraints)
    assert before.sweeps_per_decade == pytest.approx(rate, rel=0.2)


def test_predict__takes_a_projection_or_a_table():
    problem = pt.problems.load("b_lam0")
    result = pt.project(problem.reference, problem.constraints, solver=pt.Newton(), tolerance=1e-12)
    by_result = pt.convergence.predict(problem.reference, problem.constraints, at=result)
    by_table = pt.convergence.predict(problem.reference, problem.constraints, at=result.table)
    solved = pt.convergence.convergence_rate(result).sweeps_per_decade
    assert by_result.sweeps_per_decade == pytest.approx(solved, rel=5e-3)
    assert by_table.sweeps_per_decade == pytest.approx(by_result.sweeps_per_decade, rel=1e-6)


def test_predict__two_constraints_have_the_rate_of_their_cosine():
    counts = pt.tabulate({"a": list("xyxyx"), "b": list("uuvvv")}, weights=[3, 1, 4, 1, 5])
    found = pt.convergence.predict(counts, pt.marginals_of(counts, ["a", "b"]))
    assert found.lower == found.upper == pytest.approx(found.sweeps_per_decade, rel=1e-9)
    assert found.sweeps_per_decade > 0.1


def test_predict__refuses_what_is_no_place():
    table, constraints = drawn(0)
    with pytest.raises(pt.InvalidOptionError, match="got 'answer'"):
        pt.convergence.predict(table, constraints, at="answer")
    with pytest.raises(pt.InvalidTableError, match="without some of its profiles"):
        pt.convergence.predict(table, constraints, at=table.where(table.y != "y0", 0.0))


def test_predict__says_what_it_left_out(monkeypatch):
    problem = pt.problems.load("b_lam0")
    monkeypatch.setattr("purtensor.solving.convergence.grouped_sweep._MOST_SECONDS", 0.0)
    found = pt.convergence.predict(problem.reference, problem.constraints, at="solution")
    assert found.sweeps_per_decade == pytest.approx(15.2, rel=0.01)
    assert "comes from 2" in found.explanation
    assert (found.lower, found.upper) == (0.0, np.inf)


def cube(size, kind):
    rng = np.random.default_rng(0)
    reference, other = (rng.gamma(1.0, size=(size, size, size)) for _ in range(2))
    coords = {name: range(size) for name in "abc"}
    reference, other = (xr.DataArray(one / one.sum(), dims=list("abc"), coords=coords) for one in (reference, other))
    return reference, pt.marginals_of(other, kind)


@pytest.mark.parametrize("kind", [["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")]])
def test_predict__finds_fast_rates_where_eigenvalues_lie_around_zero(kind):
    found = pt.convergence.predict(*cube(12, kind))
    rate = dense_rate(*cube(12, kind))
    assert found.sweeps_per_decade == pytest.approx(rate, rel=2e-3)


def dense_rate(reference, constraints):
    """From all eigenvalues of the product of the conditional means, on the span of the rows."""
    problem = build_problem(reference, constraints).arrays
    masses = problem.reference
    rows = dense_matrix(problem.system)
    product = product_of_means(problem, masses, range(len(problem.index)))
    basis = np.linalg.svd(rows.T, full_matrices=False)
    span = basis.U[:, 1e-9 * basis.S[0] < basis.S]
    modulus = np.abs(np.linalg.eigvals(span.T @ product @ span)).max()
    return np.log(10) / -np.log(modulus)


def test_predict__makes_sweeps_where_newtons_equations_are_large():
    reference, constraints = cube(40, [("a", "b"), ("b", "c"), ("a", "c")])
    found = pt.convergence.predict(reference, constraints)
    assert "Newton's equations are too large" in found.explanation
    assert found.pair is not None
    assert 1.0 < found.sweeps_per_decade < 1.3


@pytest.mark.parametrize("seed", range(0, 24, 3))
def test_predict__bounds_reach_the_solution_from_a_point_nearby(seed):
    """Newton's method is stopped early: the rate at the exact solution lies between what is proved from there."""
    table, constraints = drawn(seed)
    try:
        exact = pt.convergence.predict(table, constraints, at="solution")
    except pt.InfeasibleError:
        return
    rough = pt.project(table, constraints, solver=pt.Newton(), tolerance=1e-3, on_failure="return")
    found = pt.convergence.predict(table, constraints, at=rough)
    assert exact.proved
    assert exact.lower * (1 - 1e-6) <= exact.sweeps_per_decade <= exact.upper * (1 + 1e-6)
    if found.proved:
        assert found.lower * (1 - 1e-6) <= exact.sweeps_per_decade <= found.upper * (1 + 1e-6)
        assert found.lower <= exact.lower * (1 + 1e-6)


def test_predict__bounds_widen_with_the_distance_from_the_solution():
    table, constraints = drawn(0)
    tight, loose = (
        pt.convergence.predict(
            table, constraints, at=pt.project(table, constraints, solver=pt.IPF(), tolerance=10.0**-k)
        )
        for k in (12, 6)
    )
    assert tight.proved
    assert loose.proved
    assert loose.lower < 0.999 * tight.lower
    assert loose.upper > 1.0001 * tight.upper
