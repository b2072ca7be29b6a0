"""Derivatives of projections: against differences, against exact fractions, and each the transpose of the other."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt

SCOPES = [("y", "x"), ("s", "x"), ("y", "s")]
TIGHT = {"solver": pt.Newton(), "tolerance": 1e-14, "on_failure": "return", "certificate": False}


def table_of(values):
    coords = {name: [f"{name}{k}" for k in range(size)] for name, size in zip("ysx", values.shape, strict=True)}
    return xr.DataArray(values, dims=list("ysx"), coords=coords)


def drawn(seed, zeros=False):
    """A reference, targets that some table meets, and a table of changes."""
    rng = np.random.default_rng(seed)
    reference, data, change = (rng.random((2, 3, 3)) + 0.1 for _ in range(3))
    if zeros:
        reference[0, 0, 0] = reference[1, 2, 1] = 0.0
        data, change = data * (reference > 0), change * (reference > 0)
    return table_of(reference), table_of(5.0 * data / data.sum()), table_of(change - 0.6 * (change > 0))


def projected(reference, data, **options):
    return pt.project(reference, pt.marginals_of(data, SCOPES), **TIGHT | options)


def marginals(table):
    """Sums of a table of any signs."""
    return [table.sum([name for name in "ysx" if name not in scope]).transpose(*scope) for scope in SCOPES]


def difference(values, step=1e-3):
    """The derivative at 0 of a function, by five values: its error is of the fourth order."""
    left2, left, right, right2 = (values(k * step) for k in (-2, -1, 1, 2))
    return (left2 - 8 * left + 8 * right - right2) / (12 * step)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_jvp__is_what_differences_say(seed, zeros):
    reference, data, change = drawn(seed, zeros)
    result = projected(reference, data)
    u = table_of(np.random.default_rng(seed + 100).standard_normal(reference.shape))
    by_targets = difference(lambda e: projected(reference, data + e * change).table)
    by_reference = difference(lambda e: projected(reference * np.exp(e * u), data).table)
    assert result.jvp(marginals(change)).values == pytest.approx(by_targets.values, abs=1e-8)
    assert result.jvp(log_reference=u).values == pytest.approx(by_reference.values, abs=1e-8)
    both = result.jvp(marginals(change), u)
    assert both.values == pytest.approx((by_targets + by_reference).values, abs=2e-8)
    assert abs(both).max() > 1e-2


@given(st.integers(0, 10**6), st.booleans())
def test_vjp__is_the_transpose_of_jvp(seed, zeros):
    reference, data, change = drawn(seed, zeros)
    result = projected(reference, data)
    rng = np.random.default_rng(seed)
    u, g = (table_of(rng.standard_normal(reference.shape)) for _ in range(2))
    forward = float((g * result.jvp(marginals(change), u)).sum())
    backward = result.vjp(g)
    by_targets = sum(float((a * db).sum()) for a, db in zip(backward.targets, marginals(change), strict=True))
    assert by_targets + float((backward.log_reference * u).sum()) == pytest.approx(forward, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_vjp__of_the_reference_moves_no_row(seed):
    reference, data, _ = drawn(seed)
    gradient = table_of(np.random.default_rng(seed).standard_normal(reference.shape))
    found = projected(reference, data).vjp(gradient).log_reference
    assert abs(found).max() > 1e-3
    for row in marginals(found):
        assert abs(row).max() < 1e-14


def test_jvp__in_closed_form_is_exact():
    """With (a, c) and (b, c) fixed q is m(a, c) n(b, c) / k(c): its derivative by the quotient rule, in fractions."""
    shape = (2, 3, 2)
    rng = np.random.default_rng(5)
    data, change = rng.integers(1, 9, shape), rng.integers(-4, 5, shape)
    names = ["a", "b", "c"]
    table, moved = (
        xr.DataArray(values.astype(float), dims=names, coords={n: range(k) for n, k in zip(names, shape, strict=True)})
        for values in (data, change)
    )
    result = pt.project(pt.uniform(table), pt.marginals_of(table, [("a", "c"), ("b", "c")]), **TIGHT)
    found = result.jvp([moved.sum("b"), moved.sum("a")])
    for a, b, c in product(*map(range, shape)):
        m, dm = (Fraction(int(x[a, :, c].sum())) for x in (data, change))
        n, dn = (Fraction(int(x[:, b, c].sum())) for x in (data, change))
        k, dk = (Fraction(int(x[:, :, c].sum())) for x in (data, change))
        exact = dm * n / k + m * dn / k - m * n * dk / k**2
        assert float(found[a, b, c]) == pytest.approx(float(exact), rel=1e-13, abs=1e-13)


def test_jvp__on_a_face_keeps_its_zeros():
    problem = pt.problems.load("staircase")
    result = pt.project(problem.reference, problem.constraints)
    assert result.diagnosis.implied_zeros.sum() > 0
    u = problem.reference.copy(data=np.random.default_rng(0).standard_normal(problem.reference.shape))
    found = result.jvp(log_reference=u)
    assert not found.values[result.table.values == 0].any()
    assert float(found.sum()) == pytest.approx(0.0, abs=1e-15)


def test_derivatives__keep_layout_and_units_also_from_a_file(tmp_path):
    reference, data, change = drawn(1)
    sparse = projected(pt.to_sparse(reference), data)
    dense = projected(reference, data)
    pt.save(dense, tmp_path / "dense.nc")
    loaded = pt.load(tmp_path / "dense.nc")
    found = [one.jvp(marginals(change)) for one in (dense, sparse, loaded)]
    assert found[1].dims == ("profile",)
    assert pt.to_dense(found[1]).values == pytest.approx(found[0].values, rel=1e-10, abs=1e-12)
    assert found[2].values == pytest.approx(found[0].values, rel=1e-9, abs=1e-11)
    ten = projected(reference, 10 * data).jvp(marginals(10 * change))
    assert ten.values == pytest.approx(10 * found[0].values, rel=1e-10, abs=1e-11)


def test_jvp__refuses_changes_that_contradict_each_other():
    reference, data, change = drawn(2)
    result = projected(reference, data)
    with pytest.raises(pt.InconsistentTargetsError, match="contradict each other"):
        result.jvp([marginals(change)[0], None, None])


def test_derivatives__refuse_what_has_none():
    reference, data, change = drawn(3)
    result = projected(reference, data)
    with pytest.raises(pt.InvalidOptionError, match="one table or None for each of the 3"):
        result.jvp([None])
    with pytest.raises(pt.InvalidTableError, match="must be over"):
        result.jvp([change, None, None])
    with pytest.raises(pt.InvalidTableError, match="finite"):
        result.vjp(change * np.nan)
    with pytest.raises(pt.InvalidTableError, match="must be over"):
        result.vjp(change.sum("x"))
    early = pt.project(reference, pt.marginals_of(data, SCOPES), solver=pt.IPF(), max_iterations=1, on_failure="return")
    with pytest.raises(pt.InvalidOptionError, match="not converged"):
        early.vjp(change)
    bounded = pt.project(reference, pt.marginals_of(data, SCOPES), ratio_bounds=(0.0, 100.0))
    with pytest.raises(pt.InvalidOptionError, match="marginals with targets"):
        bounded.vjp(change)


def test_jvp__refuses_to_leave_a_zero_target():
    reference, data, _ = drawn(0)
    data[{"y": 0, "x": 0}] = 0.0
    result = projected(reference, data)
    assert result.converged
    change = xr.zeros_like(reference)
    change[{"y": 0, "x": 0}] = 1.0
    with pytest.raises(pt.InvalidOptionError, match="must not change"):
        result.jvp(marginals(change))
