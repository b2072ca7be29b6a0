"""The least divergence within a slack: by the bordered equations, and by the search for the strength that leaves it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import purtensor as pt
from purtensor.fairness.parity_violation import parity_violation
from purtensor.solving import soft_solve
from purtensor.solving.soft_ascent import SoftEnding
from purtensor.solving.soft_problem import build_soft_problem
from purtensor.solving.soft_solve import within_slack

ROLES = {"response": "y", "protected": "s"}


def problem():
    rng = np.random.default_rng(4)
    codes = np.array(np.meshgrid(range(2), range(3), range(4))).reshape(3, -1)
    counts = pt.tabulate(dict(zip("ysx", codes)), weights=rng.integers(1, 50, codes.shape[1]))
    f = pt.empirical(counts)
    parity, *others = pt.pur(f, **ROLES)
    return f, build_soft_problem(f, others, [parity], empties=False).arrays


def within(soft, slack):
    with np.errstate(all="ignore"):  # as its caller does
        return within_slack(soft, slack, tolerance=1e-10, max_iterations=200, is_hopeless=lambda: False)


@pytest.fixture
def lost(monkeypatch):
    """The bordered equations lose every slack."""
    ascend = soft_solve.ascend_absolute

    def losing(soft, given, **options):
        run = ascend(soft, given, **options)
        return run if given.slack is None else replace(run, ending=SoftEnding.STALLED)

    monkeypatch.setattr(soft_solve, "ascend_absolute", losing)


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_within_slack__the_search_for_a_strength_finds_the_same_masses(share, request):
    f, soft = problem()
    slack = share * parity_violation(f, **ROLES)
    direct = within(soft, slack)
    assert direct.ending is SoftEnding.CONVERGED
    request.getfixturevalue("lost")
    searched = within(soft, slack)
    assert searched.ending is SoftEnding.CONVERGED
    np.testing.assert_allclose(searched.point.masses, direct.point.masses, rtol=1e-8)
    assert searched.level == pytest.approx(direct.level, rel=1e-6)


@pytest.mark.usefixtures("lost")
def test_within_slack__a_slack_that_no_strength_leaves_is_not_called_met():
    _, soft = problem()
    assert within(soft, -0.1).ending is SoftEnding.STALLED


@pytest.mark.parametrize("root", [-7.3, -0.5, 0.0, 0.4, 12.0])
def test_bracket__holds_the_change_of_sign(root):
    low, high = soft_solve._bracket(lambda logarithm: root - logarithm)
    assert low <= root <= high
    assert low < high


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bracket__without_one_is_no_interval(sign):
    low, high = soft_solve._bracket(lambda logarithm: sign)
    assert low == high
    assert low * sign >= 30.0
