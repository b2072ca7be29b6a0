from __future__ import annotations

import pytest

import purtensor as pt
from tests.solving.drawn import labelled_problem


def test_best_order__is_the_fastest_of_those_compared():
    problem = pt.problems.generate("binary", seed=3, attributes=4)
    result = pt.project(problem.reference, problem.constraints)
    found = pt.convergence.best_order(result)
    assert found.complete
    rates = found.compared["sweeps_per_decade"]
    assert rates.is_monotonic_increasing
    assert found.sweeps_per_decade == pytest.approx(rates.iloc[0], rel=0.011)
    again = pt.convergence_rate(result, order=found.order).sweeps_per_decade
    assert again == pytest.approx(found.sweeps_per_decade)
    slowest = pt.convergence_rate(result, order=found.compared["order"].iloc[-1]).sweeps_per_decade
    assert slowest > 1.02 * again


def test_best_order__of_real_sweeps_is_better_than_the_worst():
    problem = pt.problems.generate("binary", seed=3, attributes=4)
    found = pt.convergence.best_order(pt.project(problem.reference, problem.constraints))
    best, worst = (
        pt.project(problem.reference, problem.constraints, solver=pt.IPF(order=order), tolerance=1e-14).iterations
        for order in (found.order, found.compared["order"].iloc[-1])
    )
    assert best <= worst


def test_best_order__of_three_constraints_is_as_given():
    found = pt.convergence.best_order(pt.project(*labelled_problem("PUR")))
    assert found.order == (0, 1, 2)
    assert len(found.compared) == 1
    assert found.complete


def test_best_order__draws_where_there_are_too_many():
    result = pt.project(*labelled_problem("binary, all pairs"))
    found = pt.convergence.best_order(result, most=3, seed=1)
    assert len(found.compared) == 3
    assert not found.complete
    with pytest.raises(pt.InvalidOptionError, match="most"):
        pt.convergence.best_order(result, most=0)


def test_best_relaxation__is_what_real_sweeps_want():
    problem = pt.problems.load("b_lam0")
    best = pt.convergence.best_relaxation(pt.project(problem.reference, problem.constraints))
    plain, relaxed = (
        pt.project(problem.reference, problem.constraints, solver=pt.IPF(relaxation=omega)).iterations
        for omega in (1.0, best.relaxation)
    )
    assert relaxed < plain / 3
    assert best.plain == pytest.approx(15.2, abs=0.1)
    assert best.sweeps_per_decade == pytest.approx(2.96, abs=0.1)
