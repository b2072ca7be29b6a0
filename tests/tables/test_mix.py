"""Weighted sums of tables."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
import xarray as xr
from hypothesis import given

import purtensor as pt

MASSES = st.dictionaries(
    st.tuples(st.sampled_from("xyz"), st.integers(0, 3)), st.floats(1e-3, 1e3), min_size=1, max_size=12
)


def table_of(masses: dict[tuple[str, int], float], *, turned: bool = False) -> xr.DataArray:
    a, b = zip(*masses, strict=True)
    columns = {"b": b, "a": a} if turned else {"a": a, "b": b}
    return pt.tabulate(columns, weights=list(masses.values()))


@given(MASSES, MASSES, st.floats(0.0, 10.0), st.floats(0.1, 10.0))
def test_mix__is_the_weighted_sum_over_the_union_of_profiles(one, other, v, w):
    mixed = pt.mix([table_of(one), table_of(other, turned=True)], [v, w]).to_series()
    wanted = {profile: v * one.get(profile, 0.0) + w * other.get(profile, 0.0) for profile in {*one, *other}}
    assert set(mixed.index) == set(wanted)
    for profile, mass in mixed.items():
        assert mass == pytest.approx(wanted[profile], rel=1e-15)


@given(MASSES, MASSES)
def test_mix__keeps_the_whole_mass_of_both(one, other):
    total = float(pt.mix([table_of(one), table_of(other)], [1, 1]).sum())
    assert total == pytest.approx(sum(one.values()) + sum(other.values()), rel=1e-14)


def test_mix__has_the_layout_of_the_first_and_drops_what_belongs_to_one_table():
    counts = pt.tabulate({"y": [0, 1, 0], "x": ["a", "a", "b"]})
    f = pt.regularize(counts, response="y")
    assert "washed_out_share" in f.attrs
    mixed = pt.mix([pt.to_dense(f), pt.uniform(f)], [0.25, 0.75])
    assert mixed.dims == ("y", "x")
    assert "washed_out_share" not in mixed.attrs
    assert float(mixed.sum()) == pytest.approx(1.0, rel=1e-15)
    assert np.array_equal(pt.mix([f], [1]).values, f.values)


@pytest.mark.parametrize(
    ("tables", "weights", "kind", "words"),
    [
        ([], [], pt.InvalidOptionError, "got none"),
        (["f"], [1, 2], pt.InvalidOptionError, "got 2 for 1 tables"),
        (["f", "f"], [1, -1], pt.InvalidOptionError, "not negative"),
        (["f", "f"], [0, 0], pt.InvalidOptionError, "not all 0"),
        (["f", "f"], [1, np.nan], pt.InvalidOptionError, "finite"),
        (["f", "f"], [1, "much"], pt.InvalidOptionError, "must be numbers"),
        (["f", "other attribute"], [1, 1], pt.UnknownAttributeError, "no attribute 'b' in table 1"),
        (["f", "text"], [1, 1], pt.InvalidTableError, "'a' has labels of type integer in one table .* and string"),
        (["f", "f"], [1e308, 1e308], pt.InvalidTableError, "more than float64"),
    ],
)
def test_mix__what_cannot_be_mixed_is_refused_by_name(tables, weights, kind, words):
    made = {
        "f": pt.tabulate({"a": [0, 1], "b": [0, 1]}, weights=[2, 3]),
        "other attribute": pt.tabulate({"a": [0, 1], "c": [0, 1]}),
        "text": pt.tabulate({"a": ["0", "1"], "b": [0, 1]}),
    }
    with pytest.raises(kind, match=words):
        pt.mix([made[name] for name in tables], weights)
