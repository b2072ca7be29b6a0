"""Plain loops over codes of any integer type, without temporaries."""

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
        falls += rank[codes[i]] < rank[codes[i - 1]]
    return falls == 0


@compiled
def order_by_rank(codes: IntArray, rank: IntArray, starts: IntArray, order: IntArray) -> None:
    """Write the stable order that sorts the ranks of the codes; `starts`, where each rank begins, is overwritten."""
    for i in range(codes.size):
        r = rank[codes[i]]
        order[starts[r]] = i
        starts[r] += 1
