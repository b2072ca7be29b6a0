"""Indexing by codes in numpy, with its temporaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor._typing import BoolArray, IntArray
from purtensor.kernels import indexing
from purtensor.kernels.numpy_forms.forms import Forms
from purtensor.kernels.slabs import counting_order


def _append_codes(keys: IntArray, codes: IntArray, size: int) -> None:
    np.multiply(keys, np.int64(size), out=keys, casting="unsafe")  # the type of the keys need not hold the size
    np.add(keys, codes, out=keys, casting="unsafe")


def _mark(codes: IntArray, marked: BoolArray) -> None:
    marked[codes] = True


def _take(values: npt.NDArray[Any], places: IntArray, out: npt.NDArray[Any]) -> None:
    out[:] = values[places]


def _put(out: npt.NDArray[Any], places: IntArray, values: npt.NDArray[Any]) -> None:
    out[places] = values


def _count_codes(codes: IntArray, count: int) -> IntArray:
    return np.bincount(codes, minlength=count)


def _is_ascending(codes: IntArray, rank: IntArray) -> bool:
    ranks = rank[codes]
    return bool(np.all(ranks[1:] >= ranks[:-1]))


def _order_by_rank(codes: IntArray, rank: IntArray, starts: IntArray, order: IntArray) -> None:
    order[:] = np.argsort(rank[codes], kind="stable")
    starts += np.bincount(rank[codes], minlength=len(starts))


def _counting_order(rank: IntArray, count: int) -> IntArray:
    return np.argsort(rank, kind="stable")


FORMS: Forms = {
    indexing.append_codes: _append_codes,
    indexing.mark: _mark,
    indexing.take: _take,
    indexing.put: _put,
    indexing.count_codes: _count_codes,
    indexing.is_ascending: _is_ascending,
    indexing.order_by_rank: _order_by_rank,
    counting_order: _counting_order,
}
