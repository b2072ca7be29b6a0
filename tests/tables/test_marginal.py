from __future__ import annotations

import itertools
import math
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
import xarray as xr
from hypothesis import given

import purtensor as pt
from purtensor._typing import FloatArray
from purtensor.tables import marginal as marginal_module
from purtensor.tables.coded import domain_of, encode, is_sparse
from purtensor.tables.marginal import Marginals, dense_sums, marginalize
from tests.tables.drawn import as_dict, sparse_tables


def summed(table, attributes):
    totals = Counter()
    for profile, value in as_dict(table).items():
        totals[frozenset(part for part in profile if part[0] in attributes)] += value
    return dict(totals)


@given(sparse_tables(), st.randoms(use_true_random=False))
def test_marginal__agrees_with_exact_sums_in_either_layout(table, random):
    names = list(domain_of(table).attributes)
    random.shuffle(names)
    asked = names[: random.randint(1, len(names))]
    for layout in (table, pt.to_dense(table)):
        found = pt.marginal(layout, asked)
        assert domain_of(found).attributes == tuple(asked)
        assert is_sparse(found) == is_sparse(layout)
        assert as_dict(found) == summed(table, asked)


@given(sparse_tables(least=2))
def test_marginal__stands_in_category_order_without_empty_profiles(table):
    names = domain_of(table).attributes
    found = pt.marginal(table, names[::-1])
    codes = list(zip(*encode(found).codes, strict=True))
    assert codes == sorted(codes)
    assert (found.values > 0).all()


@given(sparse_tables(least=2), st.randoms(use_true_random=False))
def test_marginal__of_a_marginal_is_the_marginal(table, random):
    names = domain_of(table).attributes
    outer, inner = names[:2], names[0]
    assert as_dict(pt.marginal(pt.marginal(table, outer), inner)) == as_dict(pt.marginal(table, inner))


def test_marginal__does_not_lose_small_masses():
    values = np.full((1001, 2), 1e-16)
    values[0] = 1.0
    table = pt.to_sparse(pt.to_dense(pt.tabulate({"a": np.repeat(np.arange(1001), 2), "b": [0, 1] * 1001})) * values)
    assert pt.marginal(table, "b").values.tolist() == [1.0 + 1e-13] * 2


def test_marginal__names_what_is_wrong():
    table = pt.tabulate({"a": [1, 2]})
    with pytest.raises(pt.InvalidOptionError, match=r"use float\(table.sum\(\)\)"):
        pt.marginal(table, [])
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'b'; this table has a"):
        pt.marginal(table, ["a", "b"])
    with pytest.raises(pt.InvalidTableError, match="'a' must be named once"):
        pt.marginal(table, ["a", "a"])


def test_marginalize__works_on_a_table_that_is_encoded():
    coded = encode(pt.tabulate({"a": [1, 2, 2], "b": [1, 1, 1]}))
    domain, codes, values = marginalize(coded, ("b",))
    assert (domain.attributes, codes[0].tolist(), values.tolist()) == (("b",), [0], [3.0])


def test_marginal__in_domains_beyond_64_bits():
    generator = np.random.default_rng(1)
    records = {f"a{i}": generator.integers(0, 10, 1000) for i in range(40)}
    names = ["a39", "a0", "a20"]
    found = as_dict(pt.marginal(pt.tabulate(records), names))
    pairs = Counter(zip(*(records[name] for name in names), strict=True))
    assert len(found) == len(pairs)
    assert sorted(found.values()) == sorted(pairs.values())
    assert list(itertools.islice(pt.marginal(pt.tabulate(records), names).profile.values, 1)) == [min(pairs)]


@given(st.integers(0, 10**6), st.floats(0.0, 0.6), st.floats(-280.0, 280.0))
def test_marginals__over_cells_are_those_over_profiles(seed, empty, scale):
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(2, 6, 3))
    values = np.where(rng.random(sizes) < empty, 0.0, rng.gamma(0.3, size=sizes) + 1e-9) * 10.0**scale
    values[0, 0, 0] = 10.0**scale
    table = xr.DataArray(values, coords={name: range(size) for name, size in zip("abc", sizes, strict=True)})
    scopes = [("b", "a"), ("c",), ("c", "b")]
    coded = encode(table)
    grouped = Marginals(coded, scopes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marginal_module, "_LARGE", 1)
        of_cells = Marginals(coded, scopes)
    assert of_cells.of_cells == (2 * np.count_nonzero(values) >= values.size)
    for scope in scopes:
        one, other = grouped.sums_over(scope), of_cells.sums_over(scope)
        assert [code.tolist() for code in one[1]] == [code.tolist() for code in other[1]]
        np.testing.assert_allclose(one[2], other[2], rtol=2e-16)
        xr.testing.assert_allclose(grouped.table(scope, "m"), of_cells.table(scope, "m"), rtol=2e-16)


SCOPES = [(0,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2), ()]


def exactly(values: FloatArray, scope: tuple[int, ...]) -> FloatArray:
    """The sums over the other axes, each rounded once."""
    order = [*scope, *(axis for axis in range(values.ndim) if axis not in scope)]
    shape = tuple(values.shape[axis] for axis in scope)
    rows = values.transpose(order).reshape(math.prod(shape), -1)
    return np.array([math.fsum(row.tolist()) for row in rows]).reshape(shape)


def drawn(seed: int, shape: tuple[int, ...], range_in_bits: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    values = np.ldexp(rng.random(shape), rng.integers(-range_in_bits, 1, shape))
    values[rng.random(shape) < 0.1] = 0.0
    return values


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(2, 3, 500), (40, 3, 2), (3, 70, 4), (1, 1, 1)]),
    st.sampled_from([0, 20, 60, 400]),
)
def test_dense_sums__are_right_to_the_last_bits(seed: int, shape: tuple[int, ...], range_in_bits: int) -> None:
    values = drawn(seed, shape, range_in_bits)
    before = values.copy()
    for scope, sums in zip(SCOPES, dense_sums(values, SCOPES), strict=True):
        expected = exactly(values, scope)
        np.testing.assert_allclose(sums, expected, rtol=4e-16 if range_in_bits <= 20 else 1e-14)
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("factor", [2.0**990, 1e-300, 0.0])
def test_dense_sums__at_the_ends_of_float64(factor: float) -> None:
    values = factor * drawn(1, (3, 4, 50), 10)
    for scope, sums in zip(SCOPES, dense_sums(values, SCOPES), strict=True):
        np.testing.assert_allclose(sums, exactly(values, scope), rtol=4e-16)


@pytest.mark.parametrize("shape", [(3, 4, 5000), (5000, 3, 4), (3, 5000, 4)])
def test_dense_sums__have_the_same_bits_for_any_number_of_threads(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marginal_module, "_CHUNK", 1 << 12)
    monkeypatch.setattr(marginal_module, "_BLOCK", 1 << 10)
    values = drawn(3, shape, 30)
    found = []
    for threads in ("1", "4"):
        monkeypatch.setenv("PURTENSOR_THREADS", threads)
        found.append(dense_sums(values, SCOPES))
    for one, other, scope in zip(*found, SCOPES, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, exactly(values, scope), rtol=4e-16)
