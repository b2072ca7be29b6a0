"""Verdicts on small problems, compared with exact linear programming in whole numbers."""

from __future__ import annotations

import pytest

from purtensor.feasibility.diagnose import diagnose
from tests.feasibility.drawn import KINDS, drawn
from tests.feasibility.oracle import decide

SEEDS = range(25)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_diagnose__verdict_and_zeros_are_the_oracles(kind, seed):
    problem = drawn(seed, kind)
    answer = decide(*problem.rows())
    assert problem.verdict in (None, answer.verdict)
    diagnosis = diagnose(problem.reference, problem.constraints)
    assert diagnosis.verdict == answer.verdict
    if answer.verdict != "infeasible":
        empty = {problem.profiles[j] for j in answer.zeros}
        assert {tuple(profile) for profile in diagnosis.implied_zeros.indexes["profile"]} == empty
        assert problem.zeros in (None, empty)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_verify__every_witness_holds_label_by_label(kind, seed):
    problem = drawn(seed, kind)
    assert diagnose(problem.reference, problem.constraints).verify()
