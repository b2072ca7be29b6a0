"""The least divergence within a slack: the multiplier is the strength of the penalty that leaves it."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.fairness.disparity import parity_violation
from purtensor.fairness.slacks import Slacks
from purtensor.projection.relax import build_relaxation

ROLES = {"response": "y", "protected": "s"}


def problem():
    rng = np.random.default_rng(4)
    codes = np.array(np.meshgrid(range(2), range(3), range(4))).reshape(3, -1)
    counts = pt.tabulate(dict(zip("ysx", codes)), weights=rng.integers(1, 50, codes.shape[1]))
    f = pt.empirical(counts)
    return f, build_relaxation(f, pt.pur(f, **ROLES), (0,), "l1", 1.0)


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_within__uses_the_slack_up_at_the_least_divergence(share):
    f, labelled = problem()
    slack = share * parity_violation(f, **ROLES)
    within = Slacks(labelled.question, 0).within(slack)
    assert within.converged
    assert within.answer.certified
    table = labelled.table(within.answer.masses, "within")
    assert parity_violation(table, **ROLES) == pytest.approx(slack, abs=1e-10)
    relaxed = pt.relax(f, pt.pur(f, **ROLES), soft=0, penalty="l1", strength=within.strength)
    own = pt.kl_divergence(table, f)
    # (13) of notes/relaxation.md: at its multiplier the penalty is minimised by the same masses
    assert relaxed.objective == pytest.approx(own + within.strength * slack, abs=1e-12)


def test_within__one_slack_after_the_other_finds_what_each_finds_alone():
    f, labelled = problem()
    own = parity_violation(f, **ROLES)
    shared = Slacks(labelled.question, 0)
    for share in (0.7, 0.2, 0.45):
        alone = Slacks(labelled.question, 0).within(share * own)
        beside = shared.within(share * own)
        assert beside.converged
        assert beside.strength == pytest.approx(alone.strength, rel=1e-6)
        np.testing.assert_allclose(beside.answer.masses, alone.answer.masses, rtol=1e-8)


def test_within__a_slack_that_no_strength_leaves_is_not_called_met():
    _, labelled = problem()
    within = Slacks(labelled.question, 0).within(-0.1)
    assert not within.converged
    assert within.ending == "no strength leaves this slack"
