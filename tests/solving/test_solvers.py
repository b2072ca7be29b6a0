"""Every solver on every problem: the same answer, the same rules."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.iterate import Budget, Iterate, Solver, Step, iterate_at, starting_potentials
from purtensor.solving.problem import build_problem
from purtensor.solving.termination import Termination
from tests.solving.drawn import (
    PROBLEMS,
    SOLVERS,
    answer,
    coefficients,
    labelled_problem,
    random_arrays,
    solved,
    variation,
)

each_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)


@pytest.fixture(scope="module", params=PROBLEMS)
def problem(request):
    return build_problem(*labelled_problem(request.param)).arrays


@pytest.fixture(scope="module")
def exact(problem):
    return answer(problem)


def small_problem():
    return build_problem(*labelled_problem("cube")).arrays


@each_solver
def test_solvers__reach_the_same_answer(problem, exact, solver):
    outcome = solved(problem, solver, tolerance=1e-11)
    assert outcome.termination is Termination.CONVERGED
    # the worst of these problems amplifies a residual about a hundred times
    assert variation(outcome.iterate.masses, exact) <= 1e-8


@each_solver
def test_solvers__never_let_the_dual_fall(problem, solver):
    lines = solved(problem, solver, tolerance=0.0, iterations=300).lines
    dual = np.array([line.record.dual for line in lines])
    assert np.diff(dual).min() >= -1e-14  # its own rounding: some eps times the potentials
    gains = np.array([line.record.kl_step for line in lines[1:]])
    assert not (gains < -1e-15).any()


@each_solver
def test_solvers__stay_in_the_exponential_family(problem, solver):
    outcome = solved(problem, solver, tolerance=0.0, iterations=70)
    t = outcome.iterate.potentials.astype(np.longdouble)
    log_ratio = coefficients(problem).T.astype(np.longdouble) @ t
    drift = outcome.iterate.masses / (problem.reference * np.exp(log_ratio)) - 1
    assert np.abs(drift).max() < 1e-14 * (1 + np.abs(t).max())


@each_solver
def test_solvers__the_stated_residual_is_that_of_the_masses(problem, solver):
    outcome = solved(problem, solver, tolerance=1e-6)
    matrix, total = coefficients(problem), problem.total
    missed = np.abs(matrix @ outcome.iterate.masses - problem.targets) / total
    assert outcome.residual.largest == pytest.approx(missed.max(), rel=1e-6, abs=1e-15)
    blocks = [missed[problem.system.block(k)].sum() for k in range(len(problem.index))]
    assert outcome.residual.l1 == pytest.approx(max(blocks), rel=1e-6, abs=1e-15)
    assert outcome.residual.largest <= 1e-6


@each_solver
def test_solvers__stall_at_a_tolerance_that_rounding_forbids(solver):
    problem = small_problem()
    outcome = solved(problem, solver, tolerance=0.0)
    assert outcome.termination in (Termination.STALLED, Termination.CONVERGED)
    assert outcome.residual.l1 <= 1e-14


@each_solver
def test_solvers__start_from_any_point_of_the_family(solver):
    problem = small_problem()
    start = starting_potentials(problem) + np.random.default_rng(5).standard_normal(problem.system.rows)
    outcome = solved(problem, solver, tolerance=1e-12, start=start)
    assert outcome.termination is Termination.CONVERGED
    assert variation(outcome.iterate.masses, answer(problem)) <= 1e-9


@each_solver
def test_solvers__give_the_same_bits_again(solver):
    problem = small_problem()
    first, second = (solved(problem, solver, tolerance=1e-10).iterate.potentials for _ in range(2))
    assert first.tolist() == second.tolist()


@each_solver
def test_solvers__are_frozen_and_take_steps(solver):
    problem = small_problem()
    assert isinstance(solver, Solver)
    assert dataclasses.replace(solver) == solver
    with pytest.raises((AttributeError, TypeError)):
        solver.order = (1, 0)
    before = iterate_at(problem, starting_potentials(problem))
    kept = before.potentials.copy()
    step = solver.step(problem, before, Budget(1, 0.0, 0.0))
    assert isinstance(step, Step)
    assert isinstance(step.iterate, Iterate)
    assert before.potentials.tolist() == kept.tolist()  # a step leaves the point that it starts from alone
    assert step.iterate.potentials.tolist() != kept.tolist()


@pytest.mark.parametrize("seed", range(60))
def test_solvers__agree_on_random_problems(seed):
    problem = random_arrays(seed, spread=seed % 4)
    exact = answer(problem)
    for name, solver in SOLVERS.items():
        outcome = solved(problem, solver, tolerance=1e-10, iterations=3000)
        if outcome.termination is Termination.CONVERGED:
            assert variation(outcome.iterate.masses, exact) <= 1e-5, name
        else:
            assert name not in ("Newton", "Newton at once", "LBFGS"), (name, outcome.termination)


def test_solvers__of_the_public_names():
    assert pt.IPF() == pt.IPF(order=None, relaxation=1.0, acceleration=None)
    assert pt.Newton() == pt.Newton()
    assert pt.GIS() == pt.GIS()
    assert pt.LBFGS() == pt.LBFGS(memory=10)
