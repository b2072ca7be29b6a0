from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.records.weights import unreached_mass

RNG = np.random.default_rng(8)
PEOPLE = pd.DataFrame(
    {"hired": RNG.choice(["no", "yes"], 200), "sex": RNG.choice(["f", "m"], 200), "age": RNG.integers(18, 80, 200)},
    index=np.arange(200) * 3,
)
DESIGN = RNG.random(200) + 0.5


def fair(counts):
    return pt.project(counts, pt.pur(counts, response="hired", protected="sex"))


@pytest.mark.parametrize("design", [None, DESIGN])
def test_weights__give_the_records_the_distribution_of_the_result(design):
    counts = pt.tabulate(PEOPLE, weights=design, bins={"age": [30, 50]})
    result = fair(counts)
    found = pt.weights(PEOPLE, result, weights=design)
    assert found.index.equals(PEOPLE.index)
    again = pt.tabulate(PEOPLE, weights=found, bins={"age": [30, 50]})
    np.testing.assert_allclose(again.values, result.table.values / result.table.values.sum() * found.sum(), rtol=1e-12)
    assert found.sum() == pytest.approx(200 if design is None else design.sum(), rel=1e-12)
    assert found.to_numpy() != pytest.approx(np.ones(200) if design is None else design)


@given(order=st.permutations(["hired", "sex", "age"]), rows=st.permutations(range(20)))
def test_weights__do_not_depend_on_the_order_of_columns_or_rows(order, rows):
    people = PEOPLE.head(20).assign(age=lambda frame: frame["age"] // 40)
    result = fair(pt.regularize(pt.tabulate(people), 0.1, response="hired"))
    wanted = pt.weights(people, result)
    found = pt.weights(people.iloc[rows][order].assign(other="x"), result)
    pd.testing.assert_series_equal(found.sort_index(), wanted)


def test_weights__come_in_the_library_of_the_records():
    people = PEOPLE[["hired", "sex"]].reset_index(drop=True)
    result = fair(pt.tabulate(people))
    wanted = pt.weights(people, result, kind="factor")
    assert wanted.name == "factor"
    frame = pl.from_pandas(people)
    kinds = [
        (frame, pl.Series),
        (frame.lazy(), pl.Series),
        (pa.Table.from_pandas(people), pa.ChunkedArray),
        (duckdb.sql("from people"), pa.ChunkedArray),
    ]
    for records, kind in kinds:
        found = pt.weights(records, result, kind="factor")
        assert isinstance(found, kind)
        np.testing.assert_array_equal(np.asarray(found), wanted)
    plain = pt.weights({name: people[name].tolist() for name in people}, result, kind="factor")
    np.testing.assert_array_equal(plain, wanted)


def test_weights__sum_to_the_total_of_targets_where_that_is_asked():
    table = pt.tabulate({"sex": ["f", "m"]}, weights=[300, 700])
    found = pt.weights({"sex": ["f", "f", "m"]}, table, total="result")
    assert found.tolist() == pytest.approx([150, 150, 700], rel=1e-14)


def test_weights__tell_what_cannot_be_matched():
    table = pt.tabulate({"sex": ["f", "m"], "n_cars": [0, 1]})
    with pytest.raises(pt.UnknownCategoryError, match=r"no category '0' in attribute 'n_cars', .*mean 0 \(int\)"):
        pt.weights({"sex": ["f"], "n_cars": ["0"]}, table)
    with pytest.raises(pt.UnknownAttributeError, match=r"no attribute 'sex'; .* has Sex, n_cars; did you mean 'Sex'"):
        pt.weights({"Sex": ["f"], "n_cars": [0]}, table)
    with pytest.raises(pt.InvalidTableError, match="'sex' is missing in row 1"):
        pt.weights({"sex": ["f", None], "n_cars": [0, 0]}, table)
    assert pt.weights({"sex": ["f", None], "n_cars": [0, 0]}, table, missing="drop").tolist() == [1, 0]
    assert pt.weights({"sex": ["f", "m"], "n_cars": [0, 0]}, table).tolist() == [1, 0]
    assert unreached_mass({"sex": ["f", "m"], "n_cars": [0, 0]}, table) == 0.5
    with pytest.raises(pt.InvalidOptionError, match="kind"):
        pt.weights({"sex": ["f"], "n_cars": [0]}, table, kind="w")


def test_weights__missing_values_as_a_category_and_bins_with_the_labels_of_the_result():
    people = {"sex": ["f", None, "m"], "age": [20, 40, 60]}
    table = pt.tabulate(people, missing="category", bins={"age": [30]})
    others = {"sex": ["f", None], "age": [20.5, 40.0]}
    found = pt.weights(others, table, missing="category")
    assert found.tolist() == pytest.approx([2 / 3, 2 / 3])
