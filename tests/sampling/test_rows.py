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
from purtensor.sampling.rows import draw_rows
from purtensor.tables.coded import domain_of, sparse_table
from purtensor.tables.domain import Domain
from tests.sampling.strategies import counts

PEOPLE = pd.DataFrame(
    {"hired": list("yynnyn"), "sex": list("ffffmm"), "age": [20, 40, 20, 40, 30, 50], "w": [1.0, 3, 1, 1, 2, 0]}
)


def hired_counts(**options):
    return pt.tabulate(PEOPLE, ["hired", "sex", "age"], bins={"age": [35]}, **options)


def test_draw_rows__are_copies_of_records_in_proportion_to_the_result():
    result = hired_counts().copy(data=[0, 1, 0, 3, 0, 0])  # n, f, >=35 and y, f, <35
    found = draw_rows(PEOPLE, result, 4000, seed=2)
    assert list(found.columns) == list(PEOPLE.columns)
    assert set(found["age"]) == {20, 40}
    assert found["hired"].eq("y").mean() == pytest.approx(0.75, abs=0.03)
    assert found.merge(PEOPLE).shape == found.shape  # each is a record, whole
    assert found.equals(draw_rows(PEOPLE, result, 4000, seed=2))
    assert not found.equals(draw_rows(PEOPLE, result, 4000, seed=3))


def test_draw_rows__replace_the_response_where_no_record_has_the_profile():
    result = pt.regularize(hired_counts(weights="w"), 5.0, response="hired")
    found = draw_rows(PEOPLE, result, 500, seed=1, response="hired", weights="w")
    assert list(found.columns) == ["hired", "sex", "age"]
    drawn = set(map(tuple, found.values.tolist()))
    assert ("n", "m", 30) in drawn  # the man of 30 was hired
    assert ("n", "m", 50) not in drawn  # weight 0
    share = pt.tabulate(found, bins={"age": [35]})
    np.testing.assert_allclose(share / share.sum(), pt.empirical(result).sel(profile=share.profile), atol=0.07)


def test_draw_rows__refuse_a_profile_that_no_record_is_like():
    result = pt.regularize(hired_counts(), 100.0, response="hired")
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
    result = pt.regularize(hired_counts(weights="w"), 5.0, response="hired")
    found = draw_rows(frame, result, 200, seed=1, response="hired", weights="w")
    wanted = draw_rows(people, result, 200, seed=1, response="hired", weights="w")
    assert isinstance(found, pl.DataFrame if library == "polars" else pa.Table)
    assert found.to_pandas()["hired"].tolist() == wanted["hired"].tolist()
    rows = found["seen"].to_list() if library == "polars" else found["seen"].to_pylist()  # gaps and integers stay
    assert rows == wanted["seen"].astype(object).where(wanted["seen"].notna(), None).tolist()


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
