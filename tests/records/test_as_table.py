from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sparse as pydata
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import purtensor as pt

RNG = np.random.default_rng(6)
PEOPLE = pd.DataFrame({"sex": RNG.choice(["f", "m"], 40), "age": RNG.integers(1, 4, 40)})
COUNTS = pt.tabulate(PEOPLE)
LONG = PEOPLE.groupby(["sex", "age"]).size().rename("n").reset_index()
AXES = {"sex": ["f", "m"], "age": [1, 2, 3]}
CELLS = np.array([[3.0, 0, 1], [2, 5, 0]])

LISTED = {
    "groupby.size": PEOPLE.groupby(["sex", "age"]).size(),
    "value_counts": PEOPLE.value_counts(),
    "columns in another order": PEOPLE.value_counts(["age", "sex"]),
    "frame": LONG,
    "frame, counts first": LONG[["n", "age", "sex"]],
    "polars": pl.from_pandas(LONG),
    "polars lazy": pl.from_pandas(LONG).lazy(),
    "polars group_by.len": pl.from_pandas(PEOPLE).group_by("sex", "age").len(),
    "pyarrow": pa.Table.from_pandas(LONG),
    "duckdb": duckdb.sql("from LONG"),
    "table": COUNTS,
}


@pytest.mark.parametrize("data", LISTED.values(), ids=LISTED)
def test_as_table__of_what_lists_profiles_is_what_tabulate_counts(data):
    found = pt.as_table(data)
    assert found.to_series().reorder_levels(["sex", "age"]).sort_index().to_dict() == COUNTS.to_series().to_dict()
    pt.project(COUNTS, pt.Marginal(pt.marginal(found, "age")))


ARRAYS = {
    "numpy": CELLS,
    "list": CELLS.tolist(),
    "scipy": sparse.csr_matrix(CELLS),
    "scipy array": sparse.coo_array(CELLS),
    "scipy, in parts": sparse.coo_array(([1.0, 2, 1, 2, 3, 2], ([0, 0, 0, 1, 1, 1], [0, 0, 2, 0, 1, 1])), shape=(2, 3)),
    "pydata": pydata.COO.from_numpy(CELLS),
    "pydata, compressed": pydata.GCXS.from_numpy(CELLS),
}


@pytest.mark.parametrize("data", ARRAYS.values(), ids=ARRAYS)
def test_as_table__of_arrays_with_names_for_their_axes(data):
    found = pt.as_table(data, AXES)
    wanted = xr.DataArray(CELLS, coords=AXES, dims=list(AXES))
    assert pt.to_dense(found).reindex_like(wanted).fillna(0).equals(wanted)
    assert (found.ndim == 1) == (not isinstance(data, np.ndarray | list))
    assert pt.as_table(data, ["sex", "age"]).indexes is not None
    with pytest.raises(pt.InvalidOptionError, match="the labels need attribute names: give attributes, 2 names"):
        pt.as_table(data)
    with pytest.raises(pt.InvalidOptionError, match="'sex' has 3 labels for 2 cells"):
        pt.as_table(data, {**AXES, "sex": ["f", "m", "x"]})


def test_as_table__of_arrays_of_xarray():
    dense = xr.DataArray(CELLS, coords=AXES, dims=list(AXES))
    assert pt.as_table(dense) is dense
    found = pt.as_table(xr.DataArray(pydata.COO.from_numpy(CELLS), coords=AXES, dims=list(AXES)))
    assert pt.to_dense(found).equals(dense.astype(float))
    with pytest.raises(pt.InvalidTableError, match="fill value of a sparse array must be 0, got 1"):
        pt.as_table(pydata.COO.from_numpy(CELLS, fill_value=1), AXES)


def test_as_table__of_crosstabs():
    wanted = pt.to_dense(COUNTS)
    assert pt.as_table(pd.crosstab(PEOPLE["sex"], PEOPLE["age"])).equals(wanted)
    wide = PEOPLE.assign(old=PEOPLE["age"] > 2)
    found = pt.as_table(pd.crosstab(wide["sex"], [wide["age"], wide["old"]]))
    assert pt.marginal(found, ["sex", "age"]).to_series().to_dict() == COUNTS.to_series().to_dict()
    with pytest.raises(pt.InvalidTableError, match="'All', has the sums of the others"):
        pt.as_table(pd.crosstab(PEOPLE["sex"], PEOPLE["age"], margins=True))
    with pytest.raises(pt.InvalidTableError, match="a cell without a number"):
        pt.as_table(LONG.iloc[1:].pivot(index="sex", columns="age", values="n"))


def test_as_table__of_dicts_of_totals_also_ragged():
    assert pt.as_table({"f": 2, "m": 3}, "sex").to_series().to_dict() == {("f",): 2, ("m",): 3}
    towns = {"nord": {"Lille": 3}, "sud": {"Nice": 2, "Pau": 1}}
    found = pt.as_table(towns, ["region", "town"])
    assert found.equals(pt.as_table({("nord", "Lille"): 3, ("sud", "Nice"): 2, ("sud", "Pau"): 1}, ["region", "town"]))
    assert found.equals(
        pt.as_table(
            pd.DataFrame(
                [("nord", "Lille", 3), ("sud", "Nice", 2), ("sud", "Pau", 1)], columns=["region", "town", "count"]
            )
        )
    )
    fitted = pt.project(found, [pt.Marginal(pt.as_table({"nord": 0.5, "sud": 0.5}, "region"))])
    assert fitted.table.values == pytest.approx([0.5, 1 / 3, 1 / 6])


@given(counts=st.dictionaries(st.tuples(st.integers(0, 4), st.sampled_from("abc")), st.integers(1, 9), min_size=1))
def test_as_table__all_ways_agree(counts):
    names = ["k", "letter"]
    wanted = {profile: float(count) for profile, count in counts.items()}
    series = pd.Series(counts, index=pd.MultiIndex.from_tuples(counts, names=names))
    frame = series.rename("count").reset_index()
    records = frame.loc[frame.index.repeat(frame["count"]), names]
    for data, options in ((counts, {"attributes": names}), (series, {}), (frame, {}), (pl.from_pandas(frame), {})):
        assert pt.as_table(data, **options).to_series().to_dict() == wanted
    assert pt.as_table(records.value_counts()).equals(pt.tabulate(records, names))


REFUSED = [
    (None, None, pt.InvalidTableError, "got builtins.NoneType"),
    ({}, "sex", pt.InvalidTableError, "the dict must have at least one total"),
    ({"sex": ["f", "m"]}, "a", pt.InvalidTableError, "count a dict of columns with purtensor.tabulate"),
    ({"a": 1, ("b", "c"): 2}, ["x"], pt.InvalidTableError, "have 1 or 2 parts"),
    ({"f": 2}, None, pt.InvalidOptionError, "give attributes, 1 names"),
    ({"f": 2}, ["a", "b"], pt.InvalidOptionError, "there are 1 attributes, but 2 names"),
    ({"f": "many"}, "sex", pt.InvalidTableError, "integers or floats"),
    ({"f": float("nan")}, "sex", pt.InvalidTableError, r"number 0 \(counted from 0\) is nan"),
    ({"f": 2, None: 1}, "sex", pt.InvalidTableError, "'sex' has no label in row 1"),
    (pd.concat([LONG, LONG]), None, pt.InvalidTableError, r"profile \(sex=f, age=1\) is listed twice"),
    (PEOPLE.assign(age="x"), None, pt.InvalidTableError, "one column of numbers, or one called 'count'"),
    (LONG, ["sex", "wage"], pt.InvalidOptionError, "no column 'wage'; the frame has sex, age, n"),
    (LONG.assign(n=[None, *range(5)]), None, pt.InvalidTableError, "column 'n' has no number in row 0"),
    (3.0, "a", pt.InvalidTableError, "got builtins.float"),
    (np.array(3.0), "a", pt.InvalidTableError, "got a single number"),
]


@pytest.mark.parametrize(("data", "attributes", "error", "told"), REFUSED, ids=[told for *_, told in REFUSED])
def test_as_table__refuses_by_name(data, attributes, error, told):
    with pytest.raises(error, match=told):
        pt.as_table(data, attributes)


def test_tables__that_are_none_are_sent_where_they_are_taken():
    series = PEOPLE.groupby(["sex", "age"]).size()
    for use in (lambda: pt.marginal(series, "age"), lambda: pt.Marginal(series), lambda: pt.empirical(series)):
        with pytest.raises(pt.InvalidTableError, match=r"with purtensor\.as_table"):
            use()


def test_as_table__of_a_long_frame_of_regions_in_countries_is_a_target_of_a_calibration():
    regions = [("fr", "north", 300.0), ("fr", "south", 250.0), ("de", "north", 410.0), ("be", "wallonia", 40.0)]
    goal = pd.DataFrame(regions, columns=["country", "region", "people"])
    sample = pd.DataFrame(
        {
            "country": ["fr"] * 5 + ["de"] * 3 + ["be"],
            "region": ["north"] * 2 + ["south"] * 3 + ["north"] * 3 + ["wallonia"],
        }
    )
    for frame in (goal, pl.from_pandas(goal), goal.set_index(["country", "region"])["people"]):
        target = pt.as_table(frame)
        assert target.size == 4  # no region of one country is asked for in another
        weights = pt.calibrate(sample, pt.Marginal(target)).array
        sums = sample.assign(w=weights).groupby(["country", "region"])["w"].sum()
        assert sums.to_dict() == pytest.approx({(country, region): people for country, region, people in regions})
