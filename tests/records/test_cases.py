"""Public complaints about reading and labels, with the right answers (25 to 31 and 34 of the list)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.errors import SuspiciousColumnWarning
from purtensor.records.files import open_records

DEPARTMENTS = [(a, g, d) for a in ("Admitted", "Rejected") for g in ("Male", "Female") for d in "ABCDEF"]


def test_case_26__counts_in_a_column_are_counts_or_the_column_is_named():
    """as.data.frame of R's UCBAdmissions: 24 rows for 4,526 people."""
    frame = pd.DataFrame(DEPARTMENTS, columns=["Admit", "Gender", "Dept"])
    frame["Count"] = np.random.default_rng(0).multinomial(4526, np.full(24, 1 / 24))
    assert float(pt.as_table(frame).sum()) == 4526
    assert float(pt.tabulate(frame, weights="Count").sum()) == 4526
    with pytest.warns(SuspiciousColumnWarning, match=r"'Count' has the name of a weight.*give weights='Count'"):
        pt.tabulate(frame)


def test_case_27__spellings_of_a_gap_are_refused_by_column_row_and_spelling(tmp_path):
    path = tmp_path / "adult.csv"
    path.write_text("sex,age\nf,y\nm, ?\nNA,o\nf,o\nm,y\nf,y\nm,o\nf,y\nm,y\nf,o\n")
    with pytest.raises(pt.InvalidTableError, match=r"'sex' has 'NA' in 1 of 10 rows \(first in row 2\).*' \?'.*row 1"):
        pt.tabulate(path)
    kept = pt.tabulate(open_records(path, missing_values=["NA", "?"]), missing="drop")
    assert float(kept.sum()) == 8


def test_case_28__codes_with_gaps_beside_a_category_of_gaps_come_back_from_a_file(tmp_path):
    frame = pd.DataFrame({"occupation": [1, 3, 7, None, 3, 1], "y": [0, 1, 0, 1, 1, 0]})
    table = pt.tabulate(frame, missing="category")
    pt.save(table, tmp_path / "table.csv")
    again = pt.load(tmp_path / "table.csv")
    assert again.indexes["profile"].tolist() == table.indexes["profile"].tolist()
    assert again.indexes["profile"].tolist() == [(1, 0), (3, 1), (7, 0), ("missing", 1)]
    np.testing.assert_array_equal(again.values, table.values)


def test_case_29__whole_floats_are_integers_and_text_is_refused_with_both_shown():
    reference = pt.tabulate({"q": [1, 2, 2], "z": ["a", "b", "a"]})
    for labels in ([1, 2], [1.0, 2.0]):
        target = pt.tabulate({"q": labels}, weights=[1.5, 1.5])
        assert float(pt.project(reference, [pt.Marginal(target)]).table.sel(q=1).sum()) == pytest.approx(1.5)
    target = pt.tabulate({"q": ["1", "2"]}, weights=[1.5, 1.5])
    with pytest.raises(pt.UnknownCategoryError, match=r"q='1', .*\(it has 1, 2\).*did you mean 1 \(int\)\?"):
        pt.project(reference, [pt.Marginal(target)])


def test_case_30__bins_that_are_spelt_another_way_are_refused_with_the_nearest():
    ages = pd.cut([20, 30, 40, 50], [18, 35, 60])
    reference = pt.tabulate(pd.DataFrame({"age": ages, "x": list("abab")}))
    target = pt.tabulate({"age": ["18-35", "36-60"]}, weights=[2.0, 2.0])
    with pytest.raises(pt.UnknownCategoryError, match=r"age='18-35'.*it has '\(18, 35\]'.*did you mean '\(18, 35\]'\?"):
        pt.project(reference, [pt.Marginal(target)])


def test_case_31__a_row_of_totals_is_refused_wherever_it_stands():
    frame = pd.DataFrame({"sex": ["f", "m", "Total"], "n": [3, 4, 7]})
    with pytest.raises(pt.InvalidTableError, match=r"'sex' has the label 'Total', whose numbers sum to those of all"):
        pt.as_table(frame)
    with pytest.raises(pt.InvalidTableError, match="'Total'"):
        pt.as_table({"f": 3, "m": 4, "Total": 7}, ["sex"])
    assert pt.as_table(frame[:2]).values.tolist() == [3.0, 4.0]
    honest = pt.as_table(frame.assign(n=[3, 4, 5]))  # a brand may be called so
    assert float(honest.sum()) == 12


def test_case_34__a_matrix_in_a_wide_frame_is_one_call_and_its_totals_are_refused():
    rows, columns = list("abc"), list("xyz")
    wide = pd.DataFrame(np.arange(1.0, 10.0).reshape(3, 3), index=rows, columns=columns)
    table = pt.as_table(wide, ["origin", "destination"])
    assert table.dims == ("origin", "destination")
    assert float(table.sel(origin="b", destination="z").item()) == 6.0
    whole = wide.assign(Total=wide.sum(axis=1))
    whole.loc["Total"] = whole.sum()
    with pytest.raises(pt.InvalidTableError, match=r"'Total', has the sums of the others.*drop\(index='Total'\)"):
        pt.as_table(whole, ["origin", "destination"])
    again = pt.as_table(whole.drop(index="Total", columns="Total"), ["origin", "destination"])
    np.testing.assert_array_equal(again.values, table.values)
