"""Rows that are marginals: each constraint gives every cell to one row, and slabs can be eliminated one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.rank.independence import independent_rows
from purtensor.constraints.rows import RowBlock
from purtensor.constraints.slabs import Slabs, in_slab_order
from purtensor.constraints.system import System
from purtensor.errors import TooLargeError
from purtensor.solving.dual.matrix import Solve
from purtensor.solving.hessian.choice import form_on
from purtensor.solving.hessian.factored import Hessian
from purtensor.solving.iterate import on_profiles, row_sums
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import smallest_unsigned

_FEWEST_ROWS = 200
"""Up to this many rows a dense matrix is as fast, and eigenvalues show what active cells leave open."""

# a share of each row's own diagonal, so that rows of all sizes are supported alike
_RIDGE = 1e-13


def partition_system(blocks: Sequence[RowBlock], offsets: IntArray, rows: IntArray, cells: IntArray) -> System | None:
    """Return the kept rows on the kept cells in codes; None where a block does not give every cell to one row."""
    sizes: dict[str, pd.Index[Any]] = {}
    index, scopes, codes, counts = [], [], [], []
    for k, block in enumerate(blocks):
        if block.coefficients.nnz > block.coefficients.shape[1]:
            return None
        own = rows[(rows >= offsets[k]) & (rows < offsets[k + 1])] - offsets[k]
        row_of = _row_of_cells(block.coefficients[own][:, cells])
        if row_of is None or (block.index is None and len(own) > 1):
            return None
        names = () if block.index is None else tuple(str(name) for name in block.index.names)
        for name, level in zip(names, () if block.index is None else block.index.levels, strict=True):
            # the same attribute in other categories cannot be coded together
            if len(sizes.setdefault(name, level)) != len(level):
                return None
        index.append(row_of)
        scopes.append(names)
        codes.append(tuple(np.asarray(code)[own] for code in (() if block.index is None else block.index.codes)))
        counts.append(len(own))
    return System(
        index=np.array(index, dtype=smallest_unsigned(max(counts))),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        targets=np.ones(sum(counts)),
        domain=Domain(tuple(sizes), tuple(sizes.values())),
        scopes=tuple(scopes),
        row_codes=tuple(codes),
    )


def _row_of_cells(coefficients: sparse.csr_array) -> IntArray | None:
    """Return the only row that each cell belongs to, with the coefficient 1; None where there is none such."""
    rows, cells = coefficients.shape
    # as many ones as cells: with a row for each cell, none has two
    if coefficients.nnz != cells or not np.all(coefficients.data == 1.0):
        return None
    row_of = np.full(cells, -1, dtype=np.int64)
    row_of[coefficients.indices] = np.repeat(np.arange(rows), np.diff(coefficients.indptr))
    return None if (row_of < 0).any() else row_of


def partition_matrix(system: System, hard: BoolArray) -> PartitionMatrix | None:
    """Return the matrix of a system with the form of Newton's equations that is cheapest; None where rows are few.

    `hard` says, one per constraint, whether all its rows must equal a number: of these an independent set is kept.
    """
    if system.rows <= _FEWEST_ROWS:
        return None
    arranged, slabs, order = in_slab_order(system)
    kept = np.ones(system.rows, dtype=bool)
    # rows with slacks have a diagonal of their own; only the others may make the equations singular
    if hard.any():
        try:
            kept = _find_kept_rows(arranged, slabs, hard)
        except TooLargeError:
            return None
    return PartitionMatrix(system, order, form_on(arranged, slabs, kept), ~kept)


def _find_kept_rows(system: System, slabs: Slabs | None, hard: BoolArray) -> BoolArray:
    """Return all rows but the dependent ones of hard constraints."""
    own, numbers = system.of_constraints(np.flatnonzero(hard).tolist())
    key = None if slabs is None else slabs.key
    # the slabs' key may be that of soft constraints alone
    if key is not None and not any(set(key) <= set(scope) for scope in own.scopes):
        key = None
    kept = np.ones(system.rows, dtype=bool)
    kept[numbers] = independent_rows(own, key).mask(own.rows)
    return kept


class PartitionMatrix:
    """Zeros and ones of which each constraint has one per cell: sums over codes, without a coefficient in memory."""

    def __init__(self, system: System, order: IntArray, form: Hessian, dependent: BoolArray) -> None:
        self.system, self.order, self.form, self.dependent = system, order, form, dependent
        self.shape: tuple[int, int] = (system.rows, system.profiles)

    def times(self, x: FloatArray) -> FloatArray:
        """Return C x."""
        return row_sums(self.system, np.ascontiguousarray(x))

    def back(self, y: FloatArray) -> FloatArray:
        """Return C^T y."""
        return on_profiles(self.system, np.ascontiguousarray(y))

    def size_times(self, x: FloatArray) -> FloatArray:
        """Return |C| x."""
        return self.times(x)

    def size_back(self, y: FloatArray) -> FloatArray:
        """Return |C|^T y."""
        return self.back(y)

    def solver(self, weights: FloatArray, diagonal: FloatArray) -> Solve:
        """Eliminate, with a ridge that bears rows which the active cells leave dependent, and return what solves."""
        ridge = diagonal + _RIDGE * self.times(weights)
        # a right-hand side of 0: only the factors are wanted; the form works on profiles in slab order
        in_order = np.ascontiguousarray(weights[self.order])
        return self.form.factor_and_solve(in_order, np.zeros(len(ridge)), ridge)[1].solve

    def to_sparse(self) -> sparse.csr_array:
        """Return C as a sparse array."""
        rows = (self.system.index.astype(np.int64) + self.system.offsets[:-1, None]).reshape(-1)
        cells = np.tile(np.arange(self.shape[1]), len(self.system.index))
        return sparse.csr_array((np.ones(len(rows)), (rows, cells)), shape=self.shape)
