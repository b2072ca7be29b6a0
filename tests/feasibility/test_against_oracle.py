"""Verdicts on small problems, compared with exact linear programming in whole numbers.

The profile `thorough` (HYPOTHESIS_PROFILE) takes ten thousand problems; `python -m tests.feasibility.many` counts them.
"""

from __future__ import annotations

import os

import pytest

from purtensor.projection.diagnose import diagnose
from tests.feasibility.drawn import KINDS, drawn
from tests.feasibility.many import faults
from tests.feasibility.oracle import decide

SEEDS = range(2000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 25)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_diagnose__verdict_zeros_and_witness_hold(kind, seed):
    problem = drawn(seed, kind)
    answer = decide(*problem.rows())
    diagnosis = diagnose(problem.reference, problem.constraints)
    assert [*faults(problem, answer, diagnosis)] == []


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        (4768, "pur"),  # the exact solution has 2e-20 at a profile: only the largest cycles may be corrected
        (61357, "infeasible"),  # floats: much of an earlier proof would bury the contradiction in its rounding
        (5141, "boundary"),  # 3 of 8e8: the last Newton steps are all rounding, whole numbers must decide
    ],
)
def test_diagnose__masses_below_the_rounding_of_others(seed, kind):
    problem = drawn(seed, kind)
    diagnosis = diagnose(problem.reference, problem.constraints)
    assert [*faults(problem, decide(*problem.rows()), diagnosis)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_explanation__of_every_verdict_is_told_in_words(kind):
    for seed in range(5):
        problem = drawn(seed, kind)
        diagnosis = diagnose(problem.reference, problem.constraints)
        text = str(diagnosis.explanation)
        assert text.endswith(".")
        assert ("can be met" in text) == (diagnosis.verdict != "infeasible")
        if diagnosis.verdict == "infeasible":
            assert diagnosis.explanation.missing > 0
            assert diagnosis.explanation.needed > diagnosis.explanation.room
