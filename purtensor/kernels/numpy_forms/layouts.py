"""Layouts of sweeps in numpy: nothing is swept in them there, but what compiled sweeps would cost is read off them."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.codes import counting_order
from purtensor.kernels.ipf import layouts as kernels
from purtensor.kernels.ipf.steps import is_crowded
from purtensor.kernels.simd import WIDTH


def _place_cells(
    index_a: IntArray, local_a: IntArray, index_b: IntArray, local_b: IntArray, index: IntArray, cell_row: IntArray
) -> bool:
    cell_row[:] = -1
    cells = local_a[index_a], local_b[index_b]
    # the last profile of a cell stays: all have to equal it
    cell_row[cells] = index
    return bool((cell_row[cells] == index).all())


def _place_rows(
    index: IntArray,
    local: IntArray,
    slab_ptr: IntArray,
    first: int,
    targets: FloatArray,
    rows: IntArray,
    placed: FloatArray,
) -> None:
    slab = np.repeat(np.arange(len(slab_ptr) - 1), np.diff(slab_ptr))
    own = index[slab_ptr[0] : slab_ptr[-1]]
    where = slab // WIDTH, local[own], slab % WIDTH
    rows[where] = first + own.astype(np.int64)
    placed[where] = targets[own]


def _find_pattern(row: IntArray, pattern: IntArray) -> bool:
    eights = row.reshape(-1, WIDTH)
    pattern[:] = -1
    # of eights that begin with the same row the last one stays: all have to equal it
    pattern[eights[:, 0]] = eights
    return bool((pattern[eights[:, 0]] == eights).all())


def _join_codes(joint: IntArray, count: int, code: IntArray, size: int, largest: int, number: IntArray) -> int:
    pairs = np.flatnonzero(np.bincount(joint.astype(np.int64) * size + code, minlength=count * size))
    if len(pairs) > largest:
        return -1
    number[: count * size] = -1
    number[pairs] = np.arange(len(pairs))
    return len(pairs)


def _replace_joint(joint: IntArray, code: IntArray, size: int, number: IntArray) -> None:
    joint[:] = number[joint.astype(np.int64) * size + code]


FORMS = {
    kernels.place_cells: _place_cells,
    kernels.place_rows: _place_rows,
    kernels.find_pattern: _find_pattern,
    kernels.join_codes: _join_codes,
    kernels.replace_joint: _replace_joint,
    counting_order: lambda rank, count: np.argsort(rank, kind="stable"),
    is_crowded: getattr(is_crowded, "py_func", is_crowded),
}
