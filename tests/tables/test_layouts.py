from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given

import purtensor as pt
from purtensor.tables.coded import domain_of, is_sparse
from tests.tables.drawn import as_dict, sparse_tables


@given(sparse_tables())
def test_to_sparse__and_back_gives_the_dense_table_exactly(table):
    full = pt.to_dense(table)
    full.attrs["note"] = "kept"
    assert not is_sparse(full)
    for keep_zeros in (False, True):
        back = pt.to_dense(pt.to_sparse(full, keep_zeros=keep_zeros))
        xr.testing.assert_identical(back, full)
        assert [i.tolist() for i in domain_of(back).categories] == [i.tolist() for i in domain_of(full).categories]


@given(sparse_tables())
def test_to_dense__and_back_gives_the_sparse_table_without_its_zeros(table):
    back = pt.to_sparse(pt.to_dense(table))
    assert as_dict(back) == as_dict(table)
    assert back.size == int((table.values > 0).sum())
    for kept, known in zip(domain_of(back).categories, domain_of(table).categories, strict=True):
        assert kept.equals(known)


@given(sparse_tables())
def test_to_sparse__keeps_every_cell_when_asked(table):
    full = pt.to_dense(table)
    stored = pt.to_sparse(full, keep_zeros=True)
    assert stored.size == full.size
    assert np.array_equal(stored.values, full.values.ravel())


def test_to_sparse__of_a_sparse_table_drops_its_zeros():
    table = pt.to_sparse(pt.to_dense(pt.tabulate({"a": [1, 2], "b": [1, 2]})), keep_zeros=True)
    assert table.size == 4
    assert pt.to_sparse(table).size == 2
    assert pt.to_sparse(table, keep_zeros=True) is table


def test_to_dense__returns_a_dense_table_as_it_is():
    table = xr.DataArray([1.0, 2.0], coords={"a": [1, 2]}, dims="a")
    assert pt.to_dense(table) is table


@pytest.mark.parametrize("kind", ["i8", "u1", "f4", "?"])
def test_layouts__float64_comes_out(kind):
    dense = xr.DataArray(np.array([1, 0], dtype=kind), coords={"a": [1, 2]}, dims="a", attrs={"of": "it"})
    for table in (pt.to_dense(dense), pt.to_sparse(pt.to_dense(dense), keep_zeros=True).astype(kind)):
        for found in (pt.to_dense(table), pt.to_sparse(table, keep_zeros=True)):
            assert found.dtype == np.float64
            assert found.values.tolist() == [1.0, 0.0]
            assert found.attrs == {"of": "it"}


@pytest.mark.parametrize("values", [["u", "v"], [1j, 0], [None, 1.0], [2**53 + 1, 1]])
def test_to_dense__checks_what_is_dense_already(values):
    with pytest.raises(pt.InvalidTableError, match=r"integers or floats|cannot represent exactly"):
        pt.to_dense(xr.DataArray(np.array(values), coords={"a": [1, 2]}, dims="a"))


def test_to_dense__fills_what_is_not_stored():
    full = pt.to_dense(pt.tabulate({"a": [1, 2], "b": [1, 2]}), fill_value=np.nan)
    assert np.isnan(full.values).tolist() == [[False, True], [True, False]]


def test_to_dense__takes_values_that_are_no_masses():
    table = pt.tabulate({"a": [1, 2]}) * -1.5
    assert pt.to_dense(table).values.tolist() == [-1.5, -1.5]


def test_to_dense__refused_with_the_byte_count_before_allocating():
    """Case 14: twelve attributes of twenty categories exhausted the memory of several packages."""
    generator = np.random.default_rng(0)
    table = pt.tabulate({f"a{i:02}": generator.integers(0, 20, 10_000) for i in range(12)})
    with pytest.raises(pt.TooLargeError, match="needs 32768000000000000 bytes") as caught:
        pt.to_dense(table)
    assert caught.value.bytes_needed == 8 * 20**12
    assert isinstance(caught.value, MemoryError)


def test_to_dense__refuses_more_attributes_than_dimensions():
    table = pt.tabulate({f"a{i}": ["only"] for i in range(70)})
    with pytest.raises(pt.InvalidTableError, match="70 exceed the limit of numpy"):
        pt.to_dense(table)


def test_to_dense__refuses_a_repeated_profile():
    table = pt.tabulate({"a": [1, 2]})
    with pytest.raises(pt.InvalidTableError, match="occurs twice"):
        pt.to_dense(xr.concat([table, table], "profile"))
