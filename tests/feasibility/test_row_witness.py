"""Verdicts on rows of any kind with bounds: proved in fractions, told in the users' words, never false."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import purtensor as pt
from purtensor.constraints.rows import RowBlock, Softness
from purtensor.feasibility.row_reach import out_of_reach
from purtensor.feasibility.row_witness import diagnose_rows
from purtensor.feasibility.verdict import Verdict
from purtensor.solving.dual.labelled import LabelledQuestion
from purtensor.solving.dual.options import GeneralOptions
from purtensor.solving.dual.question import Question
from purtensor.tables.coded import encode


def question(c, lower, upper, low, high, total=None):
    c = np.atleast_2d(np.asarray(c, dtype=float))
    labels = tuple(f"row {k}" for k in range(len(c)))
    block = RowBlock("asked", labels, sparse.csr_array(c), np.asarray(lower, float), np.asarray(upper, float))
    reference = np.ones(c.shape[1])
    return Question(reference, (block,), np.asarray(low, float), np.asarray(high, float), total or reference.sum())


def judge(asked):
    """The diagnosis of a question over numbered cells."""
    cells = pt.tabulate({"cell": range(len(asked.reference))}, weights=asked.reference)
    return diagnose_rows(LabelledQuestion(asked, encode(cells), (), GeneralOptions(), cells))


def drawn(seed):
    """Rows of counts, numbers and shares around a point within the bounds, so that they can be met."""
    rng = np.random.default_rng(seed)
    cells, rows = int(rng.integers(4, 25)), int(rng.integers(1, 7))
    c = np.vstack([np.ones(cells), rng.integers(-1, 4, (rows, cells)) * rng.choice([1.0, 0.37, 1200.5], (rows, 1))])
    low, high = 0.5 * rng.random(cells), 1.0 + rng.random(cells)
    if rng.random() < 0.3:
        high[:] = np.inf
    inside = low + rng.random(cells) * (np.minimum(high, 2.0) - low)
    sums, width = c @ inside, np.abs(c) @ inside * rng.choice([0.0, 0.05], len(c))
    return question(c, sums - width, sums + width, low, high)


def highest(asked, row):
    """The most that a row comes to while the others are met, and the least, by programs of the test's own."""
    others = [k for k in range(asked.rows) if k != row]
    c = asked.coefficients.toarray()
    found = []
    for side in (1, -1):
        solved = linprog(
            -side * c[row],
            A_ub=np.vstack([c[others], -c[others]]),
            b_ub=np.concatenate([asked.row_upper[others], -asked.row_lower[others]]) + 1e-9,
            bounds=np.column_stack([asked.lower, asked.upper]),
            method="highs",
        )
        found.append(-side * solved.fun if solved.status == 0 else None)
    return found


def beyond_reach(asked, seed):
    """The same rows, one of which asks for more than it can reach; None where nothing is out of reach."""
    row = int(np.random.default_rng(seed).integers(0, asked.rows))
    most, _ = highest(asked, row)
    if most is None:
        return None
    block = asked.blocks[0]
    low, high = block.lower.copy(), block.upper.copy()
    low[row] = most + 0.01 * np.abs(asked.coefficients[[row]].toarray()).sum()
    high[row] = low[row] + 1.0
    return replace(asked, blocks=(replace(block, lower=low, upper=high),))


@given(st.integers(0, 10**6))
def test_diagnose_rows__what_can_be_met_is_never_refuted(seed):
    asked = drawn(seed)
    found = judge(asked)
    assert found.verdict in (Verdict.INTERIOR, Verdict.BOUNDARY)
    sums = asked.sums(found.solution.values)
    unit = 1e-8 * np.abs(asked.coefficients.toarray()).max(axis=1) * asked.total
    assert np.all(sums >= asked.row_lower - unit)
    assert np.all(sums <= asked.row_upper + unit)
    assert not found.verify()


@given(st.integers(0, 10**6))
def test_diagnose_rows__what_cannot_be_met_is_proved_in_fractions(seed):
    asked = beyond_reach(drawn(seed), seed)
    if asked is None:
        return
    found = judge(asked)
    assert found.verdict is Verdict.INFEASIBLE
    assert found.exact == "rational"
    assert found.verify()
    assert found.explanation.conflict
    assert "asked" in str(found.explanation) or "contradict" in str(found.explanation)
    assert found.explanation.missing > 0.0
    # what must give way, given way, leaves a question that can be met
    block = asked.blocks[0]
    low, high = block.lower.copy(), block.upper.copy()
    for name, by in found.explanation.relaxations:
        row = block.labels.index(name.removeprefix("asked, "))
        low[row], high[row] = (low[row] + by, high[row]) if by < 0 else (low[row], high[row] + by)
    margin = 1e-6 * np.abs(asked.coefficients.toarray()).max(axis=1) * asked.total
    met = replace(asked, blocks=(replace(block, lower=low - margin, upper=high + margin),))
    assert judge(met).verdict is not Verdict.INFEASIBLE


@given(st.integers(0, 10**6))
def test_out_of_reach__is_what_programs_say_of_a_row_beside_the_total(seed):
    asked = drawn(seed)
    total = asked.coefficients[[0]].toarray() @ np.minimum(asked.lower + 0.3, asked.upper)
    row = 1
    block = asked.blocks[0]
    c = block.coefficients[[0, row]]
    far = np.abs(c.toarray()).sum() * 3
    alone = Question(
        asked.reference,
        (RowBlock("asked", ("total", "row"), c, np.array([total[0], far]), np.array([total[0], far + 1])),),
        asked.lower,
        asked.upper,
        asked.total,
    )
    (found,) = out_of_reach(alone)
    assert (found.row, found.side) == (1, 1)
    most, _ = highest(alone, 1)
    assert found.reach == pytest.approx(most, abs=1e-6 * np.abs(c.toarray()).sum())


def test_diagnose_rows__names_no_more_than_the_conflict_needs():
    """Three shares of which each pair can be met, among rows that have nothing to do with them."""
    c = np.zeros((8, 9))
    c[0, [0, 1]], c[1, [1, 2]], c[2, [0, 2]] = 1.0, 1.0, 1.0
    for k in range(3, 8):
        c[k, k : k + 2] = 1.0
    lower = np.array([1.6, 1.6, 1.6, *[0.5] * 5])
    found = judge(question(c, lower, np.full(8, 3.0), np.zeros(9), np.full(9, [0.7])))
    # every pair but none of the shares alone is out of reach of 1.4
    assert found.explanation.conflict in [("asked, row 0",), ("asked, row 1",), ("asked, row 2",)]
    assert found.explanation.bounds
    high = np.concatenate([[2.2], np.full(8, 0.7)])
    c[1, 0] = 1.0  # the first cell carries two of the rows, the third one cannot be met beside them
    found = judge(question(c, lower, np.array([1.6, 1.6, 3.0, *[3.0] * 5]), np.zeros(9), high, 9.0))
    assert all("row 3" not in name and "row 5" not in name for name in found.explanation.conflict)


def test_diagnose_rows__conflict_of_rows_that_only_all_together_contradict():
    """x + y >= 1.5, y + z >= 1.5, x + z >= 1.5, x + y + z <= 2: any three can be met."""
    c = [[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]]
    lower, upper = [1.5, 1.5, 1.5, -np.inf, 0.1], [np.inf, np.inf, np.inf, 2.0, 1.0]
    asked = question(c, lower, upper, np.zeros(4), np.full(4, np.inf))
    found = judge(asked)
    assert found.explanation.conflict == tuple(f"asked, row {k}" for k in range(4))
    assert found.verify()
    assert sum(abs(by) for _, by in found.explanation.relaxations) == pytest.approx(0.25, abs=1e-9)
    (whole,) = found.certificate
    weak = replace(found, certificate=(whole.copy(data=np.array([0, *whole.values[1:]])),))
    assert not weak.verify()


def test_diagnose_rows__cells_that_are_at_bounds_in_every_solution():
    people = pt.tabulate({"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo")})
    controls = [
        pt.Marginal(pt.tabulate({"sex": ["f", "m"]}, weights=[5.2, 4.8])),
        pt.Marginal(pt.tabulate({"age": ["y", "o"]}, weights=[6.5, 3.5])),
    ]
    found = pt.diagnose(people, controls, ratio_bounds=(0.5, 1.8))
    assert found.verdict is Verdict.BOUNDARY
    assert sorted(found.at_bound.values.reshape(-1).tolist()) == [-1, 0, 0, 1]
    assert "sex=f, age=o at least 0.5" in str(found.explanation)
    assert "sex=m, age=y at most 1.8" in str(found.explanation)
    for distance in ("kl", "logit"):  # for logit the one point that is left is a limit only
        ratios = pt.project(people, controls, ratio_bounds=(0.5, 1.8), distance=distance).table / people
        assert sorted(ratios.values) == pytest.approx([0.5, 0.6, 1.5 + 2 / 30, 1.8], abs=1e-6)


def test_diagnose_rows__soft_rows_refute_nothing():
    block = RowBlock(
        "asked",
        ("a",),
        sparse.csr_array([[1.0, 1.0]]),
        np.array([9.0]),
        np.array([9.0]),
        softness=Softness("l1", strength=np.ones(1)),
    )
    asked = Question(np.ones(2), (block,), np.zeros(2), np.ones(2), 2.0)
    assert judge(asked).verdict is Verdict.INTERIOR


def test_diagnosis__of_rows_has_what_every_diagnosis_has():
    """An upper bound of 1 on three people of whom two must weigh 2.2: one empty profile, or a contradiction."""
    people = pt.tabulate({"sex": ["f", "f", "m"], "age": ["old", "young", "old"]})
    nobody = pt.total(1, by="age", target={"young": 0.0, "old": 2.0})
    found = pt.diagnose(people, nobody, ratio_bounds=(0.0, 1.5))
    assert isinstance(found, pt.Diagnosis)
    assert (found.verdict, found.exact, found.certificate) == (Verdict.BOUNDARY, "nothing", ())
    assert found.reference is people
    np.testing.assert_array_equal(found.implied_zeros.values, np.where(found.at_bound.values < 0, people.values, 0.0))
    assert found.implied_zeros.sum() == 1.0
    assert found.solution.sum() == pytest.approx(2.0, abs=1e-9)

    refuted = pt.diagnose(people, pt.total(1, by="age", target={"young": 2.0, "old": 1.0}), ratio_bounds=(0.0, 1.5))
    (weights,) = refuted.certificate
    assert all(isinstance(weight, int) for weight in weights.values)
    assert refuted.solution is None
    assert [*refuted.certificate_chunks()] == [refuted.certificate]
    for name in ("smallest_miss", "incompatibility", "smallest_violation"):
        with pytest.raises(pt.errors.InvalidOptionError, match=f"{name} is of Marginals"):
            getattr(refuted, name)()
