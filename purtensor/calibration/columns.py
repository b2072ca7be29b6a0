"""Columns of records, or arrays beside them: numbers, labels, replicate weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from purtensor._options import items_of
from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidTableError
from purtensor.records.frames import column_of
from purtensor.tables.factorize import factorize
from purtensor.tables.masses import as_float64, as_masses

_NUMBERS = {"integer", "floating", "mixed-integer-float", "decimal"}


def number_column(records: Any, values: Any) -> FloatArray:
    """Return one finite number per record, from a column by name or from an array."""
    column = column_of(records, values, "values")

    def fail(row: int, what: str) -> NoReturn:
        raise InvalidTableError(f"the value of row {row} (counted from 0) {what}")

    if not is_numeric(column):
        raise InvalidTableError(f"values must be numbers, one per record, got {column.dtype}")
    return numbers_of(column, fail)


def is_numeric(column: nw.Series[Any]) -> bool:
    """Return whether a column has numbers, also as objects of Python; booleans are none."""
    if column.dtype.is_numeric():
        return True
    if not isinstance(column.dtype, nw.Object | nw.Unknown):
        return False
    # objects of Python, such as Decimal, may be numbers all the same
    return pd.api.types.infer_dtype(column.to_list(), skipna=True) in _NUMBERS


def numbers_of(column: nw.Series[Any], fail: Callable[[int, str], NoReturn]) -> FloatArray:
    """Return a column of numbers as finite float64; `fail` gets the row of one that is not a number, and why."""
    missing = np.flatnonzero(column.is_null().to_numpy())
    if len(missing):
        fail(int(missing[0]), "is missing")
    raw = np.asarray(column.to_numpy()) if column.dtype.is_numeric() else np.array(column.to_list())
    found = as_float64(raw if raw.dtype.kind != "O" else raw.astype(np.float64), fail)
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        fail(int(wrong[0]), f"is {found[wrong[0]]}")
    return found


def label_column(records: Any, labels: Any) -> IntArray:
    """Return the code of one label a record, from a column by name or from an array."""
    column = column_of(records, labels, "labels")
    factor = factorize(column, labels if isinstance(labels, str) else "labels")
    if len(factor.missing_rows()):
        raise InvalidTableError(f"the label of row {factor.missing_rows()[0]} (counted from 0) is missing")
    return factor.codes


def replicate_columns(records: Any, replicates: Any, count: int) -> FloatArray:
    """Return replicate weights, shape (records, replicates), from names of columns or from an array."""
    names = items_of(replicates) if not hasattr(replicates, "shape") else None
    if names is not None and names and all(isinstance(name, str) for name in names):
        return np.column_stack([number_column(records, name) for name in names])
    matrix = np.asarray(replicates)
    if matrix.ndim != 2 or matrix.shape[0] != count:
        raise InvalidTableError(
            f"replicates must be an array of shape ({count}, replicates), or names of columns, got shape {matrix.shape}"
        )

    def fail(position: int, what: str) -> NoReturn:
        row, column = divmod(position, matrix.shape[1])
        raise InvalidTableError(f"replicate {column} of row {row} (both counted from 0) {what}")

    return as_masses(matrix.reshape(-1), fail).reshape(matrix.shape)
