"""tabulate x faults of records: refused with the attribute and the row, or counted as what they are."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import purtensor as pt

UTC = datetime.UTC


def frame(**columns):
    return pd.DataFrame({"sex": ["f", "m", "m"], **columns})


REFUSED = {
    "missing": (lambda: frame(age=["old", None, "old"]), "'age'.*1 of 3 rows"),
    "NaN": (lambda: frame(age=[1.0, np.nan, 2.0]), "'age'.*1 of 3 rows"),
    "not a time": (lambda: frame(day=pd.to_datetime(["2020-01-01", None, "2020-01-02"])), "'day'.*1 of 3 rows"),
    "pd.NA": (lambda: frame(age=pd.array([1, pd.NA, 2], dtype="Int64")), "'age'.*1 of 3 rows"),
    "missing boolean": (lambda: frame(rich=pd.array([True, None, False], dtype="boolean")), "'rich'.*1 of 3 rows"),
    "missing in arrow": (lambda: pa.table({"sex": ["f", None]}), "'sex'.*1 of 2 rows"),
    "missing in polars": (lambda: pl.DataFrame({"sex": ["f", None]}), "'sex'.*1 of 2 rows"),
    "masked": (lambda: {"age": np.ma.array([1, 2, 3], mask=[0, 1, 0])}, "'age'.*1 of 3 rows"),
    "fractions": (lambda: frame(age=[1.5, 2.0, 3.0]), "'age'.*1.5.*row 0"),
    "infinite": (lambda: frame(age=[1.0, 2.0, np.inf]), "'age'.*inf.*row 2"),
    "huge floats": (lambda: frame(age=[1.0, 2.0, 1e300]), "'age'"),
    "mixed types": (lambda: frame(age=[1, "1", 2]), "'age'.*int, str"),
    "booleans and text": (lambda: frame(rich=[True, "True", False]), "'rich'.*bool, str"),
    "booleans and integers": (lambda: frame(rich=np.array([True, 1, 0], dtype=object)), "'rich'.*bool, int"),
    "bytes": (lambda: frame(code=[b"a", b"b", b"a"]), "'code'.*bytes"),
    "lists": (lambda: frame(code=[["a"], ["b"], ["a"]]), "'code'"),
    "dicts": (lambda: frame(code=[{}, {}, {}]), "'code'"),
    "complex": (lambda: frame(code=[1j, 2j, 1j]), "'code'"),
    "time zone": (lambda: frame(at=pd.date_range("2020-01-01", periods=3, tz="UTC")), "'at'.*time zone"),
    "moments with time zone": (lambda: {"at": [datetime.datetime(2020, 1, 1, tzinfo=UTC)]}, "'at'"),
    "decimals with fractions": (lambda: {"price": [decimal.Decimal("1.5")]}, "'price'"),
    "columns that pandas would align": (
        lambda: {"sex": pd.Series(["f", "m"]), "age": pd.Series([1, 2], index=[1, 0])},
        "'sex'.*'age'.*different indexes",
    ),
    "a set": (lambda: {"sex": {"f", "m"}}, "'sex'.*set"),
    "half a surrogate pair": (lambda: {"sex": ["\ud800", "m"]}, "'sex'.*surrogate"),
    "half a surrogate pair in an array": (lambda: {"sex": np.array(["\ud800", "m"])}, "'sex'.*surrogate"),
    "raw bytes": (lambda: {"code": np.zeros(2, dtype="V4")}, "'code'.*V4"),
    "structures": (lambda: {"code": np.zeros(2, dtype=[("p", "i4")])}, "'code'.*'p'"),
    "structures of polars": (lambda: pl.DataFrame({"code": [{"p": 1}, {"p": 2}]}), "'code'.*Struct"),
    "lists of polars": (lambda: pl.DataFrame({"code": [[1], [2]]}), "'code'.*List"),
    "time zone in polars": (
        lambda: pl.DataFrame({"at": [datetime.datetime(2020, 1, 1)]}).with_columns(
            pl.col("at").dt.replace_time_zone("UTC")
        ),
        "'at'.*time zone",
    ),
    "time zone in arrow": (lambda: pa.table({"at": pa.array([0], pa.timestamp("us", "UTC"))}), "'at'.*time zone"),
    "time zone in a lazy frame": (
        lambda: pl.LazyFrame({"at": [datetime.datetime(2020, 1, 1)]}).with_columns(
            pl.col("at").dt.replace_time_zone("UTC")
        ),
        "'at'.*time zone",
    ),
    "missing in a dictionary of arrow": (
        lambda: pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["u", None]))}),
        "'a'.*missing",
    ),
    "categories of periods": (
        lambda: {"month": pd.Series(pd.Categorical(pd.period_range("2020", periods=2, freq="M")))},
        "'month'.*to_timestamp",
    ),
    "no rows": (lambda: frame().iloc[:0], "empty"),
    "no columns": (lambda: pd.DataFrame(index=range(3)), "at least one column"),
    "column twice": (lambda: pd.concat([frame(), frame()], axis=1), "'sex'"),
    "column twice in arrow": (lambda: pa.table([pa.array([1]), pa.array([1])], names=["a", "a"]), "'a'"),
    "name is a number": (lambda: pd.DataFrame([[1, 2]]), "0"),
    "name is empty": (lambda: pd.DataFrame({"": [1]}), "''"),
    "name is profile": (lambda: frame(profile=[1, 2, 3]), "'profile'"),
    "columns in two levels": (lambda: pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "a"),
    "different lengths": (lambda: {"sex": ["f"], "age": [1, 2]}, "sex 1, age 2"),
    "two dimensions": (lambda: {"sex": np.ones((2, 2), dtype=int)}, "'sex'.*2 dimensions"),
    "one string": (lambda: {"sex": "fmm"}, "'sex'.*str"),
    "a number": (lambda: {"sex": 3}, "'sex'.*int"),
    "a list of rows": (lambda: [{"sex": "f"}], "list"),
    "None": (lambda: None, "NoneType"),
    "an array": (lambda: np.ones((3, 2)), "ndarray"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_tabulate__faults_are_refused_by_name(fault):
    make, culprit = REFUSED[fault]
    with pytest.raises((pt.InvalidTableError, pt.InvalidOptionError), match=culprit):
        pt.tabulate(make())


WEIGHTS = {
    "negative": ([1.0, -1.0, 1.0], "row 1.*-1"),
    "not a number": ([1.0, np.nan, 1.0], "row 1"),
    "infinite": ([1.0, np.inf, 1.0], "row 1.*inf"),
    "missing": ([1.0, None, 1.0], "row 1.*missing"),
    "too few": ([1.0], "1 weights for 3"),
    "two dimensions": (np.ones((3, 1)), "2 dimensions"),
    "text": (["a", "b", "c"], "numbers"),
    "all zero": ([0.0, 0.0, 0.0], "all weights are 0"),
    "a number": (2.0, "float"),
    "unknown column": ("w", "'w'"),
    "integers beyond float64": (np.array([2**53 + 1, 1, 1]), "9007199254740993"),
    "text of numbers": (["1", "1", "1"], "text"),
    "array of text": (np.array(["1", "1", "1"]), "text"),
    "bytes of numbers": ([b"1", b"1", b"1"], "text"),
    "categorical of numbers": (pd.Categorical([1, 2, 1]), "categorical"),
    "whole numbers beyond float64 in a list": ([2**53 + 1, 1, 1], "row 0.*9007199254740993"),
    "numbers of no size": ([10**400, 1, 1], "numbers that float64 can hold"),
    "sum beyond float64": ([1.0, 1e308, 1e308], "sum to more than float64"),
    "another index": (pd.Series([1.0, 2.0, 3.0], index=[2, 1, 0]), "the records and the weights.*different indexes"),
    "complex": (np.array([1j, 1, 1]), "complex|numbers"),
    "times": (np.array(["2020-01-01"] * 3, dtype="M8[D]"), "datetime|numbers"),
}


@pytest.mark.parametrize("fault", WEIGHTS)
def test_tabulate__faults_of_weights_are_refused_by_name(fault):
    weights, culprit = WEIGHTS[fault]
    with pytest.raises((pt.InvalidTableError, pt.UnknownAttributeError), match=culprit):
        pt.tabulate(frame(), weights=weights)


COUNTED = {
    "nullable integers": (lambda: {"a": pd.array([2, 1, 2], dtype="Int8")}, {1: 1, 2: 2}),
    "whole floats": (lambda: {"a": [2.0, 1.0, 2.0]}, {1: 1, 2: 2}),
    "nullable booleans": (lambda: {"a": pd.array([True, False, True], dtype="boolean")}, {False: 1, True: 2}),
    "unsigned beyond int64": (lambda: {"a": np.array([2**64 - 1, 0], dtype=np.uint64)}, {0: 1, 2**64 - 1: 1}),
    "mixed case": (lambda: {"a": ["M", "m", "M"]}, {"M": 2, "m": 1}),
    "spaces": (lambda: {"a": ["m", "m ", ""]}, {"": 1, "m": 1, "m ": 1}),
    "composed and decomposed": (lambda: {"a": ["é", "e\u0301"]}, {"e\u0301": 1, "é": 1}),
    "not Latin": (lambda: {"a": ["女", "男", "女"]}, {"女": 2, "男": 1}),
    "words for missing": (lambda: {"a": ["NA", "nan", "None", "null"]}, {"NA": 1, "None": 1, "nan": 1, "null": 1}),
    "formulas": (lambda: {"a": ["=1+1", "-x"]}, {"-x": 1, "=1+1": 1}),
    "categorical, some unused": (
        lambda: {"a": pd.Categorical(["m", "f", "m"], categories=["z", "m", "f"])},
        {"m": 2, "f": 1},
    ),
    "categories in order": (
        lambda: {"a": pd.Categorical(["lo", "hi"], categories=["lo", "hi"], ordered=True)},
        {"lo": 1, "hi": 1},
    ),
    "dictionary of arrow in pandas": (
        lambda: {"a": pd.Series(["m", "f"], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))},
        {"m": 1, "f": 1},
    ),
    "views of strings": (lambda: pa.table({"a": pa.array(["m", "f", "m"], pa.string_view())}), {"f": 1, "m": 2}),
    "integers of 128 bits": (lambda: pl.DataFrame({"a": pl.Series([2, 1, 2], dtype=pl.Int128)}), {1: 1, 2: 2}),
    "one record": (lambda: {"a": [7]}, {7: 1}),
    "dictionary-encoded": (lambda: pa.table({"a": pa.array(["m", "f", "m"]).dictionary_encode()}), {"m": 2, "f": 1}),
    "lazy": (lambda: pl.LazyFrame({"a": ["m", "f", "m"]}), {"f": 1, "m": 2}),
    "repeated index": (lambda: pd.DataFrame({"a": ["m", "f"]}, index=[0, 0]), {"f": 1, "m": 1}),
    "strided": (lambda: {"a": np.arange(6)[::-2]}, {1: 1, 3: 1, 5: 1}),
    "read-only": (lambda: {"a": np.frombuffer(b"\x01\x02\x01", dtype=np.uint8)}, {1: 2, 2: 1}),
    "big-endian": (lambda: {"a": np.array([1, 2, 1], dtype=">i4")}, {1: 2, 2: 1}),
    "dates": (lambda: {"a": [datetime.date(2020, 1, 1)] * 2}, {pd.Timestamp(2020, 1, 1): 2}),
}


@pytest.mark.parametrize("oddity", COUNTED)
def test_tabulate__oddities_are_counted_as_they_are(oddity):
    make, expected = COUNTED[oddity]
    counts = pt.tabulate(make())
    assert counts.name == "count"
    assert [(label[0], value) for label, value in zip(counts.indexes["profile"], counts.values)] == [*expected.items()]


NAMES = ("values", "sel", "dims", "name", "attrs", "T", "profile_", "class", "sum", "índice", "a b", "__len__", "data")


@pytest.mark.parametrize("name", NAMES)
def test_names__of_methods_and_words_are_names(name):
    counts = pt.tabulate({name: ["u", "v", "v", "u"], "y": [0, 1, 0, 1]}, weights=[1.0, 2.0, 3.0, 5.0])
    f = pt.regularize(counts, response="y")
    for table in (f, pt.to_dense(f)):
        fair = pt.project(table, pt.pur(table, response="y", protected=name))
        assert pt.marginal(fair.table, [name, "y"]).sum() == pytest.approx(1.0)
        ratio = pt.disparity_ratio(fair.table, response="y", protected=name, reference={name: "u"})
        assert pt.to_dense(ratio).values == pytest.approx(1.0, abs=1e-8)


def test_sizes__sixty_attributes_and_one_person():
    counts = pt.tabulate({f"a{i}": [0] for i in range(60)} | {"y": [1]})
    result = pt.project(counts, pt.marginals_of(counts, [("a0", "y"), ("a59",)]))
    assert result.table.values.tolist() == [1.0]
    assert result.converged
