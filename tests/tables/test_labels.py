from __future__ import annotations

import datetime
import json

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import purtensor as pt
from purtensor.tables.labels import (
    check_text,
    decode_labels,
    encode_labels,
    label_text,
    order_of_rows,
    recognise_labels,
)

INDEXES = {
    "text": pd.Index(["b", "", " ü\n", "17", "true"]),
    "object text": pd.Index(["b", "a"], dtype=object),
    "int64": pd.Index([3, -(2**63), 2**63 - 1]),
    "int8": pd.Index([3, -1], dtype="int8"),
    "uint64": pd.Index([2**64 - 1, 0], dtype="uint64"),
    "float64": pd.Index([0.1, -np.inf, 5e-324]),
    "boolean": pd.Index([True, False]),
    "range": pd.RangeIndex(3),
    "left intervals": pd.IntervalIndex.from_breaks([0, 30, 55], closed="left"),
    "float intervals": pd.IntervalIndex.from_breaks([-np.inf, 0.1, 1 / 3, np.inf]),
    "date intervals": pd.IntervalIndex.from_breaks(pd.DatetimeIndex(["2020-01-01", "2020-02-01", "2021-01-01"])),
    "dates": pd.DatetimeIndex(["2020-02-29", "1999-12-31 23:59:59.123456"]),
    "days": pd.DatetimeIndex(["2020-02-29"]).as_unit("s"),
    "nanoseconds": pd.DatetimeIndex(["2020-02-29 00:00:00.123456789"]),
    "durations": pd.TimedeltaIndex(["1 day", "3 ns"]),
    "mixture": pd.Index([1, "missing", True, 0.5, pd.Interval(0, 1), pd.Timestamp("2020-01-01")][:2], dtype=object),
    "large mixture": pd.Index(["1", 2, 0.5, pd.Interval(0, 1, "left"), pd.Timestamp("2020-01-01")], dtype=object),
    "nothing": pd.Index([], dtype=object),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_encode_labels__come_back_with_their_types(index):
    array, kind = encode_labels(index)
    for stored in (array, array.tolist(), json.loads(json.dumps(array.tolist()))):
        back = decode_labels(stored, kind)
        assert back.tolist() == index.tolist()
        assert [type(label) for label in back] == [type(label) for label in index]
        if index.dtype != object and not isinstance(index, pd.RangeIndex):
            assert back.dtype == index.dtype


def test_encode_labels__of_other_containers():
    array, kind = encode_labels(pd.CategoricalIndex([2, 1], categories=[1, 2]))
    assert (array.tolist(), kind) == ([2, 1], "int64")
    array, kind = encode_labels(pd.Index([2, 1], dtype="Int16"))
    assert decode_labels(array, kind).tolist() == [2, 1]


@pytest.mark.parametrize("label", [b"x", (1, 2), 1j, datetime.timedelta(1), None])
def test_encode_labels__refuses_what_no_file_holds(label):
    with pytest.raises(pt.InvalidTableError, match="which cannot be saved"):
        encode_labels(pd.Index(["x", label], dtype=object, tupleize_cols=False))


@pytest.mark.parametrize("text", ["a\0b", "\ud83d"])
def test_check_text__refuses_characters_that_files_change(text):
    with pytest.raises(pt.InvalidTableError, match=r"the label .* has a character that cannot be saved"):
        encode_labels(pd.Index(["x", text], dtype=object))
    check_text("ü\n", "the label")


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["yes"], "boolean"),
        (["x"], "int64"),
        (["x"], "planets"),
        (["[0, x)"], "interval[int64, left]"),
        (["2020"], "interval[object, left]"),
        (["{"], "mixed"),
    ],
)
def test_decode_labels__refuses_labels_of_another_kind(labels, kind):
    with pytest.raises((ValueError, OverflowError)):
        decode_labels(labels, kind)


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("ab", "ab"),
        (True, "true"),
        (np.False_, "false"),
        (np.int8(-3), "-3"),
        (0.1, "0.1"),
        (pd.Interval(0, 30, "left"), "[0, 30)"),
        (pd.Interval(0.5, np.inf), "(0.5, inf]"),
        (pd.Timestamp("2020-02-29"), "2020-02-29T00:00:00"),
    ],
)
def test_label_text__as_files_write_it(label, text):
    assert label_text(label) == text


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["true", "false"], [True, False]),
        (["True", "False"], ["True", "False"]),
        (["0", "-17", "9223372036854775807"], [0, -17, 2**63 - 1]),
        (["007"], ["007"]),
        (["-0"], ["-0"]),
        (["9223372036854775808"], ["9223372036854775808"]),
        (["1", "x"], ["1", "x"]),
        (["1.0", "3.00", "-2"], [1, 3, -2]),  # whole numbers as other programs write them
        (["1.0", "1.5"], ["1.0", "1.5"]),
        (["1", "missing"], [1, "missing"]),
        (["1\u0661"], ["1\u0661"]),
        (["1" * 5000], ["1" * 5000]),
        (["(0.1, 1e+20]", "(1e+20, 1e+22]"], [pd.Interval(0.1, 1e20), pd.Interval(1e20, 1e22)]),
        (["[0, 30)", "[30, 55)"], [pd.Interval(0, 30, "left"), pd.Interval(30, 55, "left")]),
        (["(0, 30]", "[30, 55)"], ["(0, 30]", "[30, 55)"]),
        (["(0, 30.5]"], ["(0, 30.5]"]),
        (["(-inf, 30.5]"], [pd.Interval(-np.inf, 30.5)]),
        (["(30, 0]"], ["(30, 0]"]),
        (["(00, 3]"], ["(00, 3]"]),
    ],
    ids=lambda values: str(values)[:30],
)
def test_recognised_labels__by_the_way_they_are_written(texts, expected):
    found = recognise_labels(texts).tolist()
    assert found == expected
    assert [type(label) for label in found] == [type(label) for label in expected]


@given(
    st.lists(st.one_of(st.integers(-100, 100), st.booleans(), st.text("01-e.truefals[(,) ]", max_size=6)), min_size=1)
)
def test_recognised_labels__are_written_back_as_they_were(labels):
    texts = [label_text(label) for label in labels]
    assert [label_text(label) for label in recognise_labels(texts)] == texts


def test_encode_labels__no_label_is_text_too():
    labels, kind = encode_labels(pd.Index([], dtype=object))
    assert labels.dtype.kind == "U"  # of an array of no objects, files would make numbers
    assert decode_labels(labels, kind).tolist() == []


@given(st.data(), st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_order_of_rows__finds_an_order_by_which_the_rows_are_sorted(data, sizes):
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, k - 1) for k in sizes)), min_size=1, unique=True))
    hidden = [data.draw(st.permutations(range(k))) for k in sizes]
    rows.sort(key=lambda row: [order.index(code) for order, code in zip(hidden, row, strict=True)])
    codes = [np.array(column) for column in zip(*rows, strict=True)]
    found = [order.tolist() for order in order_of_rows(codes, sizes)]
    assert [sorted(order) for order in found] == [list(range(k)) for k in sizes]
    ranked = [[order.index(code) for order, code in zip(found, row, strict=True)] for row in rows]
    assert ranked == sorted(ranked)
    if len(rows) == np.prod(sizes):
        assert found == [list(order) for order in hidden]


@pytest.mark.parametrize(
    ("rows", "orders"),
    [
        ([(2, 0), (0, 0), (1, 0)], [[2, 0, 1], [0]]),
        ([(0, 0), (1, 0), (0, 1)], [[0, 1], [0, 1]]),  # not sorted: as they are
        ([(0, 1), (0, 0), (1, 0), (1, 1)], [[0, 1], [0, 1]]),  # sorted one way in 0, the other in 1
        ([(0, 0)], [[0], [0]]),
    ],
)
def test_order_of_rows__examples(rows, orders):
    codes = [np.array(column) for column in zip(*rows, strict=True)]
    found = order_of_rows(codes, [int(code.max()) + 1 for code in codes])
    assert [order.tolist() for order in found] == orders
