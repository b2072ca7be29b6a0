from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from purtensor.tables import grouping
from purtensor.tables.grouping import (
    codes_of_keys,
    distinct_keys,
    first_repeated,
    group_profiles,
    profile_keys,
    smallest_unsigned,
)

rows = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 5)] * width), min_size=1, max_size=40)
)
spacing = st.sampled_from([1, 1000, 2**31, 2**40])


def columns_of(profiles, factor=1):
    return [np.array(column) * factor for column in zip(*profiles, strict=True)]


@given(rows, spacing)
def test_group_profiles__agrees_with_sorting_tuples(profiles, factor):
    """Small domains count, large ones sort, those beyond 2^62 rank on the way: one answer."""
    group, codes = group_profiles(columns_of(profiles, factor), [5 * factor + 1] * len(profiles[0]))
    expected = sorted(set(profiles))
    assert [tuple(int(c) // factor for c in row) for row in zip(*codes, strict=True)] == expected
    assert group.tolist() == [expected.index(profile) for profile in profiles]


@given(rows, spacing)
def test_first_repeated__agrees_with_a_set(profiles, factor):
    seen, expected = set(), None
    for i, profile in enumerate(profiles):
        if profile in seen:
            expected = i
            break
        seen.add(profile)
    assert first_repeated(columns_of(profiles, factor), [5 * factor + 1] * len(profiles[0])) == expected


def test_first_repeated__of_nothing():
    assert first_repeated([], []) is None
    assert first_repeated([np.array([], dtype=np.int64)], [3]) is None


def test_profile_keys__stay_in_order_and_below_their_bound_in_any_domain():
    generator = np.random.default_rng(0)
    codes = [generator.integers(0, 10, 500) for _ in range(40)]
    keys, bound = profile_keys(codes, [10] * 40)
    assert keys.dtype == np.int64
    assert 0 <= keys.min() <= keys.max() < bound <= 2**62
    assert np.array_equal(np.argsort(keys, kind="stable"), np.lexsort(codes[::-1]))


@pytest.mark.parametrize("bound", [8, 10**12])
@pytest.mark.parametrize("keys", [[3, 1, 3, 0, 1], [0, 1, 1, 3, 3]])
def test_distinct_keys__first_positions_and_groups(keys, bound):
    first, group = distinct_keys(np.array(keys), bound)
    assert first.tolist() == [keys.index(key) for key in (0, 1, 3)]
    assert group.tolist() == [[0, 1, 3].index(key) for key in keys]


@pytest.mark.parametrize(
    ("count", "kind"), [(1, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4"), (2**32 + 1, "u8")]
)
def test_smallest_unsigned__holds_the_largest_code(count, kind):
    assert smallest_unsigned(count) == np.dtype(kind)


def test_group_profiles__where_keys_were_replaced_by_ranks_on_the_way():
    """62 attributes of two categories leave two ranks, and then two keys each: few, but no mixed radix."""
    codes = [np.array([1, 0, 1, 1]) for _ in range(62)] + [np.array([0, 1, 1, 0])]
    group, distinct = group_profiles(codes, [2] * 63)
    assert group.tolist() == [1, 0, 2, 1]
    assert [code.tolist() for code in distinct] == [[0, 1, 1]] * 62 + [[1, 0, 1]]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.data())
def test_codes_of_keys__undo_profile_keys(sizes, data):
    count = data.draw(st.integers(1, 9))
    codes = [np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=count, max_size=count))) for size in sizes]
    keys, _ = profile_keys(codes, sizes)
    assert [code.tolist() for code in codes_of_keys(keys, sizes)] == [code.tolist() for code in codes]


def test_distinct_keys__of_many_are_those_of_few(monkeypatch):
    """Many are sorted on a thread of their own, where Ctrl-C is heard meanwhile."""
    keys = np.random.default_rng(0).integers(0, 10**12, 500) // 7
    few = distinct_keys(keys, 10**12)
    monkeypatch.setattr(grouping, "MANY", 0)
    for alone, apart in zip(few, distinct_keys(keys, 10**12), strict=True):
        assert apart.tolist() == alone.tolist()
    assert keys[few[0]][few[1]].tolist() == keys.tolist()
