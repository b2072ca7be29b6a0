from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt


def a_table(shape: tuple[int, ...], seed: int) -> xr.DataArray:
    rng = np.random.default_rng(seed)
    names = "abcd"[: len(shape)]
    coords = {name: list(range(size)) for name, size in zip(names, shape)}
    return xr.DataArray(rng.gamma(1.0, size=shape) + 0.01, dims=tuple(names), coords=coords)


@pytest.mark.parametrize("contrasts", ["sum", "treatment"])
def test_log_linear_parameters__add_up_to_the_log_ratio(contrasts: str) -> None:
    reference, other = a_table((3, 2, 4), 1), a_table((3, 2, 4), 2)
    scopes = [("a", "b"), ("c", "b"), ("a", "c")]
    fitted = pt.project(reference, pt.marginals_of(other, scopes), tolerance=1e-13)
    found = pt.results.log_linear_parameters(fitted, contrasts=contrasts)
    assert set(found) == {(), ("a",), ("b",), ("c",), ("a", "b"), ("b", "c"), ("a", "c")}
    assert [len(key) for key in found] == sorted(len(key) for key in found)
    total = sum(found.values())
    np.testing.assert_allclose(total.transpose("a", "b", "c"), np.log(fitted.table / reference), atol=1e-12)
    for names, table in found.items():
        for name in names:
            zero = table.sum(name) if contrasts == "sum" else table.isel({name: 0})
            np.testing.assert_allclose(zero, 0.0, atol=1e-12)


def test_log_linear_parameters__treatment_gives_the_odds_ratio() -> None:
    table = a_table((2, 2), 5)
    fitted = pt.project(pt.uniform(table), pt.marginals_of(table, [("a", "b")]))
    found = pt.results.log_linear_parameters(fitted, contrasts="treatment")
    odds = table.values[0, 0] * table.values[1, 1] / (table.values[0, 1] * table.values[1, 0])
    assert float(found[("a", "b")].sel(a=1, b=1)) == pytest.approx(np.log(odds), abs=1e-12)


def test_log_linear_parameters__are_refused_where_a_scope_has_holes() -> None:
    table = a_table((2, 2, 2), 3)
    table[0, 0, :] = 0.0
    fitted = pt.project(table, pt.marginals_of(table, [("a", "b"), ("c",)]))
    with pytest.raises(pt.InvalidTableError, match="a=0, b=0"):
        pt.results.log_linear_parameters(fitted)
    with pytest.raises(pt.InvalidOptionError, match="sum, treatment"):
        pt.results.log_linear_parameters(fitted, contrasts="helmert")


def test_evaluate__gives_the_projection_on_its_support_and_the_family_beyond() -> None:
    full = a_table((3, 3), 7)
    holed = full.copy()
    holed[2, 2] = 0.0
    fitted = pt.project(holed, pt.marginals_of(holed * a_table((3, 3), 8), ["a", "b"]), tolerance=1e-13)
    extended = pt.results.evaluate(fitted, full)
    on_support = (extended / fitted.table).where(holed > 0)
    np.testing.assert_allclose(on_support.values[holed.values > 0], 1.0, atol=1e-12)
    ratio = extended.values / full.values  # a b-free odds ratio of 1: the two-way interaction of the ratio vanishes
    assert ratio[2, 2] * ratio[0, 0] == pytest.approx(ratio[2, 0] * ratio[0, 2], rel=1e-11)


def test_evaluate__refuses_what_the_potentials_do_not_determine() -> None:
    blocks = xr.DataArray(np.eye(2), dims=("a", "b"), coords={"a": ["u", "v"], "b": ["p", "q"]})
    fitted = pt.project(blocks, pt.marginals_of(blocks, ["a", "b"]))
    everywhere = xr.ones_like(blocks)
    with pytest.raises(pt.InvalidTableError, match="2 profiles"):
        pt.results.evaluate(fitted, everywhere)
    dropped = pt.results.evaluate(fitted, everywhere, undefined="drop")
    np.testing.assert_array_equal(dropped > 0, blocks > 0)


def test_evaluate__keeps_zero_targets_empty_and_drops_unknown_categories() -> None:
    reference = xr.DataArray(np.ones((2, 2)), dims=("a", "b"), coords={"a": ["u", "v"], "b": ["p", "q"]})
    rows = xr.DataArray([1.0, 0.0], dims="a", coords={"a": ["u", "v"]})
    columns = xr.DataArray([0.3, 0.7], dims="b", coords={"b": ["p", "q"]})
    fitted = pt.project(reference, [pt.Marginal(rows), pt.Marginal(columns)])
    more = pt.tabulate({"a": ["u", "v", "w"], "b": ["p", "q", "p"]})
    found = pt.results.evaluate(fitted, more, undefined="drop")
    assert found.sel(a="u", b="p").item() == pytest.approx(0.3, abs=1e-12)
    assert found.sel(a="v", b="q").item() == 0.0
    assert found.sel(a="w", b="p").item() == 0.0
    with pytest.raises(pt.InvalidTableError, match="'w'"):
        pt.results.evaluate(fitted, more)


def test_evaluate__names_an_attribute_that_the_reference_lacks() -> None:
    table = a_table((2, 2), 5)
    fitted = pt.project(table, pt.marginals_of(table, ["a", "b"]))
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'b'; this table has a"):
        pt.results.evaluate(fitted, pt.marginal(table, "a"))


def a_smaller_table(seed: int, dims: str = "abcd") -> xr.DataArray:
    values = np.random.default_rng(seed).gamma(1.0, size=(2, 3, 2, 3)[: len(dims)])
    return xr.DataArray(values, dims=tuple(dims), coords={d: list(range(n)) for d, n in zip(dims, values.shape)})


@pytest.mark.parametrize("scopes", [["a b", "b c", "c d"], ["a b", "c d"], ["a b c", "b c d"], ["a", "b"]])
def test_closed_form__is_what_the_solvers_find(scopes: list[str]) -> None:
    table = a_smaller_table(3)
    constraints = pt.marginals_of(table, [tuple(scope.split()) for scope in scopes])
    found = pt.results.closed_form(pt.uniform(table), constraints)
    assert found is not None
    solved = pt.project(pt.uniform(table), constraints, tolerance=1e-13)
    assert pt.total_variation(found, solved.table) < 1e-12
    assert float(found.sum()) == pytest.approx(float(table.sum()))


def test_closed_form__is_none_off_the_family_and_on_cycles() -> None:
    table = a_smaller_table(4)
    chain = pt.marginals_of(table, [("a", "b"), ("b", "c")])
    assert pt.results.closed_form(a_smaller_table(5), chain) is None
    cycle = pt.marginals_of(table, [("a", "b"), ("b", "c"), ("a", "c")])
    assert pt.results.closed_form(pt.uniform(table), cycle) is None


def test_closed_form__takes_a_reference_in_the_family() -> None:
    other = a_smaller_table(6)
    margins = pt.marginals_of(other, ["a", "b"])
    product = pt.project(pt.uniform(other), margins, tolerance=1e-14).table
    found = pt.results.closed_form(product, pt.marginals_of(a_smaller_table(7), ["a", "b"]))
    assert found is not None
    solved = pt.project(product, pt.marginals_of(a_smaller_table(7), ["a", "b"]), tolerance=1e-13)
    assert pt.total_variation(found, solved.table) < 1e-12
