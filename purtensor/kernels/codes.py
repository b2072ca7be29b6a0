"""Plain loops over codes of any integer type, without temporaries, and profiles arranged by slabs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor._typing import BoolArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def append_codes(keys: IntArray, codes: IntArray, size: int) -> None:
    """Replace every key by key * size + code; the type of the keys holds that."""
    for i in range(keys.size):
        # the digits of a mixed radix number: keys sort as the codes do, the first attribute first
        keys[i] = keys[i] * size + codes[i]


@compiled
def mark(codes: IntArray, marked: BoolArray) -> None:
    """Set `marked` at every code."""
    for i in range(codes.size):
        marked[codes[i]] = True


@compiled
def take(values: npt.NDArray[Any], places: IntArray, out: npt.NDArray[Any]) -> None:
    """Write the values at the places, which may be `out` itself; the type of `out` holds them."""
    for i in range(places.size):
        # each place is read before it is overwritten, where `out` is the places
        out[i] = values[places[i]]


@compiled
def put(out: npt.NDArray[Any], places: IntArray, values: npt.NDArray[Any]) -> None:
    """Write the values to the places of `out`."""
    for i in range(places.size):
        out[places[i]] = values[i]


@compiled
def count_codes(codes: IntArray, count: int) -> IntArray:
    """Return how often each of the codes 0 .. count - 1 occurs."""
    found = np.zeros(count, dtype=np.int64)
    for i in range(codes.size):
        found[codes[i]] += 1
    return found


@compiled
def is_ascending(codes: IntArray, rank: IntArray) -> bool:
    """Tell whether the ranks of the codes never fall."""
    falls = 0
    for i in range(1, codes.size):
        # counted to the end: a loop that may leave early gets no vector instructions
        falls += rank[codes[i]] < rank[codes[i - 1]]
    return falls == 0


@compiled
def order_by_rank(codes: IntArray, rank: IntArray, starts: IntArray, order: IntArray) -> None:
    """Write the stable order that sorts the ranks of the codes; `starts`, where each rank begins, is overwritten."""
    for i in range(codes.size):
        r = rank[codes[i]]
        # profiles of equal rank come in the order in which they are met, which makes the sort stable
        order[starts[r]] = i
        starts[r] += 1


@compiled
def counting_order(rank: IntArray, count: int) -> IntArray:
    """Return the stable order that sorts ranks 0 .. count - 1."""
    start = np.zeros(count + 1, dtype=np.int64)
    # two passes: how many there are of each rank, then each profile to the next free place of its rank
    for i in range(rank.size):
        start[rank[i] + 1] += 1
    for r in range(count):
        # start[r] is now where rank r begins
        start[r + 1] += start[r]
    order = np.empty(rank.size, dtype=np.int64)
    for i in range(rank.size):
        r = rank[i]
        order[start[r]] = i
        start[r] += 1
    return order


@compiled
def list_touched_by_slab(
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
                # `seen` keeps the last slab of each number, so nothing has to be cleared between slabs
                if number >= 0 and seen[number] != x:
                    seen[number] = x
                    found[here] = number
                    here += 1
        if fill:
            # ascending, so that upper triangles of slabs land in the upper triangle of the coupling matrix
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
            # left as it is by other slabs: a slab reads only the numbers that it has just written
            where[lists[k]] = first_place[x] + k - list_ptr[x]
        for i in range(slab_ptr[x], slab_ptr[x + 1]):
            for j in range(members.shape[1]):
                number = members[i, j]
                places[i, column + j] = where[number] if number >= 0 else -1
