"""Numbers as masses: float64, finite, not negative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from purtensor._typing import FloatArray
from purtensor.errors import InvalidTableError

LARGEST_EXACT_INTEGER = 2**53
"""Up to here float64 holds every integer."""


def as_masses(raw: npt.NDArray[Any], fail: Callable[[int, str], NoReturn]) -> FloatArray:
    """Return numbers as float64, or call `fail` with the position of one that is not a mass and what it has.

    Raises
    ------
    InvalidTableError
        The values are not integers, floats or booleans.
    """
    values = as_float64(raw, fail)
    if values.size and not (values.min() >= 0 and np.isfinite(values.max())):  # NaN is not above 0
        bad = int(np.flatnonzero(~(np.isfinite(values) & (values >= 0)))[0])
        fail(bad, f"has {values[bad]}; masses must be finite and not negative")
    return values


def as_float64(raw: npt.NDArray[Any], fail: Callable[[int, str], NoReturn]) -> FloatArray:
    """Return numbers as float64, or call `fail` with the position of one that float64 does not hold and what it has.

    Raises
    ------
    InvalidTableError
        The values are not integers, floats or booleans.
    """
    if raw.dtype.kind not in "buif":
        raise InvalidTableError(f"the values of a table must be integers or floats, got {raw.dtype}")
    if raw.dtype.kind in "ui" and raw.size:
        beyond = np.flatnonzero((raw > LARGEST_EXACT_INTEGER) | (raw < -LARGEST_EXACT_INTEGER))
        # beyond 2^53 every second integer is one of float64's, then every fourth, and so on
        inexact = [i for i in beyond if int(np.float64(raw[i])) != int(raw[i])]
        if inexact:
            fail(int(inexact[0]), f"has {raw[inexact[0]]}, an integer that float64 cannot represent exactly")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(raw, dtype=np.float64)
    if raw.dtype.kind == "f" and raw.dtype.itemsize > values.itemsize:  # of more digits, and of a wider range
        lost = np.flatnonzero((np.isinf(values) & np.isfinite(raw)) | ((values == 0) & (raw != 0)))
        if len(lost):
            fail(int(lost[0]), f"has {raw[lost[0]]!s}, which is beyond the range of float64")
    return values
