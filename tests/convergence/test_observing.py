"""The rate that is seen: by the error it is the predicted one, by residuals it is not."""

from __future__ import annotations

import math

import pytest

import purtensor as pt


def solved(name, **options):
    problem = pt.problems.variant(name, **options)
    return pt.project(problem.reference, problem.constraints, certificate=False)


def test_observed_rate__is_the_predicted_one_by_the_error_only():
    result = solved("b", strength=1e-4)
    seen = pt.convergence.observed_rate(result)
    rate = pt.convergence_rate(result)
    assert rate.pair is not None
    assert 0.95 * rate.pair[1] < seen.by_error < 1.01 * rate.pair[0]
    assert seen.by_residuals < 0.65 * seen.by_error
    plain = pt.project(result.reference, result.constraints, solver=pt.IPF(), max_iterations=10_000)
    assert seen.sweeps_to_tolerance == pytest.approx(plain.iterations, rel=0.02)
    assert 1e-8 < seen.error_at_tolerance < 1e-5


def test_observed_rate__of_other_sweeps():
    result = solved("b", strength=1e-2)
    plain, relaxed = (
        pt.convergence.observed_rate(result, solver=solver).by_error for solver in (None, pt.IPF(relaxation=1.6))
    )
    assert relaxed < 0.5 * plain


def test_observed_rate__is_infinite_where_too_few_sweeps_were_made():
    seen = pt.convergence.observed_rate(solved("b"), max_iterations=50)
    assert math.isinf(seen.by_error)
    assert math.isinf(seen.sweeps_to_tolerance)
    assert seen.error_at_tolerance > 1e-8


def test_observed_rate__refuses_what_has_no_answer_inside():
    problem = pt.problems.load("b_inf")
    with pytest.raises(pt.InvalidOptionError, match="an answer inside"):
        pt.convergence.observed_rate(pt.project(problem.reference, problem.constraints, on_failure="return"))
    with pytest.raises(pt.InvalidOptionError, match=r"smallest must be in \(0, 1\), got 2"):
        pt.convergence.observed_rate(solved("a"), smallest=2)
    with pytest.raises(pt.InvalidOptionError, match="max_iterations must be a positive count, got 0"):
        pt.convergence.observed_rate(solved("a"), max_iterations=0)
