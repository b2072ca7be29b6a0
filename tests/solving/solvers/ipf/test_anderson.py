from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.iterate import Budget, iterate_at, starting_potentials
from purtensor.solving.solvers.ipf.anderson import Moves, accelerate_step
from tests.solving.drawn import arrays_of, solved


def test_moves__solve_a_linear_map_once_its_directions_are_known():
    rng = np.random.default_rng(1)
    jacobian = 0.4 * rng.standard_normal((4, 4))
    fixed = rng.standard_normal(4)
    moves = Moves(rng.uniform(0.5, 2.0, 4), 4)
    for point in (fixed + rng.standard_normal(4) for _ in range(7)):  # the oldest differences make way
        image = fixed + jacobian @ (point - fixed)
        beyond = moves.learn(image, image - point)
    assert image + beyond == pytest.approx(fixed, abs=1e-6)


def test_moves__that_depend_on_each_other():
    moves = Moves(np.ones(2), 3)
    image, move = np.array([1.0, 2.0]), np.array([0.1, 0.2])
    assert all(moves.learn(image, move) is None for _ in range(3))  # the same point says nothing
    for share in (1.0, 2.0, 3.0, 4.0):
        beyond = moves.learn(image + share * move, (1.0 - share) * move)
    # moves shrink linearly along one line: their zero is known
    assert image + 4.0 * move + beyond == pytest.approx(image + move, abs=1e-6)


def test_accelerated_step__gains_at_least_what_the_sweep_does():
    problem = arrays_of("b_hard")
    iterate = iterate_at(problem, starting_potentials(problem))
    for _ in range(12):
        plain = pt.IPF().step(problem, iterate_at(problem, iterate.potentials), Budget(1, 0.0, 0.0))
        step = pt.IPF(acceleration=5).step(problem, iterate, Budget(1, 0.0, 0.0))
        assert step.records[0].kl_step >= plain.records[0].kl_step * (1 - 1e-12)
        iterate = step.iterate


def test_accelerated_step__where_the_dual_would_fall_the_sweep_stands_and_the_past_is_forgotten():
    problem = arrays_of("a")
    iterate = iterate_at(problem, starting_potentials(problem))
    rows = problem.system.rows
    iterate.memory = Moves(np.sqrt(problem.targets), 5)
    iterate.memory.learn(100.0 * np.ones(rows), np.linspace(-1.0, 1.0, rows))
    step = accelerate_step(pt.IPF().step, 5, problem, iterate)
    plain = pt.IPF().step(problem, iterate_at(problem, starting_potentials(problem)), Budget(1, 0.0, 0.0))
    assert step.iterate.masses == pytest.approx(plain.iterate.masses, rel=1e-13)
    assert step.iterate.memory.count == 0


def test_accelerated_step__masses_stay_those_of_the_potentials():
    problem = arrays_of("a")
    outcome = solved(problem, pt.IPF(acceleration=3), tolerance=0.0, iterations=400)
    rebuilt = iterate_at(problem, outcome.iterate.potentials).masses
    last = outcome.lines[-1].record
    assert outcome.iterate.masses == pytest.approx(rebuilt, rel=1e-14)
    assert last.residual == pytest.approx(outcome.residual.largest, abs=1e-15)
