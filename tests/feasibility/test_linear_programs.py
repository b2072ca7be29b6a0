"""Linear programs: what they give up, and that their answers are candidates only."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.constraints.system import columns_of
from purtensor.feasibility import linear_programs as programs
from purtensor.feasibility import violation
from purtensor.feasibility.diagnose import diagnose_table
from purtensor.feasibility.linear_programs import emptying_weights, refuting_weights, sparse_weights


def found(name):
    problem = pt.problems.load(name)
    return diagnose_table(problem.reference, problem.constraints).evidence


def test_columns_of__sums_to_the_marginals():
    finding = found("proxy")
    masses = np.arange(1.0, finding.system.profiles + 1)
    sums = columns_of(finding.system) @ masses
    for k, index in enumerate(finding.system.index):
        np.testing.assert_array_equal(sums[finding.system.block(k)], np.bincount(index, masses))


def test_refuting_weights__are_bounded_where_they_count():
    system = found("cut_3x3").system
    weights = refuting_weights(system)
    assert np.abs(weights).max() <= 1
    assert (columns_of(system).T @ weights).min() >= -1e-9
    assert system.targets @ weights == pytest.approx(-2)
    counted = np.arange(system.rows) < 3
    assert np.abs(refuting_weights(system, counted)[:3]).max() <= 1


def test_sparse_weights__take_few_rows():
    system = found("cut_3x3").system
    weights = sparse_weights(system)
    assert np.count_nonzero(np.round(weights, 9)) == 3
    assert system.targets @ weights / system.targets[:3].sum() == pytest.approx(-1)


def test_emptying_weights__are_positive_where_nothing_fits():
    system = found("staircase").system
    costs = columns_of(system).T @ emptying_weights(system)
    assert (costs > 0.5).tolist() == [True, False, False]


def test_programs__given_up_tell_nothing(monkeypatch):
    monkeypatch.setitem(programs._TOLERANCES, "time_limit", 0.0)
    problem = pt.problems.load("b_lam0")
    diagnosis = pt.diagnose(problem.reference, problem.constraints)
    assert diagnosis.verdict == "interior"  # no program is asked
    assert diagnosis.smallest_miss() is None
    assert violation.smallest_violation(diagnosis.evidence.system, diagnosis.evidence.decision.targets, [0]) is None
