from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.codes import counting_order, list_touched_by_slab, place_in_lists
from tests.kernels.drawn import both


@both(counting_order)
@given(st.lists(st.integers(0, 9), max_size=50))
def test_counting_order__is_the_stable_sort(kernel, ranks):
    rank = np.array(ranks, dtype=np.int64)
    assert kernel(rank, 10).tolist() == np.argsort(rank, kind="stable").tolist()


def drawn_slabs(seed):
    """Slabs of 0 to 5 profiles, each with two members of which some are none (-1)."""
    rng = np.random.default_rng(seed)
    slab_ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 6, 8))]).astype(np.int64)
    return slab_ptr, rng.integers(-1, 7, (int(slab_ptr[-1]), 2)).astype(np.int32)


def lists_by_sets(slab_ptr, members):
    return [sorted(set(members[a:b].ravel().tolist()) - {-1}) for a, b in pairwise(slab_ptr)]


@both(list_touched_by_slab)
@given(st.integers(0, 2**32 - 1))
def test_list_touched_by_slab__lists_each_number_once_ascending(kernel, seed):
    slab_ptr, members = drawn_slabs(seed)
    wanted = lists_by_sets(slab_ptr, members)
    list_ptr = np.zeros(len(slab_ptr), dtype=np.int64)
    total = kernel(slab_ptr, members, 7, np.empty(0, dtype=np.int32), list_ptr, False)
    assert total == sum(map(len, wanted))
    lists = np.empty(total, dtype=np.int32)
    assert kernel(slab_ptr, members, 7, lists, list_ptr, True) == total
    assert [lists[a:b].tolist() for a, b in pairwise(list_ptr)] == wanted


@both(place_in_lists)
@given(st.integers(0, 2**32 - 1))
def test_place_in_lists__points_back_at_the_member(kernel, seed):
    slab_ptr, members = drawn_slabs(seed)
    lists = lists_by_sets(slab_ptr, members)
    flat = np.array([number for one in lists for number in one], dtype=np.int32)
    list_ptr = np.concatenate([[0], np.cumsum(list(map(len, lists)))]).astype(np.int64)
    first_place = np.arange(10, 10 + len(lists))
    places = np.full((len(members), 3), 99, dtype=np.int16)
    kernel(slab_ptr, members, 7, flat, list_ptr, first_place, places, 1)
    assert (places[:, 0] == 99).all()
    slab = np.repeat(np.arange(len(lists)), np.diff(slab_ptr))
    for i, (own, found) in enumerate(zip(members, places[:, 1:])):
        for number, place in zip(own, found):
            assert place == (-1 if number < 0 else first_place[slab[i]] + lists[slab[i]].index(number))
