"""Marginals as constraints: how they are written, read and refused."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.constraints.marginals import as_constraints


@pytest.fixture
def counts() -> xr.DataArray:
    values = np.arange(1.0, 13.0).reshape(2, 3, 2)
    return xr.DataArray(
        values,
        dims=("income", "age", "sex"),
        coords={"income": ["low", "high"], "age": ["young", "middle", "old"], "sex": ["f", "m"]},
    )


WRITTEN_ALIKE = [
    [("income", "age"), ["sex"]],
    [("income", "age"), "sex"],
    (["income", "age"], ("sex",)),
    "income age | sex",
    "income, age|sex",
    "~ income*age + sex",
    "~income:age+sex",
    "income*age + sex",
]


@pytest.mark.parametrize("scopes", WRITTEN_ALIKE, ids=str)
def test_marginals_of__every_spelling(counts: xr.DataArray, scopes: object) -> None:
    pair, single = pt.marginals_of(counts, scopes)
    assert pair.scope == ("income", "age")
    assert single.scope == ("sex",)
    np.testing.assert_array_equal(pair.target.values, counts.values.sum(axis=2))
    np.testing.assert_array_equal(single.target.values, counts.values.sum(axis=(0, 1)))


def test_marginals_of__keeps_the_order_of_names_and_the_layout(counts: xr.DataArray) -> None:
    (swapped,) = pt.marginals_of(counts, "sex income")
    assert swapped.scope == ("sex", "income")
    np.testing.assert_array_equal(swapped.target.values, counts.values.sum(axis=1).T)
    (sparse,) = pt.marginals_of(pt.to_sparse(counts), ["age"])
    assert sparse.target.dims == ("profile",)


def test_marginals_of__one_string_without_bars_is_one_scope(counts: xr.DataArray) -> None:
    assert [m.scope for m in pt.marginals_of(counts, "income sex")] == [("income", "sex")]


@pytest.mark.parametrize("scopes", ["income race", ["race"], "~ income*race", [("income", "race")]])
def test_marginals_of__unknown_attribute(counts: xr.DataArray, scopes: object) -> None:
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'race'; this table has income, age, sex"):
        pt.marginals_of(counts, scopes)


@pytest.mark.parametrize(
    ("scopes", "message"),
    [
        ("", "a scope is empty"),
        ("income | ", "a scope is empty"),
        ([()], "a scope is empty"),
        ([], "no scope was given"),
        (3, "scopes must be names, got int"),
        ([("income", 3)], "a scope must contain attribute names, got 3"),
        ("income ~ sex", "cannot read 'income' in the formula"),
        ("~ (income + sex)^2", r"cannot read '\(' in the formula"),
        ("~ income age + sex", "there is no operator between the names 'income age'"),
        ("~ income* + sex", "a name is missing"),
    ],
)
def test_marginals_of__unreadable(counts: xr.DataArray, scopes: object, message: str) -> None:
    with pytest.raises(pt.InvalidOptionError, match=message):
        pt.marginals_of(counts, scopes)


def test_as_constraints__flattens_one_level_and_refuses_the_rest(counts: xr.DataArray) -> None:
    a, b, c = pt.marginals_of(counts, "income | age | sex")
    assert as_constraints(a) == (a,)
    assert as_constraints([a, (b, c)]) == (a, b, c)
    assert as_constraints(m for m in (b, a)) == (b, a)
    for wrong in ([[[a]]], [counts], "income", 3, [a, None]):
        with pytest.raises(pt.InvalidOptionError, match="a constraint must be a purtensor"):
            as_constraints(wrong)
    with pytest.raises(pt.InvalidOptionError, match="no constraint was given"):
        as_constraints([])
