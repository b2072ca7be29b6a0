from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.gauge import canonical_potentials
from purtensor.solving.hessian import choice
from purtensor.solving.hessian.conjugate import Conjugate
from purtensor.solving.problem import build_problem
from tests.laws.test_ill_conditioned import doubling_chain
from tests.solving.drawn import PROBLEMS, coefficients, labelled_problem, random_arrays

each_problem = pytest.mark.parametrize("name", PROBLEMS)


def check(problem):
    rng = np.random.default_rng(0)
    potentials = 10.0 * rng.standard_normal(problem.system.rows)
    found = canonical_potentials(problem, potentials)
    matrix = coefficients(problem)
    kept = independent_rows(problem.system).mask(problem.system.rows)
    assert not found[~kept].any()
    assert matrix.T @ found == pytest.approx(matrix.T @ potentials, rel=0, abs=1e-12 * np.abs(potentials).max())


@each_problem
def test_canonical_potentials__zero_on_dependent_rows_and_the_same_masses(name):
    check(build_problem(*labelled_problem(name)).arrays)


@pytest.mark.parametrize("seed", range(20))
def test_canonical_potentials__on_random_supports(seed):
    check(random_arrays(seed, spread=6))


def test_canonical_potentials__without_a_matrix(monkeypatch):
    problem = build_problem(*labelled_problem("cube")).arrays
    monkeypatch.setattr(choice, "hessian_of", lambda problem: Conjugate(problem.system, ""))
    monkeypatch.setattr("purtensor.solving.gauge.hessian_of", choice.hessian_of)
    check(problem)


@each_problem
def test_canonical_potentials__do_not_depend_on_where_they_came_from(name):
    problem = build_problem(*labelled_problem(name)).arrays
    rng = np.random.default_rng(1)
    potentials = rng.standard_normal(problem.system.rows)
    shifted = potentials.copy()
    shifted[problem.system.block(0)] += 3.0
    if len(problem.index) > 1:
        shifted[problem.system.block(1)] -= 3.0
        found, again = canonical_potentials(problem, potentials), canonical_potentials(problem, shifted)
        assert again == pytest.approx(found, abs=1e-11)


@pytest.mark.parametrize("links", [16, 24, 28])
def test_potentials__say_the_table_where_rows_are_nearly_dependent(links):
    """The normal equations of a chain that doubles errors hide its weakest direction: potentials were off by 1e-3."""
    case = doubling_chain(links, 3)
    reference = case.exact * np.exp(np.random.default_rng(1).normal(size=case.exact.shape))
    result = pt.project(reference, case.constraints, tolerance=0.1, max_iterations=50, on_failure="return")
    assert pt.verify(result).membership <= 2e-14
