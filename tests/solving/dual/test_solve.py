"""The dual solver on rows of every kind: its answers meet the conditions of optimality, and its proofs hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from purtensor.solving.dual.ascent import point_at
from purtensor.solving.dual.certificate import certify
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.columns.logit import LogitColumns
from purtensor.solving.dual.columns.squares import SquareColumns
from purtensor.solving.dual.problem import RowCosts, dual_problem
from purtensor.solving.dual.solve import solve
from purtensor.solving.dual.watch import Watch
from tests.solving.dual.mixed import draw_mixed, hard_rows, lack


@given(st.integers(0, 10**6))
def test_solve__mixed_rows_meet_the_conditions_of_optimality(seed):
    mixed = draw_mixed(seed)
    problem = mixed.problem()
    run = solve(problem, Watch(2000))
    assert run.converged
    proof = certify(problem, run.point, advance=True)
    assert proof.distance <= 1e-7 * mixed.mass  # a tiny standard error beside a large total costs digits
    potentials = proof.potentials * problem.row_scales
    assert lack(mixed, run.point.x[: problem.cells], potentials) <= 1e-7


@given(st.integers(0, 10**6), st.floats(1e-6, 0.3))
def test_certify__a_bound_of_any_state_holds(seed, noise):
    mixed = draw_mixed(seed)
    problem = mixed.problem()
    run = solve(problem, Watch(2000))
    exact = certify(problem, run.point)
    rng = np.random.default_rng(seed)
    moved = run.point.potentials * (1.0 + noise * rng.normal(size=problem.rows))
    other = point_at(problem, run.point.columns, moved)
    proof = certify(problem, other)
    apart = np.abs(proof.cells - exact.cells).sum()
    assert apart <= proof.distance + exact.distance


@given(st.integers(0, 10**6), st.sampled_from(["ipf", "lbfgs"]))
def test_solve__methods_without_equations_end_at_the_same_answer(seed, method):
    mixed = draw_mixed(seed)
    problem = mixed.problem()
    watch = Watch(1500)
    run = solve(problem, watch, tolerance=1e-11, method=method)
    exact, found = (certify(problem, one.point, advance=True) for one in (solve(problem, Watch(2000)), run))
    if run.converged:  # tiny standard errors take them very long
        assert found.distance <= 1e-6 * mixed.mass
    assert np.abs(found.cells - exact.cells).sum() <= found.distance + exact.distance


def _three_cells(cells, lower=0.0):
    coefficients = sparse.csr_array(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))
    rows = hard_rows(coefficients, np.array([6.0, 3.0]))
    problem = dual_problem(cells, rows, 6.0)
    run = solve(problem, Watch(100))
    assert run.converged
    return run.point.x


def test_solve__chi_squared_cells_move_on_a_line():
    reference = np.array([2.0, 2.0, 2.0])
    x = _three_cells(SquareColumns(reference, reference, np.full(3, -np.inf), np.full(3, np.inf)))
    np.testing.assert_allclose(x, [3.0, 1.5, 1.5], rtol=1e-13)


def test_solve__logit_cells_stay_inside_of_their_bounds():
    reference = np.array([2.0, 2.0, 2.0])
    x = _three_cells(LogitColumns(reference, 0.7 * reference, 1.6 * reference))
    np.testing.assert_allclose(x, [3.0, 1.5, 1.5], rtol=1e-12)


def test_solve__bounded_cells_are_exactly_at_their_bounds():
    reference = np.array([2.0, 1.0, 3.0])
    x = _three_cells(EntropyColumns(reference, 1.0, np.array([0.0, 1.2, 0.0]), np.full(3, np.inf)))
    np.testing.assert_allclose(x, [3.0, 1.2, 1.8], rtol=1e-13)
    assert x[1] == 1.2


@pytest.mark.parametrize("seed", [0, 3, 13, 17])  # of the last two a direction hardly bends
@pytest.mark.parametrize(("strength", "steps", "within"), [(1.0, 20, 1e-13), (1e3, 20, 1e-11), (1e6, 30, 1e-10)])
def test_solve__absolute_penalties_on_conflicting_targets_are_paid_at_the_strength_asked(seed, strength, steps, within):
    rng = np.random.default_rng(seed)
    c = (rng.random((30, 60)) < 0.3).astype(float)
    reference = rng.random(60) + 0.5
    targets = c @ reference * np.exp(rng.normal(0, 0.5, 30))
    rows = RowCosts(sparse.csr_array(c), targets, targets, np.full(30, strength), np.zeros(30), np.full(30, np.nan))
    problem = dual_problem(EntropyColumns(reference, 1.0, np.zeros(60), 2 * reference), rows, reference.sum())
    watch = Watch(400)
    run = solve(problem, watch)
    assert run.converged
    assert watch.iterations <= steps
    assert certify(problem, run.point, advance=True).distance <= within * problem.mass


def test_solve__ends_at_its_limit_with_the_reason():
    mixed = draw_mixed(3)
    run = solve(mixed.problem(), Watch(1))
    assert run.stopped == "iterations"
    assert not run.converged


@given(st.integers(0, 10**6), st.floats(0.01, 1e6))
def test_refuted_by__no_potentials_refute_what_has_an_answer(seed, size):
    mixed = draw_mixed(seed)
    problem = mixed.problem()
    y = size * np.random.default_rng(seed).normal(size=problem.rows)
    assert not problem.is_refuted_by(y)
    assert not problem.is_refuted_by(size * solve(problem, Watch(2000)).point.potentials)


@given(st.integers(0, 10**6))
def test_solve__what_bounds_put_out_of_reach_ends_after_few_steps(seed):
    rng = np.random.default_rng(seed)
    cells, rows = int(rng.integers(10, 60)), int(rng.integers(1, 6))
    reference = rng.gamma(2.0, 1.0, cells)
    c = np.vstack([np.ones(cells), rng.poisson(1.5, (rows, cells))])
    targets = c @ reference
    targets[1:] *= np.where(rng.random(rows) < 0.5, 1.5, 0.4)
    asked = hard_rows(sparse.csr_array(c), targets)
    columns = EntropyColumns(reference, 1.0, 0.8 * reference, 1.2 * reference)
    problem = dual_problem(columns, asked, float(reference.sum()))
    watch = Watch(2000)
    run = solve(problem, watch)
    assert run.stopped == "refuted"
    assert problem.is_refuted_by(run.point.potentials)
    assert watch.iterations <= 10
