from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.iterate import Budget, iterate_at, starting_potentials
from purtensor.solving.solvers.ipf.anderson import _Visit, _Visits, accelerated_step, extrapolation
from tests.solving.drawn import arrays_of, solved


def test_extrapolation__solves_a_linear_map_once_its_directions_are_known():
    rng = np.random.default_rng(1)
    jacobian = 0.4 * rng.standard_normal((4, 4))
    fixed = rng.standard_normal(4)
    points = [fixed + rng.standard_normal(4) for _ in range(5)]
    images = [fixed + jacobian @ (point - fixed) for point in points]
    visits = deque(_Visit(image, image - point) for point, image in zip(points, images, strict=True))
    found = images[-1] + extrapolation(visits, rng.uniform(0.5, 2.0, 4))
    assert found == pytest.approx(fixed, abs=1e-8)


def test_extrapolation__survives_moves_that_depend_on_each_other():
    visit = _Visit(np.array([1.0, 2.0]), np.array([0.1, 0.2]))
    assert extrapolation(deque([visit, visit, visit]), np.ones(2)).tolist() == [0.0, 0.0]


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
    wild = _Visit(100.0 * np.ones(rows), np.linspace(-1.0, 1.0, rows))
    iterate.memory = _Visits(deque([wild], maxlen=6))
    step = accelerated_step(pt.IPF().step, 5, problem, iterate)
    plain = pt.IPF().step(problem, iterate_at(problem, starting_potentials(problem)), Budget(1, 0.0, 0.0))
    assert step.iterate.masses == pytest.approx(plain.iterate.masses, rel=1e-13)
    assert len(step.iterate.memory.latest) == 0


def test_accelerated_step__masses_stay_those_of_the_potentials():
    problem = arrays_of("a")
    outcome = solved(problem, pt.IPF(acceleration=3), tolerance=0.0, iterations=400)
    rebuilt = iterate_at(problem, outcome.iterate.potentials).masses
    last = outcome.lines[-1].record
    assert outcome.iterate.masses == pytest.approx(rebuilt, rel=1e-14)
    assert last.residual == pytest.approx(outcome.residual.largest, abs=1e-15)
