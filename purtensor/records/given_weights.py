"""Weights of records in memory, as masses."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from purtensor._typing import FloatArray
from purtensor.errors import InvalidTableError
from purtensor.tables.masses import as_masses


def masses_of(weights: nw.Series[Any], rows: int) -> FloatArray:
    """Return the weights of so many records as masses.

    Raises
    ------
    InvalidTableError
        Not one weight per record, or one that is missing, is no number, is negative or is not finite.
    """
    if len(weights) != rows:
        raise InvalidTableError(f"there are {len(weights)} weights for {rows} records")
    absent = np.flatnonzero(weights.is_null().to_numpy())
    if len(absent):
        raise InvalidTableError(f"the weight of row {absent[0]} (counted from 0) is missing")

    def fail(row: int, what: str) -> NoReturn:
        raise InvalidTableError(f"the weight of row {row} (counted from 0) {what}", code="bad-weight")

    values = np.asarray(weights.to_numpy())
    if isinstance(weights.dtype, nw.Categorical | nw.Enum):
        raise InvalidTableError("weights must be numbers, one per record, got a categorical")
    # numpy's kinds of objects and text, T since numpy 2
    if values.dtype.kind in "OUST":
        values = _as_numbers(values, fail)
    return as_masses(values, fail)


def _as_numbers(values: npt.NDArray[Any], fail: Callable[[int, str], NoReturn]) -> npt.NDArray[Any]:
    """Return Python numbers as float64; raise an error for text and for integers that float64 cannot represent."""
    numbers = values.tolist()
    if any(isinstance(value, str | bytes) for value in numbers):
        raise InvalidTableError("weights must be numbers, one per record, got text")
    try:
        found = np.array([float(value) for value in numbers])
    except (TypeError, ValueError, OverflowError):
        raise InvalidTableError("weights must be numbers that float64 can hold, one per record") from None
    for row, value in enumerate(numbers):
        # Python compares its integers, Decimals and Fractions exactly
        if _is_whole(value) and int(found[row]) != value:
            fail(row, f"has {value}, an integer that float64 cannot represent exactly")
    return found


def _is_whole(value: Any) -> bool:
    """Return whether a number is whole in its own digits: an integer, or such a Decimal or Fraction."""
    exact = isinstance(value, Fraction) or (isinstance(value, Decimal) and value.is_finite())
    return isinstance(value, int) or (exact and value == int(value))
