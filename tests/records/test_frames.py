from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import purtensor as pt
from purtensor.records.frames import read_records, series

FRAME = pd.DataFrame({"b": [1, 2, 3], "a": ["x", "y", "z"]})
FLAVOURS = {
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "polars lazy": pl.from_pandas(FRAME).lazy(),
    "pyarrow": pa.Table.from_pandas(FRAME),
    "duckdb": duckdb.sql("from FRAME"),
    "dict": {"b": [1, 2, 3], "a": pl.Series(["x", "y", "z"])},
}


@pytest.mark.parametrize("records", FLAVOURS.values(), ids=FLAVOURS)
def test_read_records__names_and_the_columns_asked_for(records):
    source = read_records(records)
    assert source.names == ("b", "a")
    columns = source.select(["a"])
    assert list(columns) == ["a"]
    assert columns["a"].to_list() == ["x", "y", "z"]


@pytest.mark.parametrize("records", [[1, 2], 7, "text", None, pd.Series([1])])
def test_read_records__refuses_what_is_no_frame(records):
    with pytest.raises(pt.InvalidTableError, match="records must be a data frame"):
        read_records(records)


@pytest.mark.parametrize(
    "records",
    [
        pd.DataFrame([[1, 2, 3]], columns=["b", "a", "a"]),
        pa.Table.from_arrays([pa.array([1])] * 3, names=["b", "a", "a"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_read_records__refuses_two_columns_of_one_name(records):
    with pytest.raises(pt.InvalidTableError, match="the records have two columns 'a'"):
        read_records(records)


def test_read_records__refuses_columns_of_different_lengths():
    with pytest.raises(pt.InvalidTableError, match="different lengths: a 2, b 1"):
        read_records({"a": [1, 2], "b": [1]}).select(["a", "b"])


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ("text", "must be .* got str"),
        (5, "must be .* got int"),
        ([[1], [2]], None),
        (pd.DataFrame({"a": [1]}), "has 2 dimensions"),
    ],
    ids=["str", "int", "nested list", "frame"],
)
def test_series__refuses_what_is_no_column(values, what):
    if what is None:
        assert series(values, "column 'x'").to_list() == [[1], [2]]
        return
    with pytest.raises(pt.InvalidTableError, match=f"column 'x' {what}"):
        series(values, "column 'x'")
