from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from scipy.optimize import minimize

import purtensor as pt
from purtensor.errors import InvalidOptionError
from purtensor.problems.classical import proxy
from purtensor.solving.iterate import iterate_at, residual_of, row_sums, starting_potentials
from purtensor.solving.solvers.lbfgs import Pair, two_loops
from tests.solving.drawn import arrays_of, solved, variation


def test_lbfgs__agrees_with_that_of_scipy_as_far_as_that_goes():
    problem = arrays_of("a")
    outcome = solved(problem, pt.LBFGS(), tolerance=1e-14)
    scale = np.sqrt(problem.targets)

    def fall(x):
        iterate = iterate_at(problem, x / scale)
        value = iterate.masses.sum() - problem.targets @ iterate.potentials
        return value, (row_sums(problem.system, iterate.masses) - problem.targets) / scale

    options = {"maxiter": 1000, "ftol": 0.0, "gtol": 0.0}
    theirs = minimize(fall, scale * starting_potentials(problem), jac=True, method="L-BFGS-B", options=options)
    masses = iterate_at(problem, theirs.x / scale).masses
    assert variation(outcome.iterate.masses, masses) <= 1e-7
    assert outcome.residual.largest <= 1e-14 < residual_of(problem, masses).largest


def test_lbfgs__a_longer_memory_takes_fewer_steps():
    problem = arrays_of("b_hard")
    short, long = (solved(problem, pt.LBFGS(memory=m), tolerance=1e-8).iterations for m in (3, 40))
    assert long < short


def test_lbfgs__needs_far_fewer_iterations_than_scaling():
    problem = arrays_of(proxy(0.051))
    assert solved(problem, pt.LBFGS(), tolerance=1e-10).iterations < 50
    assert solved(problem, pt.GIS(), tolerance=1e-10).iterations > 1000


def test_two_loops__invert_the_hessian_of_a_quadratic_once_its_directions_are_known():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    hessian = root @ root.T + np.eye(5)
    _, directions = np.linalg.eigh(hessian)
    pairs = deque(Pair(s, hessian @ s, float(s @ hessian @ s)) for s in directions.T)
    gradient = rng.standard_normal(5)
    found = two_loops(pairs, gradient, np.ones(5))
    assert found == pytest.approx(np.linalg.solve(hessian, gradient), rel=1e-10)


def test_two_loops__before_the_first_pair_scale_the_gradient():
    found = two_loops(deque(), np.array([1.0, -2.0]), np.array([3.0, 4.0]))
    assert found.tolist() == [3.0, -8.0]


@pytest.mark.parametrize("memory", [0, -1])
def test_lbfgs__refuses_to_remember_nothing(memory):
    with pytest.raises(InvalidOptionError, match="memory must be the number of earlier steps"):
        pt.LBFGS(memory=memory)
