"""Arranging profiles by slabs."""

from __future__ import annotations

import numpy as np

from purtensor._typing import IntArray
from purtensor.kernels._jit import compiled


@compiled
def counting_order(rank: IntArray, count: int) -> IntArray:
    """Return the stable order that sorts ranks 0 .. count - 1."""
    start = np.zeros(count + 1, dtype=np.int64)
    for i in range(rank.size):
        start[rank[i] + 1] += 1
    for r in range(count):
        start[r + 1] += start[r]
    order = np.empty(rank.size, dtype=np.int64)
    for i in range(rank.size):
        r = rank[i]
        order[start[r]] = i
        start[r] += 1
    return order


@compiled
def touched_by_slab(
    slab_ptr: IntArray, members: IntArray, count: int, lists: IntArray, list_ptr: IntArray, fill: bool
) -> int:
    """Write for each slab which of `count` numbers its profiles have in `members`, ascending; return how many in all.

    `members` has a row a profile; negative entries are passed over. With `fill` False only `list_ptr` is written.
    """
    seen = np.full(count, -1, dtype=np.int64)
    found = np.empty(count, dtype=np.int64)
    total = 0
    list_ptr[0] = 0
    for x in range(slab_ptr.size - 1):
        here = 0
        for i in range(slab_ptr[x], slab_ptr[x + 1]):
            for j in range(members.shape[1]):
                number = members[i, j]
                if number >= 0 and seen[number] != x:
                    seen[number] = x
                    found[here] = number
                    here += 1
        if fill:
            lists[total : total + here] = np.sort(found[:here])
        total += here
        list_ptr[x + 1] = total
    return total


@compiled
def place_in_lists(
    slab_ptr: IntArray,
    members: IntArray,
    count: int,
    lists: IntArray,
    list_ptr: IntArray,
    first_place: IntArray,
    places: IntArray,
    column: int,
) -> None:
    """Write the place of each member in its slab's list, after the slab's first places, from `column` on."""
    where = np.zeros(count, dtype=np.int64)
    for x in range(slab_ptr.size - 1):
        for k in range(list_ptr[x], list_ptr[x + 1]):
            where[lists[k]] = first_place[x] + k - list_ptr[x]
        for i in range(slab_ptr[x], slab_ptr[x + 1]):
            for j in range(members.shape[1]):
                number = members[i, j]
                places[i, column + j] = where[number] if number >= 0 else -1
