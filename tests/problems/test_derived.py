"""Hard problems: the climb goes up, its figure is real, and the automatic choice is not beaten by it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.problems.derived import hardest, problem_of_counts
from purtensor.solving.convergence.grouped_sweep import GroupedSweep, leading_eigenvalue
from purtensor.solving.iterate import Budget, iterate_at
from purtensor.solving.problem import build_problem
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping

SLOWEST = [[[1, 32, 0], [0, 0, 8]], [[0, 0, 6], [37, 16, 0]]]
"""What `hardest(seed=4, moves=400)` found."""


def rate_of(problem):
    found = pt.convergence.predict(problem.reference, problem.constraints, at="solution")
    return found.sweeps_per_decade


def slowest():
    return problem_of_counts(SLOWEST, 0.01, name="slowest", found="found by 400 moves")


@pytest.mark.slow
def test_hardest__climbs_and_repeats_itself():
    rates = [rate_of(hardest(seed=2, moves=moves)) for moves in (0, 20, 60)]
    assert rates == sorted(rates)
    assert rates[-1] > 10 * max(rates[0], 1.0)
    again = hardest(seed=2, moves=60)
    assert again.masses.tolist() == hardest(seed=2, moves=60).masses.tolist()
    assert f"{rates[-1]:,.4g} sweeps" in again.description


def test_hardest__keeps_the_size():
    problem = hardest(seed=5, responses=3, protected=2, unprotected=4, records=30, strength=0.1, moves=10)
    assert problem.masses.shape == (3, 2, 4)
    assert problem.masses.sum() == pytest.approx(1.0)
    cells = 24
    counts = (problem.masses * (1 + cells * 0.1 / 30) - 0.1 / 30) * 30
    assert counts == pytest.approx(np.rint(counts), abs=1e-9)
    assert counts.sum() == pytest.approx(30)
    assert (counts.sum(axis=(0, 1)) > 0.5).all()


def test_hardest__for_a_solver_counts_its_iterations():
    problem = hardest(seed=3, solver=pt.Newton(), moves=15)
    steps = pt.project(problem.reference, problem.constraints, solver=pt.Newton(), tolerance=1e-10).iterations
    assert f"{steps} iterations" in problem.description
    first = hardest(seed=3, solver=pt.Newton(), moves=0)
    begun = pt.project(first.reference, first.constraints, solver=pt.Newton(), tolerance=1e-10).iterations
    assert steps >= begun


def test_hardest__its_figure_is_that_of_real_sweeps():
    """An error along the slowest mode shrinks as predicted: by a thousandth in 10,000 sweeps."""
    problem = slowest()
    arrays = build_problem(problem.reference, problem.constraints).arrays
    exact = run(arrays, pt.Newton(), Stopping(1e-16, "residual", 60, math.inf)).iterate
    sweep = GroupedSweep.at(arrays, exact.masses)
    lead = leading_eigenvalue(sweep)
    assert math.log(10.0) / lead.gap.real == pytest.approx(2.609e7, rel=0.01)
    mode = lead.mode.real
    mode = 1e-4 * mode / np.abs(sweep.on_profiles(mode)).max()

    def norm(potentials):
        z = sweep.on_profiles(potentials - exact.potentials)
        return math.sqrt(float(exact.masses @ z**2))

    begun = iterate_at(arrays, exact.potentials + mode)
    sweeps, point = 10_000, begun
    left = sweeps
    while left:
        step = pt.IPF().step(arrays, point, Budget(left, -1.0, -1.0))
        point, left = step.iterate, left - step.iterations
    fallen = -math.log(norm(point.potentials) / norm(begun.potentials))
    assert fallen == pytest.approx(sweeps * lead.gap.real, rel=0.05)


def test_slowest__does_not_beat_the_automatic_choice():
    problem = slowest()
    found = pt.project(problem.reference, problem.constraints)
    assert found.certified
    assert found.iterations < 100
    newton = pt.project(problem.reference, problem.constraints, solver=pt.Newton(), tolerance=1e-13)
    assert pt.total_variation(found.table, newton.table) < 1e-8


@pytest.mark.parametrize(
    "option",
    [{"responses": 1}, {"unprotected": 0}, {"records": 2}, {"strength": 0.0}, {"moves": -1}, {"protected": 2.5}],
    ids=str,
)
def test_hardest__refuses_sizes_that_are_none(option):
    with pytest.raises(pt.InvalidOptionError, match=f"{next(iter(option))} must be"):
        hardest(seed=0, **option)
