"""Controls in a frame: empty ones to fill in, filled ones as constraints, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import purtensor as pt
from purtensor.calibration.controls import controls_of

PEOPLE = {"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo"), "x": [3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3.5]}
TARGETS = {"f": 5.2, "m": 4.8, "y": 6.5, "o": 3.5}


def filled(frame: pd.DataFrame) -> pd.DataFrame:
    label = frame["sex"].where(frame["sex"].notna(), frame["age"])
    return frame.assign(target=[TARGETS[name] for name in label])


def test_template__filled_in_is_the_question_itself():
    frame = pt.template(pd.DataFrame(PEOPLE), "sex | age")
    assert frame["sample"].tolist() == [4, 6, 6, 4]
    assert frame["target"].isna().all()
    weights = pt.calibrate(PEOPLE, filled(frame)).weights
    controls = [
        pt.total(1, by="sex", target={"f": 5.2, "m": 4.8}),
        pt.total(1, by="age", target={"y": 6.5, "o": 3.5}),
    ]
    np.testing.assert_allclose(weights, pt.calibrate(PEOPLE, controls).weights, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "kind"), [(pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame), (pa.table, pa.Table)]
)
def test_template__is_in_the_library_of_the_records_and_read_from_it(make, kind):
    found = pt.template(make(PEOPLE), ["sex", "age"])
    assert isinstance(found, kind)
    as_pandas = pd.DataFrame(found.to_pandas() if hasattr(found, "to_pandas") else found)
    weights = pt.calibrate(PEOPLE, make(filled(as_pandas).astype({"value": object}))).weights
    assert float(weights[:4].sum()) == pytest.approx(5.2, abs=1e-9)


def test_template__of_constraints_has_their_targets_and_comes_back_as_them():
    controls = [
        pt.total(1, by=("sex", "age"), target={("f", "y"): 3, ("f", "o"): 1, ("m", "y"): 2, ("m", "o"): 5}),
        pt.soft(pt.total("x", target=50), sd=2.0),
        pt.between(pt.total(1, by="sex", target={"f": 4.0, "m": 7.0}), absolute=1),
    ]
    frame = pt.template(PEOPLE, controls)
    assert frame["value"].dropna().tolist() == ["x"]
    assert frame["sd"].dropna().tolist() == [2.0]
    assert frame["lower"].dropna().tolist() == [3.0, 6.0]
    read = controls_of(frame)
    np.testing.assert_allclose(pt.calibrate(PEOPLE, read).weights, pt.calibrate(PEOPLE, controls).weights, rtol=1e-12)


def test_controls_of__rows_about_the_same_attributes_are_one_control_without_names():
    frame = pd.DataFrame({"sex": ["f", "m", None], "value": [None, None, "x"], "target": [5, 5.0, 40]})
    counts, income = controls_of(frame)
    assert (counts.name, income.name) == ("count by sex", "total of x")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"control": ["sex"], "sex": ["f"]}, "must have a column 'target'"),
        ({"control": [], "target": []}, "at least one row"),
        ({"control": ["sex"], "sex": ["f"], "target": [None]}, "has no target"),
        ({"control": ["sex"] * 2, "sex": ["f", "m"], "target": [1.0, None]}, "row 1 .*is empty"),
        ({"control": ["sex"] * 2, "sex": ["f", "f"], "target": [1.0, 2.0]}, "sex=f twice"),
        ({"control": ["a"] * 2, "sex": ["f", None], "target": [1.0, 2.0]}, "with and without 'sex'"),
        ({"control": ["a"], "sex": ["f"], "target": ["many"]}, "must be a number"),
        ({"control": ["a"], "sex": ["f"], "target": [1.0], "lower": [0.0]}, "only one of them"),
        (
            {"control": ["a"] * 2, "sex": ["f", "m"], "value": ["x", "y"], "target": [1.0, 1.0]},
            "columns x, y",
        ),
    ],
)
def test_controls_of__refuses_by_name(frame, message):
    with pytest.raises(pt.InvalidTableError, match=message):
        controls_of(pd.DataFrame(frame))


def test_template__refuses_what_is_no_total():
    with pytest.raises(pt.InvalidOptionError, match="totals and marginals"):
        pt.template(PEOPLE, [pt.mean("x", target=3)])
    with pytest.raises(pt.InvalidOptionError, match="'target' is the name of a column of templates"):
        pt.template({"target": [1, 2]}, "target")
    with pytest.raises(pt.UnknownAttributeError, match="income"):
        pt.template(PEOPLE, "income")


def test_template__keeps_whole_numbers_and_truths_beside_gaps_and_through_a_file(tmp_path):
    people = pd.DataFrame({"zone": [1, 1, 2, 2, 2], "own": [True, False, True, False, True]})
    frame = pt.template(people, "zone | own")
    assert frame["zone"].tolist() == [1, 2, None, None]
    assert [type(label) for label in frame["own"][2:]] == [bool, bool]
    frame["target"] = [4.0, 5.0, 3.5, 5.5]
    weights = pt.calibrate(people, frame).weights
    frame.to_csv(tmp_path / "controls.csv", index=False)
    read = pd.read_csv(tmp_path / "controls.csv")
    assert read["zone"].dtype == float  # pandas makes floats of whole numbers beside gaps: they are the same labels
    pd.testing.assert_series_equal(pt.calibrate(people, read).weights, weights)
    assert weights[people["own"]].sum() == pytest.approx(5.5, rel=1e-12)
