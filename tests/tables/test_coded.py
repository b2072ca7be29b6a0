from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given

import purtensor as pt
from purtensor.tables.coded import dense_table, domain_of, encode, is_sparse, like, sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.layouts import describe_table
from tests.tables.drawn import as_dict, sparse_tables

DOMAIN = Domain(("sex", "age"), (pd.Index(["m", "f"]), pd.Index([1, 0, 2])))


def dense(values, **coords):
    return xr.DataArray(np.asarray(values), coords=coords, dims=tuple(coords))


def test_encode__keeps_the_support_only():
    coded = encode(dense([[0.0, 2.0], [3.0, 0.0]], sex=["m", "f"], age=[1, 0]))
    assert coded.values.tolist() == [2.0, 3.0]
    assert [column.tolist() for column in coded.codes] == [[0, 1], [1, 0]]
    assert coded.label(0) == ("m", 0)
    assert coded.total == 5.0
    assert [column.tolist() for column in coded.columns(["age"])] == [[1, 0]]


@given(sparse_tables())
def test_encode__both_layouts_have_the_same_support(table):
    full = encode(pt.to_dense(table))
    ours = encode(table)
    assert sorted(zip(*ours.codes, ours.values, strict=True)) == sorted(zip(*full.codes, full.values, strict=True))


@pytest.mark.parametrize("kept", [1.0, 0.5, 0.02])
def test_encode__codes_are_those_of_the_positions(kept):
    """Full tables, half empty ones and nearly empty ones take different ways."""
    values = np.where(np.random.default_rng(0).random((3, 200, 2)) < kept, 1.5, 0.0)
    values[0, 0, 0] = 2.5
    coded = encode(dense(values, sex=range(3), age=range(200), race=range(2)))
    assert coded.positions.tolist() == np.flatnonzero(values).tolist()
    assert [code.tolist() for code in coded.codes] == [code.tolist() for code in np.nonzero(values)]
    assert [code.dtype for code in coded.codes] == [np.int8, np.int16, np.int8]
    values[0, 0, 0] = 9.0
    assert coded.values[0] == 2.5


@given(sparse_tables())
def test_rebuild__writes_on_the_support_and_zero_elsewhere(table):
    for layout in (table, pt.to_dense(table), pt.to_dense(table).T):
        coded = encode(layout)
        rebuilt = coded.rebuild(coded.values * 2)
        assert rebuilt.dims == layout.dims
        assert as_dict(rebuilt) == {profile: 2 * value for profile, value in as_dict(layout).items()}
        assert rebuilt.size == layout.size


@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf, -np.inf])
@pytest.mark.parametrize("layout", ["sparse", "dense"])
def test_encode__names_the_profile_that_is_no_mass(bad, layout):
    """Case 12 of the collected complaints: NaN in a reference once converged in one step."""
    table = sparse_table(DOMAIN, [np.array([0, 1]), np.array([2, 1])], np.array([1.0, bad]))
    if layout == "dense":
        table = pt.to_dense(table)
    with pytest.raises(pt.InvalidTableError, match=rf"profile \(sex=f, age=0\) has {bad}; masses must be finite"):
        encode(table)


def test_encode__refuses_integers_that_float64_cannot_hold():
    with pytest.raises(pt.InvalidTableError, match=r"\(sex=f\) has 9007199254740993, an integer that float64"):
        encode(dense([2**53, 2**53 + 1], sex=["m", "f"]))
    assert encode(dense([2**53, 2**60], sex=["m", "f"])).values.tolist() == [2.0**53, 2.0**60]
    with pytest.raises(pt.InvalidTableError, match="18446744073709551615"):
        encode(dense(np.array([1, 2**64 - 1], dtype=np.uint64), sex=["m", "f"]))


@pytest.mark.parametrize("values", [[1 + 0j, 2], ["1", "2"], np.array([1, 2], dtype="M8[ns]")])
def test_encode__refuses_what_is_no_number(values):
    with pytest.raises(pt.InvalidTableError, match="values of a table must be integers or floats"):
        encode(dense(values, sex=["m", "f"]))


def test_encode__refuses_an_empty_table_unless_asked():
    empty = dense([0.0, 0.0], sex=["m", "f"])
    with pytest.raises(pt.InvalidTableError, match="empty: at least one profile must have positive mass"):
        encode(empty)
    assert len(encode(empty, allow_empty=True).values) == 0


def test_encode__refuses_a_total_beyond_float64():
    with pytest.raises(pt.InvalidTableError, match="total mass is beyond"):
        encode(dense([1e308, 1e308], sex=["m", "f"]))


def test_encode__refuses_a_repeated_profile():
    table = sparse_table(DOMAIN, [np.array([0, 1, 0]), np.array([2, 1, 2])], np.ones(3))
    with pytest.raises(pt.InvalidTableError, match=r"profile \(sex=m, age=2\) occurs twice"):
        encode(table)


def test_encode__refuses_a_missing_label():
    table = sparse_table(DOMAIN, [np.array([0, 1]), np.array([2, -1])], np.ones(2))
    with pytest.raises(pt.InvalidTableError, match="attribute 'age' is missing in profile number 1"):
        encode(table)


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (pd.Series([1.0]), "a table must be an xarray.DataArray, got pandas"),
        (xr.DataArray(1.0), "at least one attribute"),
        (xr.DataArray([1.0], dims="sex"), "'sex' has no category labels"),
        (xr.DataArray([1.0, 2.0], coords={"sex": ["m", "m"]}, dims="sex"), "'sex' has the category 'm' twice"),
        (xr.DataArray([1.0, 2.0], coords={"sex": [np.nan, 1]}, dims="sex"), "'sex' has a missing value"),
        (xr.DataArray([1.0], coords={"profile": ["m"]}, dims="profile"), "'profile' is the dimension of sparse tables"),
        (xr.DataArray([1.0], coords={"": [1]}, dims=""), "names must be strings that are not empty, got"),
    ],
)
def test_domain_of__refuses_what_is_no_table(table, what):
    with pytest.raises(pt.InvalidTableError, match=what):
        domain_of(table)


def test_domain_of__names_the_way_from_the_disk(tmp_path):
    pytest.importorskip("zarr", reason="zarr is not installed")
    stored = pt.store_table(dense_table(DOMAIN, np.ones((2, 3))), tmp_path / "t.zarr")
    with pytest.raises(pt.InvalidTableError, match=r"a table on disk; if it fits into memory, give its to_table\(\)"):
        pt.empirical(stored)
    assert float(pt.empirical(stored.to_table()).sum()) == pytest.approx(1.0)


def test_like__keeps_the_layout_of_the_template():
    codes, values = [np.array([0, 1]), np.array([2, 1])], np.array([1.0, 4.0])
    sparse = like(sparse_table(DOMAIN, codes, values), DOMAIN, codes, values)
    full = like(dense_table(DOMAIN, np.zeros((2, 3))), DOMAIN, codes, values)
    assert is_sparse(sparse)
    assert not is_sparse(full)
    assert full.values.tolist() == [[0, 0, 1], [0, 4, 0]]
    assert as_dict(sparse) == as_dict(full)


def test_is_sparse__also_with_a_single_attribute():
    one = pt.tabulate({"sex": ["m", "f"]})
    assert is_sparse(one)
    assert isinstance(one.indexes["profile"], pd.MultiIndex)


def test_shown__names_sizes():
    assert describe_table(dense_table(DOMAIN, np.ones((2, 3)))) == "sex (2), age (3)"


@pytest.mark.parametrize(
    "labels",
    [
        pd.Index(["a", "b", "c"]),
        pd.Index(["a", "b", "c"], dtype=object),
        pd.Index([0.5, 1.5, 2.5]),
        pd.RangeIndex(3),
        pd.Index([True, False, None], dtype=object)[:2].append(pd.Index(["c"], dtype=object)),
        pd.CategoricalIndex(["low", "mid", "high"], ordered=True),
        pd.interval_range(0, 3),
        pd.date_range("2026-01-01", periods=3),
    ],
    ids=lambda labels: f"{type(labels).__name__}-{labels.dtype}",
)
def test_tables__are_as_the_usual_constructor_makes_them(labels):
    domain = Domain(("x", "y"), (labels, pd.Index(["p", "q"])))
    values = np.arange(6.0).reshape(3, 2)
    made = dense_table(domain, values, name="made", attrs={"unit": "people"})
    usual = xr.DataArray(
        values, coords={"x": labels, "y": pd.Index(["p", "q"])}, dims=("x", "y"), name="made", attrs={"unit": "people"}
    )
    assert made.identical(usual)
    assert made.indexes["x"].equals(usual.indexes["x"])
    assert made.indexes["x"].dtype == usual.indexes["x"].dtype
    assert made.coords["x"].dtype == usual.coords["x"].dtype
    assert made.sel(y="q").identical(usual.sel(y="q"))
    codes = (np.array([0, 2], dtype=np.int8), np.array([1, 0], dtype=np.int8))
    sparse = sparse_table(domain, codes, values[codes])
    index = pd.MultiIndex(levels=[labels, pd.Index(["p", "q"])], codes=list(codes), names=["x", "y"])
    coords = xr.Coordinates.from_pandas_multiindex(index, "profile")
    assert sparse.identical(xr.DataArray(values[codes], coords=coords, dims="profile"))
    assert sparse.indexes["profile"].equals(index)
