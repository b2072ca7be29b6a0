"""Forecasts against the runs that they are of."""

from __future__ import annotations

import math

import pytest

import purtensor as pt
from purtensor.solving.convergence import forecast
from tests.convergence.test_prediction import drawn


def run_of(problem, sweeps=20_000, **options):
    reference, constraints = problem
    return pt.project(
        reference,
        constraints,
        solver=pt.IPF(),
        max_iterations=sweeps,
        on_failure="return",
        certificate=False,
        **options,
    )


def named(name):
    problem = pt.problems.load(name)
    return problem.reference, problem.constraints


@pytest.mark.parametrize("name", ["a", "b", "b_lam0"])
@pytest.mark.parametrize("made", [1, 20])
def test_forecast__holds_on_named_problems(name, made):
    problem = named(name)
    whole, early = run_of(problem).iterations, run_of(problem, min(made, 9))
    found = pt.convergence.forecast(early)
    assert found.by == "answer"
    assert found.lower <= whole - early.iterations <= found.upper
    assert found.sweeps == pytest.approx(whole - early.iterations, rel=0.01, abs=1)
    assert 1 <= found.newton_steps <= 10


@pytest.mark.parametrize("seed", range(0, 40, 3))
def test_forecast__holds_half_way(seed):
    problem = drawn(seed)
    try:
        whole = run_of(problem)
    except pt.InfeasibleError:
        return
    if not whole.converged or whole.iterations < 4:
        return
    early = run_of(problem, whole.iterations // 2)
    found = pt.convergence.forecast(early)
    assert found.lower <= whole.iterations - early.iterations <= found.upper


def test_forecast__is_the_same_from_a_file(tmp_path):
    early = run_of(named("b_lam0"), 20)
    pt.save(early, tmp_path / "early.nc")
    here, there = pt.convergence.forecast(early), pt.convergence.forecast(pt.load(tmp_path / "early.nc"))
    assert there.sweeps == here.sweeps
    assert there.by == "answer"


def test_forecast__takes_a_tolerance():
    early = run_of(named("b_lam0"), 10)
    loose, tight = (pt.convergence.forecast(early, tolerance=10.0**-k).sweeps for k in (6, 12))
    assert tight - loose == pytest.approx(6 * 15, rel=0.3)
    assert pt.convergence.forecast(early, tolerance=0.9).sweeps == 0.0


def test_forecast__on_the_boundary_is_by_the_trend():
    early = run_of(named("staircase"), 200)
    found = pt.convergence.forecast(early, tolerance=1e-6)
    assert found.by == "trend"
    assert found.lower == 0.0
    assert found.sweeps > 1000
    assert "from residuals" in found.explanation


def test_forecast__without_an_answer_says_so():
    reference, constraints = named("b_inf")
    early = run_of((reference, constraints), 50)
    if early.termination is pt.results.Termination.INFEASIBLE:
        pytest.fail("the run found that out by itself: nothing is tested")
    with pytest.raises(pt.InfeasibleError):
        pt.convergence.forecast(early)


def test_forecast__where_newton_is_too_large_is_by_the_trend(monkeypatch):
    monkeypatch.setattr(forecast.GroupedSweep, "at", classmethod(lambda cls, *arguments: None))
    early = run_of(named("b"), 4000)
    found = pt.convergence.forecast(early)
    assert found.by == "trend"
    assert found.lower < 7066 - 4000 < found.upper
    assert math.isfinite(found.upper)


def test_forecast__explains_itself():
    found = pt.convergence.forecast(run_of(named("b"), 100))
    assert found.explanation.startswith("About 6,9")
    assert "steps of Newton's method" in found.explanation


def test_forecast__refuses_what_it_cannot_tell():
    early = run_of(named("a"), 2)
    with pytest.raises(pt.InvalidOptionError, match="tolerance"):
        pt.convergence.forecast(early, tolerance=0.0)
    bounded = pt.project(*named("a"), ratio_bounds=(0.2, 5.0), on_failure="return")
    with pytest.raises(pt.InvalidOptionError, match="marginals with targets"):
        pt.convergence.forecast(bounded)


def test_not_converged__tells_what_is_likely_to_be_left():
    reference, constraints = named("b")
    with pytest.raises(pt.NotConvergedError, match=r"; about 3,100 more sweeps, or 2 Newton steps$"):
        pt.project(reference, constraints, solver=pt.IPF(), max_iterations=4000)
    with pytest.raises(pt.NotConvergedError, match=r"about [\d,]+ to [\d,]+ more iterations are likely$"):
        pt.project(reference, constraints, solver=pt.IPF(relaxation=1.5), max_iterations=1500)
    with pytest.raises(pt.NotConvergedError, match=r"total mass 1$"):
        pt.project(reference, constraints, solver=pt.IPF(relaxation=1.5), max_iterations=2)
