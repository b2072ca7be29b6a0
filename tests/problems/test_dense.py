"""Families from other fields: what they are made of, and that they have answers."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt

FAMILIES = [
    ("transport", {"points": 12}),
    ("trips", {"zones": 15}),
    ("input_output", {"sectors": 14}),
    ("graph", {"nodes": 4, "categories": 4}),
    ("graph", {"nodes": 5, "categories": 3, "ring": 2}),
]


@pytest.mark.parametrize(("family", "sizes"), FAMILIES)
def test_families__have_an_answer_of_the_form_that_scaling_finds(family, sizes):
    problem = pt.problems.generate(family, seed=3, **sizes)
    found = pt.project(problem.reference, problem.constraints, tolerance=1e-12)
    assert found.converged
    assert found.certified
    for constraint in problem.constraints:
        told = pt.marginal(found.table, constraint.scope)
        np.testing.assert_allclose(told.values, constraint.target.values, atol=1e-11)
    again = pt.problems.generate(family, seed=3, **sizes)
    assert (again.masses == problem.masses).all()
    assert pt.kl_divergence(found.table, problem.reference) > 1e-4  # the reference is no answer


def test_transport__is_slower_the_less_it_is_regularised():
    rates = []
    for regularization in (0.1, 0.05, 0.02):
        problem = pt.problems.generate("transport", seed=1, points=20, regularization=regularization)
        rates.append(pt.convergence_rate(pt.project(problem.reference, problem.constraints)).sweeps_per_decade)
    assert rates[0] < rates[1] < rates[2]


def test_graph__the_reference_is_a_product_over_edges():
    problem = pt.problems.generate("graph", seed=0, nodes=4, categories=3, regularization=0.5)
    logs = np.log(problem.masses)
    opposite = logs - logs[:1] - logs[:, :, :1] + logs[:1, :, :1]  # the interaction of two nodes without an edge
    assert np.abs(opposite).max() < 1e-12
    beside = logs - logs[:1] - logs[:, :1] + logs[:1, :1]
    assert np.abs(beside).max() > 0.1


def test_input_output__empty_flows_stay_empty():
    problem = pt.problems.generate("input_output", seed=2, sectors=20, empty=0.5)
    assert 0.3 < np.mean(problem.masses == 0.0) < 0.6
    assert (np.diag(problem.masses) > 0.0).all()


@pytest.mark.parametrize(
    ("family", "sizes", "words"),
    [
        ("transport", {"points": 4, "regularization": 0.0}, "must be positive, got 0"),
        ("transport", {"points": 30, "regularization": 1e-4}, "take more"),
        ("graph", {"nodes": 3, "categories": 3, "regularization": 0}, "must be positive, got 0"),
        ("input_output", {"sectors": 3, "empty": 1.0}, "must be a share below 1, got 1.0"),
    ],
)
def test_families__refuse_options_that_make_no_problem(family, sizes, words):
    with pytest.raises(pt.InvalidOptionError, match=words):
        pt.problems.generate(family, seed=0, **sizes)


def test_families__refuse_more_than_the_memory_holds():
    with pytest.raises(pt.TooLargeError):
        pt.problems.generate("graph", seed=0, nodes=40, categories=10)
