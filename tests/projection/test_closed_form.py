from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt


def a_table(seed: int, dims: str = "abcd") -> xr.DataArray:
    values = np.random.default_rng(seed).gamma(1.0, size=(2, 3, 2, 3)[: len(dims)])
    return xr.DataArray(values, dims=tuple(dims), coords={d: list(range(n)) for d, n in zip(dims, values.shape)})


@pytest.mark.parametrize("scopes", [["a b", "b c", "c d"], ["a b", "c d"], ["a b c", "b c d"], ["a", "b"]])
def test_closed_form__is_what_the_solvers_find(scopes: list[str]) -> None:
    table = a_table(3)
    constraints = pt.marginals_of(table, [tuple(scope.split()) for scope in scopes])
    found = pt.results.closed_form(pt.uniform(table), constraints)
    assert found is not None
    solved = pt.project(pt.uniform(table), constraints, tolerance=1e-13)
    assert pt.total_variation(found, solved.table) < 1e-12
    assert float(found.sum()) == pytest.approx(float(table.sum()))


def test_closed_form__is_none_off_the_family_and_on_cycles() -> None:
    table = a_table(4)
    chain = pt.marginals_of(table, [("a", "b"), ("b", "c")])
    assert pt.results.closed_form(a_table(5), chain) is None
    cycle = pt.marginals_of(table, [("a", "b"), ("b", "c"), ("a", "c")])
    assert pt.results.closed_form(pt.uniform(table), cycle) is None


def test_closed_form__takes_a_reference_in_the_family() -> None:
    other = a_table(6)
    margins = pt.marginals_of(other, ["a", "b"])
    product = pt.project(pt.uniform(other), margins, tolerance=1e-14).table
    found = pt.results.closed_form(product, pt.marginals_of(a_table(7), ["a", "b"]))
    assert found is not None
    solved = pt.project(product, pt.marginals_of(a_table(7), ["a", "b"]), tolerance=1e-13)
    assert pt.total_variation(found, solved.table) < 1e-12
