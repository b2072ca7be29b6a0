from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import purtensor as pt
from purtensor.sampling.rows import draw_rows

PEOPLE = pd.DataFrame(
    {"hired": list("yynnyn"), "sex": list("ffffmm"), "age": [20, 40, 20, 40, 30, 50], "w": [1.0, 3, 1, 1, 2, 0]}
)


def counts(**options):
    return pt.tabulate(PEOPLE, ["hired", "sex", "age"], bins={"age": [35]}, **options)


def test_draw_rows__are_copies_of_records_in_proportion_to_the_result():
    result = counts().copy(data=[0, 1, 0, 3, 0, 0])  # n, f, >=35 and y, f, <35
    found = draw_rows(PEOPLE, result, 4000, seed=2)
    assert list(found.columns) == list(PEOPLE.columns)
    assert set(found["age"]) == {20, 40}
    assert found["hired"].eq("y").mean() == pytest.approx(0.75, abs=0.03)
    assert found.merge(PEOPLE).shape == found.shape  # each is a record, whole
    assert found.equals(draw_rows(PEOPLE, result, 4000, seed=2))
    assert not found.equals(draw_rows(PEOPLE, result, 4000, seed=3))


def test_draw_rows__replace_the_response_where_no_record_has_the_profile():
    result = pt.regularize(counts(weights="w"), 5.0, response="hired")
    found = draw_rows(PEOPLE, result, 500, seed=1, response="hired", weights="w")
    assert list(found.columns) == ["hired", "sex", "age"]
    drawn = set(map(tuple, found.values.tolist()))
    assert ("n", "m", 30) in drawn  # the man of 30 was hired
    assert ("n", "m", 50) not in drawn  # weight 0
    share = pt.tabulate(found, bins={"age": [35]})
    np.testing.assert_allclose(share / share.sum(), pt.empirical(result).sel(profile=share.profile), atol=0.07)


def test_draw_rows__refuse_a_profile_that_no_record_is_like():
    result = pt.regularize(counts(), 100.0, response="hired")
    with pytest.raises(pt.InvalidTableError, match="no record is like the profile \\(hired="):
        draw_rows(PEOPLE, result, 99, seed=1)
    with pytest.raises(pt.InvalidOptionError, match="size must be 1 or more"):
        draw_rows(PEOPLE, result, 0, seed=1)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "duckdb"])
def test_draw_rows__come_in_the_library_of_the_records(library):
    people = PEOPLE.assign(
        hired=pd.Categorical(PEOPLE["hired"]), seen=pd.array([1, None, 3, 4, None, 6], dtype="Int64")
    )
    arrow = pa.Table.from_pandas(people, preserve_index=False)
    frame = {"polars": pl.from_arrow(arrow), "pyarrow": arrow, "duckdb": duckdb.from_arrow(arrow)}[library]
    result = pt.regularize(counts(weights="w"), 5.0, response="hired")
    found = draw_rows(frame, result, 200, seed=1, response="hired", weights="w")
    wanted = draw_rows(people, result, 200, seed=1, response="hired", weights="w")
    assert isinstance(found, pl.DataFrame if library == "polars" else pa.Table)
    assert found.to_pandas()["hired"].tolist() == wanted["hired"].tolist()
    rows = found["seen"].to_list() if library == "polars" else found["seen"].to_pylist()  # gaps and integers stay
    assert rows == wanted["seen"].astype(object).where(wanted["seen"].notna(), None).tolist()
