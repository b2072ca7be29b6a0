"""What a reader is told: the categories, what they need, what there is, and what conflicts."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.projection.diagnose import diagnose

PREDICTORS = ["income", "gender", "race", "age_group", "workclass", "education"]


def adult(extra):
    counts = pt.datasets.adult(attributes=[*PREDICTORS, extra])
    f = pt.regularize(counts, response="income")
    return diagnose(f, pt.pur(f, response="income", protected=["gender", "race"]))


def test_explanation__adult_with_relationship_is_explained_by_husbands():
    # husbands hold 0.1883 of the mass as high earners and are men but for one row; parity allows men 0.1677
    diagnosis = adult("relationship")
    assert diagnosis.verdict == "infeasible"
    assert diagnosis.verify()
    explanation = diagnosis.explanation
    assert round(explanation.needed, 4) == 0.1883
    assert round(explanation.room, 4) == 0.1677
    assert explanation.missing == pytest.approx(explanation.needed - explanation.room, abs=1e-15)
    assert 0.0205 < explanation.missing < 0.0826 / 4  # husbands alone; other relationships add a little
    assert [row[:2] for row in explanation.rows] == [
        ("needs", "income=>50K, relationship=Husband"),
        ("has room for", "income=>50K, gender=male"),
        ("has room for", "gender=female, relationship=Husband"),
    ]
    assert explanation.rows[2][3] == pytest.approx(1 / 46043, rel=1e-3)  # the one row
    assert len(explanation.constraints) == 3
    text = str(explanation)
    assert "relationship=Husband needs 0.1883" in text
    assert "missed by at least 0.08259 in L1" in text


def test_explanation__adult_with_marital_status_is_feasible():
    diagnosis = adult("marital_status")
    assert diagnosis.verdict == "interior"
    assert "mass on each of the 1124 profiles" in str(diagnosis.explanation)


def test_explanation__names_the_cut_in_the_targets_own_units():
    problem = pt.problems.load("cut_3x3")
    explanation = diagnose(problem.reference, problem.constraints).explanation
    assert (explanation.needed, explanation.room, explanation.missing) == (2, 1, 1)
    assert "row=2 (1) and row=3 (1) need 2. It can only lie in column=3, which may hold 1." in str(explanation)


def test_explanation__leaves_out_constraints_that_are_not_needed():
    problem = pt.problems.load("proxy")
    explanation = diagnose(problem.reference, problem.constraints).explanation
    assert len(explanation.constraints) == 2  # parity and one of the others suffice
    assert "missed by at least 0.4 in L1" in str(explanation)


def test_explanation__of_a_boundary_shows_what_takes_the_mass():
    problem = pt.problems.load("and_gate")
    text = str(diagnose(problem.reference, problem.constraints).explanation)
    assert "4 of the 8 profiles" in text
    assert "together they empty (x=1, y=1, z=0)" in text
    assert "nothing is left for (x=1, y=1, z=0)" in text


def test_explanation__a_row_without_profiles():
    table = xr.DataArray([[1.0, 0.0], [1.0, 0.0]], coords={"r": [0, 1], "c": ["a", "b"]}, dims=("r", "c"))
    columns = pt.Marginal(xr.DataArray([1.0, 2.0], coords={"c": ["a", "b"]}, dims="c"))
    rows = pt.Marginal(xr.DataArray([1.0, 2.0], coords={"r": [0, 1]}, dims="r"))
    assert "c=b needs 2, and the support has no profile there" in str(diagnose(table, (rows, columns)).explanation)


def test_explanation__many_rows_are_summed_up():
    # sixteen rows lie in column 0 alone, which has less than they need; the rest is too wide to be told shorter
    support = np.ones((40, 30))
    support[:16, 1:] = 0
    coords = {"r": np.arange(40), "c": np.arange(30)}
    table = xr.DataArray(support, coords=coords, dims=("r", "c"))
    rows = pt.Marginal(xr.DataArray(np.arange(5.0, 45), coords={"r": coords["r"]}, dims="r"))
    columns = pt.Marginal(xr.DataArray([190.0, *[25.0] * 28, 90.0], coords={"c": coords["c"]}, dims="c"))
    explanation = diagnose(table, (rows, columns)).explanation
    assert (explanation.needed, explanation.room) == (200, 190)
    assert "r=15 (20), r=14 (19), r=13 (18) and 13 more (143) need 200" in str(explanation)


def test_explanation__close_numbers_are_told_apart():
    table = xr.DataArray([[1.0, 1.0], [1.0, 0.0]], coords={"r": [0, 1], "c": [0, 1]}, dims=("r", "c"))
    rows = pt.Marginal(xr.DataArray([4e9, 5e9 + 1], coords={"r": [0, 1]}, dims="r"))
    columns = pt.Marginal(xr.DataArray([5e9, 4e9 + 1], coords={"c": [0, 1]}, dims="c"))
    text = str(diagnose(table, (rows, columns)).explanation)
    assert "5000000001" in text
    assert "5000000000" in text


def test_diagnosis__prints_as_verdict_and_reasons():
    problem = pt.problems.load("cut_3x3")
    lines = str(diagnose(problem.reference, problem.constraints)).splitlines()
    assert lines[0] == "infeasible"
    assert lines[2] == "row=2 (1) and row=3 (1) need 2. It can only lie in column=3, which may hold 1."


def test_repr_html__escapes_labels():
    table = xr.DataArray([[1.0, 0.0], [1.0, 0.0]], coords={"r": [0, 1], "c": ["a", "<b>"]}, dims=("r", "c"))
    columns = pt.Marginal(xr.DataArray([1.0, 2.0], coords={"c": ["a", "<b>"]}, dims="c"))
    html = diagnose(table, columns)._repr_html_()
    assert "c=&lt;b&gt;" in html
    assert "<b>infeasible</b>" in html
    assert "<td>needs</td>" in html


def test_explanation__of_very_many_rows_lists_the_largest_and_sums_the_rest():
    # 200 rows lie in column 0 alone, which is short of 100; another 300 and 300 columns take the rest
    support = np.ones((500, 301))
    support[:200, 1:] = 0
    coords = {"r": np.arange(500), "c": np.arange(301)}
    needs = np.where(np.arange(500) < 200, 10.0 + np.arange(500), 300.0)
    table = xr.DataArray(support, coords=coords, dims=("r", "c"))
    short = needs[:200].sum() - 100
    spread = (needs.sum() - short) // 300
    columns = np.array([short, *[spread] * 299, needs.sum() - short - 299 * spread])
    marginals = [pt.Marginal(xr.DataArray(v, coords={n: coords[n]}, dims=n)) for n, v in (("r", needs), ("c", columns))]
    explanation = diagnose(table, marginals).explanation
    assert (explanation.needed, explanation.room) == (needs[:200].sum(), short)
    assert len(explanation.rows) == 102
    assert explanation.rows[0] == ("needs", "r=199", "(r)", 209)
    assert explanation.rows[100] == ("needs", "100 more", "", needs[:100].sum())
    assert explanation.rows[101][:2] == ("has room for", "c=0")
    assert f"r=197 (207) and 197 more ({needs[:197].sum():.0f}) need" in str(explanation)
