from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import purtensor as pt
from purtensor.sampling import to_records
from purtensor.tables.coded import domain_of, sparse_table
from purtensor.tables.domain import Domain
from tests.sampling.strategies import counts


@given(c=counts())
def test_to_records__marginals_are_those_of_the_counts(c):
    records = to_records(c)
    assert len(records) == c.sum()
    for name in c.dims:
        rest = [other for other in c.dims if other != name]
        assert records[name].value_counts(sort=False).to_dict() == c.sum(rest).to_series().to_dict()


@given(c=counts())
def test_to_records__tabulate_gives_the_counts_back(c):
    again = pt.tabulate(to_records(c))
    assert again.to_series()[lambda s: s > 0].to_dict() == pt.to_sparse(c).to_series().to_dict()
    assert [list(level) for level in again.indexes["profile"].levels] == [list(c.indexes[name]) for name in c.dims]


def test_to_records__columns_keep_all_categories_in_order():
    domain = Domain(("size", "old"), (pd.Index(["small", "large", "huge"]), pd.Index([True, False])))
    records = to_records(sparse_table(domain, [np.array([1, 0]), np.array([0, 1])], np.array([2.0, 1.0])))
    assert records["size"].tolist() == ["large", "large", "small"]  # in the order of the profiles
    assert records["old"].tolist() == [True, True, False]
    assert list(records["size"].cat.categories) == ["small", "large", "huge"]
    assert not records["size"].cat.ordered
    assert list(records.index) == [0, 1, 2]


def test_to_records__interval_categories():
    ages = pd.IntervalIndex.from_breaks([0, 30, 55, 120])
    table = sparse_table(Domain(("age",), (ages,)), [np.array([2, 0])], np.array([1.0, 2.0]))
    assert to_records(table)["age"].tolist() == [ages[2], ages[0], ages[0]]


def test_to_records__no_one_is_an_empty_frame():
    table = pt.sample(pt.tabulate({"sex": ["f", "m"]}), 0, seed=1)
    records = to_records(table)
    assert records.shape == (0, 1)
    assert list(records["sex"].cat.categories) == ["f", "m"]


def test_to_records__more_categories_than_a_byte_holds():
    domain = Domain(("id",), (pd.RangeIndex(300),))
    table = sparse_table(domain, [np.arange(300)], np.full(300, 2.0))
    assert to_records(table)["id"].tolist() == np.repeat(np.arange(300), 2).tolist()


def test_to_records__fractions_are_refused_by_profile():
    counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    with pytest.raises(pt.InvalidTableError, match=r"profile \(sex=m, age=young\) has 0.25"):
        to_records(counts * np.array([1, 1, 0.25]))


def test_to_records__more_than_the_memory_is_refused():
    counts = pt.tabulate({"sex": ["f", "m"]}) * 2.0**50
    with pytest.raises(pt.TooLargeError, match=r"a data frame of \d+ records needs") as caught:
        to_records(counts)
    assert caught.value.bytes_needed > 2**51


@pytest.mark.parametrize("library", ["polars", "lazy", "pyarrow", "batch", "duckdb", "pandas"])
def test_to_records__come_in_the_library_of_another_frame_and_count_the_same(library):
    frame = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 40, 40]})
    polars = pl.from_pandas(frame)
    like = {
        "polars": polars,
        "lazy": polars.lazy(),
        "pyarrow": polars.to_arrow(),
        "batch": polars.to_arrow().to_batches()[0],
        "pandas": frame,
    }.get(library)
    counts = pt.tabulate({"sex": pd.Categorical(frame["sex"], ["m", "f", "x"]), "age": frame["age"]})
    found = pt.to_records(counts, duckdb.from_df(frame) if library == "duckdb" else like)
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.DataFrame}
    assert isinstance(found, kinds.get(library, pa.Table))
    again = pt.tabulate(found)
    assert again.equals(counts)
    assert domain_of(again).categories[0].tolist() == ["m", "f", "x"]
