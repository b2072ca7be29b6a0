"""Indexing by codes: by numpy where arrays are short, by kernels where numpy's int64 temporaries would count.

Kernels are compiled for every pair of integer types that comes, which short arrays should not wait for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor._typing import BoolArray, IntArray
from purtensor.kernels import codes as kernels
from purtensor.kernels.engine import serves_in_numpy

LONG = 1 << 18
"""From so many codes on the kernels are taken, unless numpy serves as long as nothing is compiled."""


def _is_long(codes: IntArray) -> bool:
    return len(codes) >= LONG and not serves_in_numpy(codes.size)


def append_codes(keys: IntArray, codes: IntArray, size: int) -> None:
    """Replace every key by key * size + code in place; the type of the keys holds that."""
    if _is_long(keys):
        kernels.append_codes(keys, codes, size)
    else:
        np.multiply(keys, np.int64(size), out=keys, casting="unsafe")  # the type of the keys need not hold the size
        np.add(keys, codes, out=keys, casting="unsafe")


def mark(codes: IntArray, marked: BoolArray) -> None:
    """Set `marked` at every code."""
    if _is_long(codes):
        kernels.mark(codes, marked)
    else:
        marked[codes] = True


def take(values: npt.NDArray[Any], places: IntArray, out: npt.NDArray[Any]) -> None:
    """Write the values at the places, which may be `out` itself; the type of `out` holds them."""
    if _is_long(places):
        kernels.take(values, places, out)
    else:
        out[:] = values[places]


def put(out: npt.NDArray[Any], places: IntArray, values: npt.NDArray[Any]) -> None:
    """Write the values to the places of `out`."""
    if _is_long(places):
        kernels.put(out, places, values)
    else:
        out[places] = values


def count_codes(codes: IntArray, count: int) -> IntArray:
    """Return how often each of the codes 0 .. count - 1 occurs."""
    return kernels.count_codes(codes, count) if _is_long(codes) else np.bincount(codes, minlength=count)


def order_by_rank(codes: IntArray, rank: IntArray, sizes: IntArray) -> IntArray | None:
    """Return the stable order that sorts the ranks of the codes, None where they ascend already.

    `sizes` says how many codes have each rank.
    """
    if not _is_long(codes):
        ranks = rank[codes]
        ascends = bool(np.all(ranks[1:] >= ranks[:-1]))
        return None if ascends else np.argsort(ranks, kind="stable").astype(np.int32)
    if kernels.is_ascending(codes, rank):
        return None
    order = np.empty(len(codes), dtype=np.int32 if len(codes) <= np.iinfo(np.int32).max else np.int64)
    kernels.order_by_rank(codes, rank, np.cumsum(sizes) - sizes, order)
    return order
