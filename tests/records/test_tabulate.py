from __future__ import annotations

import math
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import purtensor as pt
from purtensor.tables.coded import domain_of, encode, is_sparse

FRAME = pd.DataFrame({"sex": ["m", "f", "m", "f", "m"], "age": [2, 1, 2, 1, 10]})
FLAVOURS = {
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "polars lazy": pl.from_pandas(FRAME).lazy(),
    "pyarrow": pa.Table.from_pandas(FRAME),
    "pyarrow batch": pa.Table.from_pandas(FRAME).to_batches()[0],
    "duckdb": duckdb.sql("from FRAME"),
    "dict of lists": {name: FRAME[name].tolist() for name in FRAME},
    "dict of arrays": {name: FRAME[name].to_numpy() for name in FRAME},
}


@pytest.mark.parametrize("records", FLAVOURS.values(), ids=FLAVOURS)
def test_tabulate__is_the_same_from_any_library(records):
    table = pt.tabulate(records)
    assert is_sparse(table)
    assert table.dtype == np.float64
    assert table.to_series().to_dict() == {("f", 1): 2.0, ("m", 2): 2.0, ("m", 10): 1.0}
    assert [index.tolist() for index in domain_of(table).categories] == [["f", "m"], [1, 2, 10]]
    assert pt.tabulate(records, ["age", "sex"]).to_series().to_dict() == {(1, "f"): 2, (2, "m"): 2, (10, "m"): 1}
    assert pt.tabulate(records, "sex").values.tolist() == [2, 3]


@given(st.lists(st.tuples(st.sampled_from("cab"), st.integers(-1, 2), st.booleans()), min_size=1, max_size=30))
def test_tabulate__agrees_with_counting(rows):
    table = pt.tabulate(dict(zip("xyz", map(list, zip(*rows, strict=True)), strict=True)))
    assert table.to_series().to_dict() == Counter(rows)
    assert list(table.profile.values) == sorted(set(rows))


@given(st.lists(st.tuples(st.sampled_from("cab"), st.integers(0, 1000), st.integers(0, 8)), min_size=1, max_size=30))
def test_tabulate__sums_weights(rows):
    expected = defaultdict(Fraction)
    for label, x, weight in rows:
        expected[label, x % 2] += Fraction(weight, 4)
    labels, numbers, weights = (list(column) for column in zip(*rows, strict=True))
    records = {"label": labels, "parity": [x % 2 for x in numbers]}
    quarters = [weight / 4 for weight in weights]
    if not any(weights):
        with pytest.raises(pt.InvalidTableError, match="all weights are 0"):
            pt.tabulate(records, weights=quarters)
        return
    found = pt.tabulate(records, weights=quarters).to_series().to_dict()
    assert found == {profile: value for profile, value in expected.items() if value}
    assert pt.tabulate({**records, "w": quarters}, weights="w").to_series().to_dict() == found


@pytest.mark.parametrize("weights", [np.array([1, 2]), pl.Series([1, 2]), pa.array([1, 2]), pd.Series([1, 2]), (1, 2)])
def test_tabulate__weights_of_any_kind(weights):
    assert pt.tabulate({"a": ["x", "y"]}, weights=weights).values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("weights", "what"),
    [
        ([1, -1], r"the weight of row 1 \(counted from 0\) has -1.0"),
        ([np.inf, 1], r"the weight of row 0 \(counted from 0\) has inf"),
        ([1, np.nan], r"the weight of row 1 \(counted from 0\) is missing"),
        (pl.Series([1.0, float("nan")]), r"the weight of row 1 \(counted from 0\) has nan"),
        ([1, None], r"the weight of row 1 \(counted from 0\) is missing"),
        ([1], "1 weights for 2 records"),
        (["a", "b"], "weights must be numbers"),
        (np.array([1, 2**53 + 1]), "float64 cannot represent"),
        ([0, 0.0], "all weights are 0"),
    ],
    ids=str,
)
def test_tabulate__refuses_weights_that_are_no_masses(weights, what):
    with pytest.raises(pt.InvalidTableError, match=what):
        pt.tabulate({"a": ["x", "y"]}, weights=weights)


MISSING = {"sex": ["m", "f", None, "f", "m"], "age": [2, 1, 2, 1, 1]}


@pytest.mark.parametrize("flavour", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tabulate__refuses_missing_values_by_attribute_and_row(flavour):
    """Case 10: five rows with one missing value once 'converged in one step', 99.8 % off."""
    records = flavour(MISSING)
    with pytest.raises(pt.InvalidTableError, match=r"attribute 'sex' is missing in 1 of 5 rows \(2\).*missing='drop'"):
        pt.tabulate(records)
    dropped = pt.tabulate(records, missing="drop")
    assert dropped.to_series().to_dict() == {("f", 1): 2, ("m", 1): 1, ("m", 2): 1}
    assert dropped.attrs == {"dropped_rows": 1}
    kept = pt.tabulate(records, missing="category")
    assert kept.to_series().to_dict() == {("f", 1): 2, ("m", 1): 1, ("m", 2): 1, ("missing", 2): 1}
    assert domain_of(kept).categories[0].tolist() == ["f", "m", "missing"]


def test_tabulate__lists_every_attribute_with_gaps_and_a_few_rows():
    records = {"a": [None] * 9 + ["x"], "b": [1] * 8 + [None, 2]}
    with pytest.raises(pt.InvalidTableError) as caught:
        pt.tabulate(records)
    assert "'a' is missing in 9 of 10 rows (0, 1, 2, 3, 4 and 4 more)" in str(caught.value)
    assert "'b' is missing in 1 of 10 rows (8)" in str(caught.value)


def test_tabulate__missing_as_a_category_of_numbers_and_intervals():
    ages = pd.cut(pd.Series([20, 40, 99]), [0, 30, 60])
    table = pt.tabulate({"age": ages, "size": [1, None, 2]}, missing="category")
    assert table.size == 3
    age, size = domain_of(table).categories
    assert age.tolist() == [pd.Interval(0, 30), pd.Interval(30, 60), "missing"]
    assert size.tolist() == [1, 2, "missing"]
    assert len(encode(table).values) == 3


def test_tabulate__missing_as_a_category_that_is_there_already():
    with pytest.raises(pt.InvalidTableError, match="'a' has both a category 'missing' and missing values"):
        pt.tabulate({"a": ["missing", None]}, missing="category")
    assert pt.tabulate({"a": ["missing", "x"]}, missing="category").size == 2


def test_tabulate__dropping_everything_is_refused():
    with pytest.raises(pt.InvalidTableError, match="every record has a missing value"):
        pt.tabulate({"a": [1, None], "b": [None, 1]}, missing="drop")


def test_tabulate__dropped_rows_lose_their_weights_too():
    table = pt.tabulate({"a": ["x", None, "y"]}, weights=[1, 10, 100], missing="drop")
    assert table.values.tolist() == [1, 100]


@pytest.mark.parametrize("records", [{"a": []}, pd.DataFrame({"a": []}), pl.DataFrame({"a": []})])
def test_tabulate__refuses_no_records(records):
    with pytest.raises(pt.InvalidTableError, match="the records are empty"):
        pt.tabulate(records)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "what"),
    [
        (["height"], {}, pt.UnknownAttributeError, "no attribute 'height'; this set of records has sex, age"),
        ([None], {"weights": "w"}, pt.UnknownAttributeError, "no attribute 'w'"),
        ([["sex", "sex"]], {}, pt.InvalidTableError, "'sex' must be named once"),
        ([[]], {}, pt.InvalidOptionError, "attributes must name at least one column"),
        (
            [["sex", "age"]],
            {"weights": "age"},
            pt.InvalidOptionError,
            "'age' is named both as an attribute and as the weights",
        ),
        (
            [None],
            {"missing": "ignore"},
            pt.InvalidOptionError,
            "missing must be one of raise, drop, category, got 'ignore'",
        ),
    ],
)
def test_tabulate__names_what_is_wrong(arguments, options, error, what):
    with pytest.raises(error, match=what):
        pt.tabulate(FRAME, *arguments, **options)


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        (pd.DataFrame([[1, 2]]), "attribute names must be strings that are not empty, got 0"),
        (pd.DataFrame({"profile": [1]}), "'profile' is the dimension of sparse tables"),
        ({}, "attributes must name at least one column"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns 'a'"),
    ],
)
def test_tabulate__refuses_columns_that_cannot_be_attributes(frame, what):
    with pytest.raises(pt.PurtensorError, match=what):
        pt.tabulate(frame)


def test_tabulate__keeps_categories_that_do_not_occur():
    frame = pd.DataFrame({"age": pd.Categorical(["old", "old"], ["young", "old", "oldest"], ordered=True), "n": [1, 2]})
    table = pt.tabulate(frame)
    assert domain_of(table).categories[0].tolist() == ["young", "old", "oldest"]
    assert pt.to_dense(table).sum("n").values.tolist() == [0, 2, 0]


def test_tabulate__forty_attributes_of_ten_categories():
    generator = np.random.default_rng(5)
    records = {f"a{i:02}": generator.integers(0, 10, 100_000) for i in range(40)}
    records = {name: np.concatenate([column, column[:7]]) for name, column in records.items()}
    table = pt.tabulate(records)
    assert domain_of(table).size == 10**40
    assert table.size == 100_000
    assert table.values.sum() == 100_007
    assert sorted(table.values)[-8:] == [1] + [2] * 7


@pytest.mark.parametrize("weight", [Decimal(2**53 + 1), Fraction(2**53 + 1), 2**53 + 1], ids=type)
def test_tabulate__refuses_whole_weights_that_float64_does_not_hold(weight):
    with pytest.raises(pt.InvalidTableError, match=r"row 1 .*9007199254740993, .* float64 cannot represent"):
        pt.tabulate({"a": ["x", "y"]}, weights=[1, weight])
    assert pt.tabulate({"a": ["x", "y"]}, weights=[Decimal("0.1"), Fraction(1, 3)]).values.tolist() == [0.1, 1 / 3]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["i2", "i4", "i8", "u2", "u8", "f4", "f8"])
def test_tabulate__bytes_of_either_order_are_the_same_numbers(kind: str, order: str) -> None:
    column = np.array([3, 1, 2, 1], dtype=f"{order}{kind}")
    for records in ({"a": column}, {"a": pd.Series(column)}, pd.DataFrame({"a": column})):
        counts = pt.tabulate(records, weights=np.array([1, 2, 4, 8], dtype=f"{order}{kind}"))
        assert counts.to_series().to_dict() == {(1,): 10.0, (2,): 4.0, (3,): 1.0}


def test_tabulate__whole_weights_whose_sum_float64_cannot_hold_are_refused() -> None:
    assert pt.tabulate({"a": ["x", "x"]}, weights=[2**53, 2]).item() == 2.0**53 + 2
    with pytest.raises(pt.InvalidTableError, match=f"sum to {2**53 + 1}, an integer that float64 cannot represent"):
        pt.tabulate({"a": ["x", "x", "y"]}, weights=[2**53, 1, 1])


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "duckdb"])
def test_tabulate__whole_weights_are_summed_to_the_last_digit_where_they_lie(tmp_path: Path, kind: str) -> None:
    def source(*weights: int) -> Any:
        frame = pd.DataFrame({"a": ["x", "x", "y"], "w": list(weights)})
        path = tmp_path / f"weights.{kind}"
        if kind in ("polars", "duckdb"):
            return pl.from_pandas(frame).lazy() if kind == "polars" else duckdb.from_df(frame)
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
        return path

    sums = pt.tabulate(source(2**53, 2, 7), "a", weights="w").to_series().to_dict()
    assert sums == {("x",): 2.0**53 + 2, ("y",): 7.0}
    with pytest.raises(pt.InvalidTableError, match=f"sum to {2**53 + 1}, an integer") as caught:
        pt.tabulate(source(2**53, 1, 7), "a", weights="w")
    assert (caught.value.code, caught.value.got) == ("inexact-integer", 2**53 + 1)


def test_tabulate__weights_in_a_file_of_many_batches_are_summed_as_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({f"x{k}": rng.integers(0, 30, 150_000) for k in range(4)}).assign(
        w=rng.lognormal(size=150_000)
    )
    frame.to_parquet(tmp_path / "many.parquet")
    names = ["x0", "x1", "x2", "x3"]
    found = pt.tabulate(tmp_path / "many.parquet", names, weights="w")
    exact = frame.groupby(names)["w"].agg(math.fsum)
    assert found.size == len(exact)
    np.testing.assert_allclose(found.to_series().to_numpy(), exact.to_numpy(), rtol=4e-16)
