from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given

import purtensor as pt
from purtensor.tables.coded import domain_of
from purtensor.tables.io.table_dataset import as_json, dataset_to_table, table_to_dataset, value_column
from tests.tables.drawn import sparse_tables

TABLE = pt.tabulate({"sex": ["m", "f", "m"], "age": [1, 2, 2]})


def assert_same(found, expected):
    xr.testing.assert_identical(found, expected)
    assert found.dtype == expected.dtype
    assert domain_of(found).attributes == domain_of(expected).attributes
    for ours, theirs in zip(domain_of(found).categories, domain_of(expected).categories, strict=True):
        assert ours.tolist() == theirs.tolist()


@given(sparse_tables())
def test_dataset_to_table__gives_back_either_layout(table):
    table.attrs = {"strength": 1e-4, "note": "a\nb", "left_out": ["x"], "done": True, "nothing": None}
    for layout in (table, pt.to_dense(table), pt.to_dense(table).T, table.astype("int16"), table - 3):
        assert_same(dataset_to_table(table_to_dataset(layout)), layout)


def test_table_to_dataset__says_what_it_holds_in_plain_names():
    dataset = table_to_dataset(TABLE)
    assert set(dataset.variables) == {"count", "sex", "age", "code of sex", "code of age"}
    assert dataset.sizes == {"profile": 3, "sex": 2, "age": 2}
    assert dataset["sex"].values.tolist() == ["f", "m"]
    assert dataset["code of age"].dtype == np.uint8
    dense = table_to_dataset(pt.to_dense(TABLE))
    assert dense["count"].dims == ("sex", "age")
    assert set(dense.variables) == {"count", "sex", "age"}


@pytest.mark.parametrize(
    "names",
    [("count", "code of count"), ("a/b", "a_b", "a\\b"), (" x ", "x", "-x"), ("=1", "_1"), ("e\u0301", "\u00e9")],
)
def test_table_to_dataset__any_names_of_attributes(names):
    table = pt.tabulate({name: [k, k + 1] for k, name in enumerate(names)})
    assert_same(dataset_to_table(table_to_dataset(table)), table)
    assert all(
        name.isidentifier() or set(name) <= set("_- 1abcdefoxunt.é") for name in table_to_dataset(table).variables
    )


def test_table_to_dataset__several_tables_in_one_dataset():
    other = pt.to_dense(pt.empirical(pt.tabulate({"sex": ["x", "y"], "height": [1, 1]})))
    both = xr.merge([table_to_dataset(TABLE, "first "), table_to_dataset(other, "second ")])
    assert_same(dataset_to_table(both, "first "), TABLE)
    assert_same(dataset_to_table(both, "second "), other)
    with pytest.raises(pt.errors.FileFormatError, match="there is no table 'third' among"):
        dataset_to_table(both, "third")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.assign({"code of sex": d["code of sex"] + np.uint8(1)}),
        lambda d: d.assign({"code of sex": d["code of sex"] * np.uint8(0)}),
        lambda d: d.drop_vars("code of sex"),
        lambda d: d.drop_vars("sex"),
        lambda d: d.assign_coords(sex=("sex", ["m", "m"], d["sex"].attrs)),
        lambda d: d.assign_coords(sex=("sex", ["m", "f"], {**d["sex"].attrs, "kind": "boolean"})),
        lambda d: d.assign_coords(sex=("sex", ["m", "f"], {**d["sex"].attrs, "attribute": "age"})),
        lambda d: d.assign(count=("profile", d["count"].values, {**d["count"].attrs, "table_attrs": "{"})),
    ],
    ids=[
        "codes too large",
        "repeated profile",
        "no codes",
        "no labels",
        "repeated label",
        "wrong kind",
        "repeated attribute",
        "broken attrs",
    ],
)
def test_dataset_to_table__refuses_parts_that_do_not_fit(spoil):
    with xr.set_options(keep_attrs=True):
        spoilt = spoil(table_to_dataset(TABLE))
    with pytest.raises(pt.errors.FileFormatError):
        dataset_to_table(spoilt)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([1, 2.0], "count"),
        ([0.25, 0.75], "probability"),
        ([1.0, 0.0], "count"),
        ([1.5, 4.0], "count"),
        ([-1.0, 2.0], "value"),
        ([np.nan, 1.0], "value"),
        ([], "count"),
    ],
)
def test_value_column__counts_probabilities_and_the_rest(values, name):
    assert value_column(np.array(values)) == name


def test_as_json__refuses_what_is_not_plain():
    assert as_json({"a": np.float64(0.1), "b": np.arange(2), "c": pd.Index(["x"])}, "attrs") == (
        '{"a": 0.1, "b": [0, 1], "c": ["x"]}'
    )
    with pytest.raises(pt.InvalidTableError, match="attrs cannot be saved: object is not a number, text or list"):
        as_json({"a": object()}, "attrs")
