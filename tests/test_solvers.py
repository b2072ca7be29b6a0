"""What a solver of one's own is given: the public sums, and a memory that lasts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor import solvers
from purtensor.solving.iterate import dual_at, iterate_at, starting_potentials
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping
from tests.solving.drawn import arrays_of


class Remembering:
    """Returns bare potentials, and counts its steps in the memory of the iterate."""

    def __init__(self):
        self.seen = []

    def step(self, problem, iterate, budget):
        self.seen.append(iterate.memory)
        iterate.memory = (iterate.memory or 0) + 1
        return iterate.potentials + np.log(problem.targets / solvers.row_sums(problem, iterate.masses)) / 3


def test_memory__survives_steps_that_return_bare_potentials():
    solver = Remembering()
    run(arrays_of("a"), solver, Stopping(1e-10, "residual", 4, math.inf))
    assert solver.seen == [None, 1, 2, 3]


@pytest.fixture
def point():
    problem = arrays_of("a")
    iterate = iterate_at(problem, starting_potentials(problem))
    return problem, iterate, np.random.default_rng(0).standard_normal(problem.system.rows)


def test_gain__is_the_difference_of_two_duals(point):
    problem, iterate, change = point
    before = problem.targets @ iterate.potentials - iterate.masses.sum()
    moved = iterate_at(problem, iterate.potentials + change)
    after = problem.targets @ moved.potentials - moved.masses.sum()
    assert solvers.gain(problem, iterate.masses, change) == pytest.approx(after - before, rel=1e-10)
    assert dual_at(problem, moved) != dual_at(problem, iterate)


def test_gain__keeps_its_digits_where_duals_no_longer_differ(point):
    problem, _, _ = point
    ended = run(problem, pt.Newton(), Stopping(1e-14, "residual", 100, math.inf))
    change = np.zeros(problem.system.rows)
    change[0] = 1e-10
    expected = -0.5 * change[0] ** 2 * problem.targets[0]  # at the maximum only the curvature is left
    assert solvers.gain(problem, ended.iterate.masses, change) == pytest.approx(expected, rel=1e-3)


def test_hessian__is_the_derivative_of_the_row_sums_and_is_solved(point):
    problem, iterate, change = point
    matrix = solvers.hessian(problem, iterate.masses)
    expected = solvers.row_sums(problem, iterate.masses * solvers.on_profiles(problem, change))
    assert matrix @ change == pytest.approx(expected, rel=1e-12, abs=1e-15)
    found = solvers.solve_hessian(problem, iterate.masses, expected)
    assert solvers.on_profiles(problem, found) == pytest.approx(solvers.on_profiles(problem, change), abs=1e-9)


def test_masses_at__are_those_of_the_iterate(point):
    problem, iterate, _ = point
    assert np.array_equal(solvers.masses_at(problem, iterate.potentials), iterate.masses)
