from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.tables.coded import encode
from purtensor.tables.domain import Domain
from purtensor.tables.translate import category_map, find_profiles, translate_codes


@pytest.mark.parametrize(
    ("source", "onto", "expected"),
    [
        (["a", "b", "z"], ["b", "a"], [1, 0, -1]),
        ([1, 2], ["1", "2"], [-1, -1]),
        ([True, False], [0, 1], [-1, -1]),
        ([1, 0], [True, False], [-1, -1]),
        ([True, False], [False, True], [1, 0]),
        ([1, 2], [2.0, 1.0], [1, 0]),
        ([3, 1, 2], [1, 2, 4], [-1, 0, 1]),
        ([0.5, 1.5], [1.5, 0.5], [1, 0]),
        (range(3), range(3), [0, 1, 2]),
        (np.array([1, 2], dtype=np.int8), np.array([2, 1], dtype=np.uint64), [1, 0]),
    ],
)
def test_category_map__by_label_and_type(source, onto, expected):
    assert category_map(pd.Index(source), pd.Index(onto)).tolist() == expected


def test_category_map__intervals_and_dates():
    whole = pd.IntervalIndex.from_breaks([0, 30, 55, 90], closed="left")
    assert category_map(whole[[2, 0]], whole).tolist() == [2, 0]
    other_side = pd.IntervalIndex.from_breaks([0, 30, 55, 90], closed="right")
    assert category_map(other_side, whole).tolist() == [-1, -1, -1]
    days = pd.DatetimeIndex(["2020-01-01", "2021-01-01"])
    assert category_map(days[::-1].as_unit("ns"), days.as_unit("s")).tolist() == [1, 0]


def test_category_map__an_index_onto_itself():
    index = pd.Index(["a", "b"])
    assert category_map(index, index).tolist() == [0, 1]


def test_translated__reorders_attributes_and_categories():
    table = xr.DataArray([[1.0, 2.0, 0.0]], coords={"age": [7], "sex": ["f", "m", "x"]}, dims=("age", "sex"))
    onto = Domain(("sex", "age"), (pd.Index(["m", "w"]), pd.Index([5, 6, 7])))
    sex, age = translate_codes(encode(table), onto)
    assert sex.tolist() == [-1, 0]
    assert age.tolist() == [2, 2]


def test_translated__needs_every_attribute():
    table = xr.DataArray([1.0], coords={"age": [7]}, dims="age")
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'sex'"):
        translate_codes(encode(table), Domain(("sex",), (pd.Index(["m"]),)))


PROFILE = st.tuples(st.integers(0, 3), st.integers(0, 2))


@given(st.lists(PROFILE, min_size=1, unique=True), st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 3))))
def test_lookup__are_those_of_a_search(known: list[tuple[int, int]], wanted: list[tuple[int, int]]) -> None:
    old = [np.array(column) for column in zip(*known)]
    new = [np.array([profile[i] for profile in wanted], dtype=np.int64) for i in range(2)]
    expected = [known.index(profile) if profile in known else -1 for profile in wanted]
    assert find_profiles(old, new).tolist() == expected
