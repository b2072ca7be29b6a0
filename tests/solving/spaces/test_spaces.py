"""Every space of a problem in memory against the plain numpy one: each operation, and whole runs by each solver."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from purtensor.solving.certificate import best_change, certify
from purtensor.solving.iterate import Budget
from purtensor.solving.line_search import search
from purtensor.solving.loop import Stage, begin, run_stage
from purtensor.solving.problem import build_problem
from purtensor.solving.solvers.newton import newton_step
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.stopping import Stopping
from tests.solving.drawn import labelled_problem
from tests.solving.spaces.plain import PlainSpace
from tests.solving.spaces.plain_terms import exponential_excess, gap_terms, relative_excess

SPACES = {"arrays": ArraySpace, "plain": PlainSpace}
PROBLEMS = ("PUR", "PUR without regularisation", "binary, all pairs", "cube", "records")


def steps(space):
    """The solvers that are written over spaces."""
    return {
        "Newton": partial(newton_step, space, 3),
        "Newton at once": partial(newton_step, space, 0),
        "sweeps": lambda point, budget: space.sweep(point, None, budget),
    }


def run(make, problem, solver, **limits):
    space = make(problem)
    stopping = Stopping(
        **{"tolerance": 1e-9, "stop_on": "residual", "max_iterations": 300, "max_seconds": 1e9} | limits
    )
    return run_stage(Stage(space, begin(space, space.start()), steps(space)[solver], partial(certify, space)), stopping)


@pytest.mark.parametrize("solver", ["Newton", "Newton at once", "sweeps"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_run_stage__runs_in_all_spaces_alike(name, solver):
    problem = build_problem(*labelled_problem(name)).arrays
    mine, plain = (run(make, problem, solver) for make in SPACES.values())
    assert mine.termination is plain.termination
    assert mine.iterations == plain.iterations
    assert np.abs(mine.iterate.masses - plain.iterate.masses).sum() <= 1e-11 * problem.total
    assert not np.allclose(plain.iterate.masses, problem.reference, rtol=1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_certify__proves_alike_in_all_spaces(name):
    problem = build_problem(*labelled_problem(name)).arrays
    mine, plain = (run(make, problem, "sweeps", max_iterations=30) for make in SPACES.values())
    bounds = [certify(make(problem), found.iterate) for make, found in zip(SPACES.values(), (mine, plain), strict=True)]
    assert bounds[0].certified
    # each rounds up in its own way, and what is left to the basis differs
    assert bounds[0].tv_bound == pytest.approx(bounds[1].tv_bound, rel=1e-3, abs=1e-14)
    assert bounds[0].bound == pytest.approx(bounds[1].bound, rel=1e-3, abs=1e-28)


@pytest.mark.parametrize("name", PROBLEMS)
def test_spaces__agree_in_every_operation(name):
    problem = build_problem(*labelled_problem(name)).arrays
    told: list[list[float]] = []
    bounds: list[list[float]] = []
    for make in SPACES.values():
        space = make(problem)
        point = space.sweep(space.start(), None, Budget(2, 0.0, 0.0)).iterate
        rebuilt, was_scaled = space.rebuild(point)
        change = best_change(space, point)
        sums = space.sums(point, change)
        trial = space.try_step(point, space.direction(point, 0.0), 0.5)
        moved, gain = search(space, point, space.direction(point, 1e-5))
        linear = problem.targets @ (moved.potentials - point.potentials)
        assert gain == pytest.approx(linear - (space.mass(moved) - space.mass(point)), rel=1e-6, abs=1e-12)
        residual, proofs = space.residual(point), sums
        of_point = (residual.largest, residual.l1, space.dual(point), space.mass(rebuilt), was_scaled)
        of_step = (trial.slope, trial.loss, trial.largest, gain, space.has_emptied(point, 1e-9))
        told.append([*of_point, *of_step])
        bounds.append([proofs.divergence, proofs.gap, proofs.distance] if proofs.feasible else [])
    assert told[0] == pytest.approx(told[1], rel=1e-7, abs=1e-13)
    # far from the answer one bounds logarithms by their series: its gap is up to a third larger
    assert bounds[0][::2] == pytest.approx(bounds[1][::2], rel=1e-3, abs=1e-11)
    assert bounds[0][1::2] == pytest.approx(bounds[1][1::2], rel=0.33, abs=1e-11)


def test_exponential_excess__keeps_its_digits():
    z = np.array([-40.0, -1.0, -1e-3, 1e-9, 9.99e-4, 1.001e-3, 2.0])
    wide = z.astype(np.longdouble)
    exact = np.where(
        np.abs(z) < 0.1, wide**2 * (0.5 + wide * (1 / 6 + wide * (1 / 24 + wide / 120))), np.expm1(wide) - wide
    )
    assert exponential_excess(z) == pytest.approx(exact.astype(np.float64), rel=1e-12)


def test_relative_excess__of_a_change_that_empties_a_profile():
    w = np.longdouble("9.99e-3")
    near = float((1 + w) * np.log1p(w) - w)
    found = relative_excess(np.array([-1.0, 0.0, 1e-8, 9.99e-3, 1.0]))
    assert found == pytest.approx([1.0, 0.0, 5e-17, near, 2 * np.log(2) - 1], rel=1e-8, abs=0)


def test_gap_terms__vanish_at_the_logarithm_alone():
    w = np.array([-0.5, 1e-3, 0.7])
    assert gap_terms(w, np.log1p(w), np.zeros(3)) == pytest.approx(np.zeros(3), abs=1e-12)
    off = np.full(3, 1e-2)
    assert gap_terms(w, np.log1p(w), off) == pytest.approx((1 + w) * (np.exp(1e-2) - 1 - 1e-2), rel=1e-3)
    assert gap_terms(np.array([-1.0]), np.array([0.3]), np.array([0.1])) == pytest.approx(np.exp([0.4]))
