"""Slow, obvious exact algebra for the tests of this folder."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import xarray as xr

import purtensor as pt
from purtensor.constraints.system import System, align
from purtensor.tables.coded import encode


def rational_rank(matrix: np.ndarray) -> int:
    """Return the rank of a whole-number matrix by fraction-free elimination in Python's integers."""
    rows = [[int(value) for value in row] for row in matrix]
    rank = 0
    for column in range(matrix.shape[1]):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        lead = rows[rank]
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column]
            if factor:
                rows[r] = [lead[column] * a - factor * b for a, b in zip(rows[r], lead)]
        rank += 1
    return rank


def dense_matrix(system: System) -> np.ndarray:
    """Return C as a dense array of whole numbers."""
    matrix = np.zeros((system.rows, system.profiles), dtype=int)
    for k in range(len(system.scopes)):
        matrix[system.offsets[k] + system.index[k].astype(int), np.arange(system.profiles)] = 1
    return matrix


def support_table(profiles: np.ndarray, names: list[str]) -> xr.DataArray:
    """Return the table of ones on the given profiles, shape (profiles, attributes)."""
    index = pd.MultiIndex.from_arrays(list(np.asarray(profiles).T), names=names)
    coords = xr.Coordinates.from_pandas_multiindex(index, "profile")
    return xr.DataArray(np.ones(len(profiles)), dims="profile", coords=coords)


def system_on(support: np.ndarray, scopes: list[tuple[int, ...]]) -> System:
    """Return the constraints over the scopes (attribute numbers) on a support given as a dense mask."""
    names = [f"a{n}" for n in range(support.ndim)]
    table = support_table(np.argwhere(support), names)
    constraints = pt.marginals_of(table, [tuple(names[a] for a in scope) for scope in scopes])
    return align(encode(table), constraints)


def all_pairs(count: int) -> list[tuple[int, ...]]:
    """Return all two-way scopes of so many attributes."""
    return list(itertools.combinations(range(count), 2))
