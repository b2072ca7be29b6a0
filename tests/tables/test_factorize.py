from __future__ import annotations

import datetime
import decimal

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import purtensor as pt
from purtensor.records.frames import series
from purtensor.tables.factorize import factorize, plain_index

ORDER = ["young", "middle", "senior", "never"]
VALUES = ["senior", "young", None, "senior", "middle"]
CODES = [2, 0, -1, 2, 1]


def arrow(values):
    return pa.chunked_array([values])


ORDERED = {
    "pandas categorical": pd.Series(pd.Categorical(VALUES, ORDER)),
    "pandas ordered": pd.Series(pd.Categorical(VALUES, ORDER, ordered=True)),
    "bare categorical": pd.Categorical(VALUES, ORDER),
    "polars enum": pl.Series(VALUES, dtype=pl.Enum(ORDER)),
    "arrow dictionary": arrow(pa.DictionaryArray.from_arrays([2, 0, None, 2, 1], ORDER)),
    "duckdb enum": duckdb.sql(
        "select x::enum('young', 'middle', 'senior', 'never') as x "
        "from (values (0, 'senior'), (1, 'young'), (2, null), (3, 'senior'), (4, 'middle')) t(i, x) order by i"
    ).to_arrow_table()["x"],
}


@pytest.mark.parametrize("values", ORDERED.values(), ids=ORDERED)
def test_factorize__keeps_the_order_of_categories_and_the_unused_ones(values):
    factor = factorize(series(values, "x"), "x")
    assert factor.codes.tolist() == CODES
    assert factor.categories.tolist() == ORDER
    assert factor.missing_rows().tolist() == [2]


SORTED = {
    "list": ["b", "a", None, "b"],
    "tuple": ("b", "a", float("nan"), "b"),
    "pandas": pd.Series(["b", "a", None, "b"]),
    "pandas object": pd.Series(["b", "a", pd.NA, "b"], dtype=object),
    "pandas arrow": pd.Series(["b", "a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
    "polars": pl.Series(["b", "a", None, "b"]),
    "polars categorical": pl.Series(["b", "a", None, "b"], dtype=pl.Categorical),
    "arrow": pa.array(["b", "a", None, "b"]),
}


@pytest.mark.parametrize("values", SORTED.values(), ids=SORTED)
def test_factorize__sorts_strings(values):
    factor = factorize(series(values, "x"), "x")
    assert factor.codes.tolist() == [1, 0, -1, 1]
    assert factor.categories.equals(pd.Index(["a", "b"]))


@pytest.mark.parametrize(
    "values",
    [
        [7, -2, None, 7],
        np.array([7.0, -2.0, np.nan, 7.0]),
        np.ma.MaskedArray([7, -2, 99, 7], mask=[0, 0, 1, 0]),
        pd.array([7, -2, None, 7], dtype="Int8"),
        pd.Index([7.0, -2.0, None, 7.0]),
        pl.Series([7, -2, None, 7]),
        pl.Series([7.0, -2.0, float("nan"), 7.0]),
        pl.Series([7, -2, None, 7], dtype=pl.Decimal(10, 2)),
        pa.array([7, -2, None, 7], type=pa.int16()),
        [7, -2.0, None, 7],
        [decimal.Decimal(7), decimal.Decimal(-2), None, decimal.Decimal(7)],
    ],
    ids=str,
)
def test_factorize__whole_numbers_are_integers_however_stored(values):
    factor = factorize(series(values, "x"), "x")
    assert factor.codes.tolist() == [1, 0, -1, 1]
    assert factor.categories.dtype == np.int64
    assert factor.categories.tolist() == [-2, 7]


def test_factorize__integers_beyond_a_float_stay_exact():
    big = 2**53 + 1
    factor = factorize(series(pl.Series([big, None, big - 1]), "x"), "x")
    assert factor.categories.tolist() == [big - 1, big]
    assert factor.codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1, 2.0, 2**53, None],
        [decimal.Decimal(2**53 + 1), decimal.Decimal("2.00"), decimal.Decimal(2**53), None],
        pa.array([decimal.Decimal(2**53 + 1), decimal.Decimal(2), decimal.Decimal(2**53), None]),
        pl.Series([decimal.Decimal(2**53 + 1), decimal.Decimal(2), decimal.Decimal(2**53), None]),
    ],
    ids=lambda values: type(values).__module__,
)
def test_factorize__integers_beyond_a_float_stay_exact_beside_others(values):
    factor = factorize(series(values, "x"), "x")
    assert factor.categories.tolist() == [2, 2**53, 2**53 + 1]
    assert factor.codes.tolist() == [2, 0, 1, -1]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([None, decimal.Decimal(1), decimal.Decimal("1.00000000000000000001")], "1.00000000000000000001 in row 2"),
        ([decimal.Decimal(1), decimal.Decimal("Infinity")], "Infinity in row 1"),
        ([decimal.Decimal(1), decimal.Decimal("1E+100000")], r"1E\+100000 in row 1"),
        ([2.0, 2.0**53 * 2, 7], r"1.80\d*e\+16 in row 1"),
        ([2.0, 2**70], f"{2**70} in row 1"),
        ([2, float("inf")], "inf in row 1"),
        (pl.Series([None, 1.0, 0.5]), "0.5 in row 2"),
        (pd.Series([None, 1.0, 0.5], dtype="Float64"), "0.5 in row 2"),
        (pd.Series([None, 1.0, 0.5], dtype=pd.ArrowDtype(pa.float64())), "0.5 in row 2"),
        (pl.Series([None, decimal.Decimal("1.0"), decimal.Decimal("1.5")]), "1.5 in row 2"),
    ],
    ids=str,
)
def test_factorize__each_number_is_judged_as_it_came(values, told):
    with pytest.raises(pt.InvalidTableError, match=f"has the number {told} .counted from 0., which is not a category"):
        factorize(series(values, "x"), "x")


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="longdouble is float64 here")
def test_factorize__more_digits_than_float64():
    values = np.array([1, 1 + np.finfo(np.longdouble).eps], dtype=np.longdouble)
    with pytest.raises(pt.InvalidTableError, match=r"1\.0000000000000000001\d* in row 1"):
        factorize(series(values, "x"), "x")


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None],
        np.array([True, False]),
        pl.Series([True, False]),
        pa.array([True, False, None]),
        pd.Categorical([True, False], [False, True]),
    ],
    ids=str,
)
def test_factorize__booleans(values):
    factor = factorize(series(values, "x"), "x")
    assert factor.categories.dtype == bool
    assert factor.categories.tolist() == [False, True]
    assert factor.codes.tolist()[:2] == [1, 0]


@pytest.mark.parametrize(
    "values",
    [
        [datetime.date(2021, 1, 2), None, datetime.date(2020, 1, 1)],
        pd.to_datetime(pd.Series(["2021-01-02", None, "2020-01-01"])),
        pl.Series([datetime.date(2021, 1, 2), None, datetime.date(2020, 1, 1)]),
        pa.array([datetime.date(2021, 1, 2), None, datetime.date(2020, 1, 1)]),
        np.array(["2021-01-02", "NaT", "2020-01-01"], dtype="M8[D]"),
        pd.Categorical([datetime.date(2021, 1, 2), None, datetime.date(2020, 1, 1)]),
    ],
    ids=lambda values: type(values).__module__,
)
def test_factorize__dates_are_the_same_from_anywhere(values):
    factor = factorize(series(values, "x"), "x")
    assert factor.codes.tolist() == [1, -1, 0]
    assert factor.categories.tolist() == [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-02")]


def test_factorize__intervals_from_cut():
    ages = pd.cut(pd.Series([20, 70, 40, 200]), [17, 30, 55, 90, 120])
    factor = factorize(series(ages, "age"), "age")
    assert isinstance(factor.categories, pd.IntervalIndex)
    assert len(factor.categories) == 4
    assert factor.codes.tolist() == [0, 2, 1, -1]
    plain = factorize(series(ages.astype(object), "age"), "age")
    assert isinstance(plain.categories, pd.IntervalIndex)
    assert plain.codes.tolist() == [0, 2, 1, -1]


def test_factorize__arrow_chunks_with_different_dictionaries():
    parts = [pa.DictionaryArray.from_arrays([0, 1], ["x", "b"]), pa.DictionaryArray.from_arrays([1, 0], ["q", "b"])]
    factor = factorize(series(pa.chunked_array(parts), "x"), "x")
    assert factor.categories.tolist() == ["x", "b", "q"]
    assert factor.codes.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("values", [[17.5, 3.0], np.array([1.0, np.inf]), pl.Series([None, 17.5]), [1e300]], ids=str)
def test_factorize__refuses_numbers_that_name_no_category(values):
    with pytest.raises(pt.InvalidTableError, match=r"attribute 'age' has the number .* in row [01] .*bins={'age'"):
        factorize(series(values, "age"), "age")


def test_factorize__takes_fractions_that_were_declared_as_categories():
    factor = factorize(series(pd.Categorical([0.5, 0.25], [0.5, 0.25]), "dose"), "dose")
    assert factor.categories.tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("values", "types"),
    [
        ([1, "a"], "int, str"),
        ([True, 1], "bool, int"),
        ([b"x"], "bytes"),
        ([(1, 2), (3, 4)], "tuple"),
        ([1j], "complex"),
    ],
    ids=str,
)
def test_factorize__refuses_labels_of_no_or_several_types(values, types):
    with pytest.raises(pt.InvalidTableError, match=f"attribute 'x' has labels of type {types}"):
        factorize(series(values, "x"), "x")


def test_factorize__refuses_time_zones():
    with pytest.raises(pt.InvalidTableError, match="'x' has times with a time zone"):
        factorize(series(pd.Series(pd.DatetimeIndex(["2020-01-01"], tz="UTC")), "x"), "x")


@pytest.mark.parametrize("values", [[None, None], pl.Series([None, None]), pa.array([None, None], type=pa.string())])
def test_factorize__nothing_but_missing_values(values):
    factor = factorize(series(values, "x"), "x")
    assert factor.codes.tolist() == [-1, -1]
    assert len(factor.categories) == 0


def test_factorize__series_of_narwhals_itself():
    assert factorize(nw.from_native(pl.Series([2, 1]), series_only=True), "x").codes.tolist() == [1, 0]


def test_plain_index__finds_the_type():
    assert plain_index(np.array(["b", "a"])).equals(pd.Index(["b", "a"]))
    assert plain_index([1, "missing"]).dtype == object
    assert isinstance(plain_index([datetime.date(2020, 1, 1)]), pd.DatetimeIndex)
    assert plain_index([]).tolist() == []


def test_factorize__a_dictionary_of_no_rows():
    pa = pytest.importorskip("pyarrow")
    empty = pa.table({"a": pa.array([], pa.string()).dictionary_encode()})
    with pytest.raises(pt.InvalidTableError, match="the records are empty"):
        pt.tabulate(empty)
