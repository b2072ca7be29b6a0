"""Simulated PUR problems: the effects that were put in, the supports that were promised, published facts."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from tests.problems.oracles import smallest_parity_violation


def test_pur_problem__every_response_on_every_observed_predictor_profile():
    masses = pt.problems.load("b_hard").masses
    observed = masses.sum(axis=0) > 0
    assert np.array_equal(masses > 0, np.broadcast_to(observed, masses.shape))
    assert not observed.all()
    assert observed.any(axis=0).all()


def test_pur_problem__share_of_pseudo_count_cells():
    """22 % of the supported cells of b are pseudo-count only (whole per cent, as the benchmark set says)."""
    masses = pt.problems.load("b").masses
    supported = masses[masses > 0]
    assert np.mean(supported < 2 * supported.min()) == pytest.approx(0.22, abs=0.01)


def test_pur_problem__without_regularization_the_zeros_stay():
    masses = pt.problems.load("b_lam0").masses
    observed = np.broadcast_to(masses.sum(axis=0) > 0, masses.shape)
    assert 0 < np.count_nonzero(masses) < np.count_nonzero(observed)


def test_pur_problem__infeasible_by_the_published_violation():
    assert smallest_parity_violation(pt.problems.load("b_inf")) == pytest.approx(0.1957743258, abs=1e-9)


def test_pur_problem__bias_is_what_parity_removes():
    sizes = {"responses": 2, "protected": 3, "unprotected": 200}

    def distance_from_parity(bias):
        problem = pt.problems.generate("pur", seed=3, bias=bias, confounding=0.0, interaction=0.0, **sizes)
        return np.abs(problem.masses.sum(axis=2) - problem.targets[0][1]).sum()

    assert distance_from_parity(2.0) > 10 * distance_from_parity(0.0)


def test_pur_problem__constraints_are_those_of_the_paper():
    problem = pt.problems.load("a")
    f = problem.masses
    parity, utility, realism = (target for _, target in problem.targets)
    assert parity == pytest.approx(np.outer(f.sum((1, 2)), f.sum((0, 2))), rel=1e-14)
    assert utility == pytest.approx(f.sum(axis=1), rel=1e-14)
    assert realism == pytest.approx(f.sum(axis=0), rel=1e-14)
