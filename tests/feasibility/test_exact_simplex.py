"""The simplex method in whole numbers, against the oracle and where floating point is blind."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.feasibility import verdict
from purtensor.feasibility.diagnose import diagnose_table
from purtensor.feasibility.exact_simplex import exact_answer
from purtensor.feasibility.farkas import spread_whole
from tests.feasibility.drawn import KINDS, drawn
from tests.feasibility.many import faults
from tests.feasibility.oracle import decide


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(100, 108))
def test_exact_answer__decides_alone(kind, seed, monkeypatch):
    problem = drawn(seed, kind)
    answer = decide(*problem.rows())
    for other in ("_refuting_cut", "_search", "_by_programs"):
        monkeypatch.setattr(verdict, other, lambda problem, targets: None)
    diagnosis = pt.diagnose(problem.reference, problem.constraints)
    assert [*faults(problem, answer, diagnosis)] == []


def table(values, **categories):
    return xr.DataArray(np.array(values, dtype=float), coords=categories, dims=list(categories))


def test_exact_answer__gives_weights_or_shares():
    rows, columns = pt.Marginal(table([1, 2], r=[0, 1])), pt.Marginal(table([2, 1], c=[0, 1]))
    full = diagnose_table(table([[1, 1], [1, 1]], r=[0, 1], c=[0, 1]), [rows, columns]).evidence
    found = exact_answer(full.system, full.decision.targets)
    assert isinstance(found, tuple)
    assert min(found) > 0
    for k, index in enumerate(full.system.index):
        sums = [sum((share for share, own in zip(found, index) if own == row), Fraction(0)) for row in range(2)]
        assert sums == [[Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]][k]
    stair = diagnose_table(table([[1, 1], [0, 1]], r=[0, 1], c=[0, 1]), [rows, columns]).evidence
    found = exact_answer(stair.system, stair.decision.targets)
    assert isinstance(found, np.ndarray)
    assert spread_whole(stair.system.index, stair.system.offsets, found).min() >= 0
    assert stair.decision.targets.dot(found) < 0


def test_exact_answer__large_questions_are_left_to_others():
    problem = pt.problems.load("b_lam0")
    finding = diagnose_table(problem.reference, problem.constraints).evidence
    assert exact_answer(finding.system, finding.decision.targets) is None
