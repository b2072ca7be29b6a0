"""Numbers as masses: float64, finite, not negative."""

from __future__ import annotations

import math
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


_NORMALISED = 1e-6
"""How far the total of probabilities may be from 1: they are often written with a few digits."""


def is_one(total: float) -> bool:
    """Return whether a total is that of probabilities."""
    return abs(total - 1.0) <= _NORMALISED


def are_probabilities(values: FloatArray, total: float) -> bool:
    """Return whether masses are probabilities: their total is 1, and not all are whole, as a single count would be.

    Examples
    --------
    >>> import numpy as np
    >>> are_probabilities(np.array([0.25, 0.75]), 1.0), are_probabilities(np.array([1.0, 0.0]), 1.0)
    (True, False)
    """
    return is_one(total) and not np.array_equal(values, np.rint(values))


_BITS = 15
_BLOCK = 1 << _BITS
_FEW = 512
_LARGEST = 2.0**1000
"""Beyond it the numbers that split others would overflow."""

# each level takes 37 binary digits off; what spreads over more goes to math.fsum as it is
_LEVELS = 12


def exact_sum(values: FloatArray) -> float:
    """Return the sum of the values, rounded once, as math.fsum does it.

    Blocks are split into multiples of powers of two that float64 adds up without rounding (Rump, Ogita and Oishi 2008,
    "Accurate floating-point summation"); math.fsum adds up their few sums.
    """
    if len(values) <= _FEW:
        return math.fsum(values.tolist())
    parts: list[float] = []
    for first in range(0, len(values), _BLOCK):
        parts += _parts_of(values[first : first + _BLOCK])
    return math.fsum(parts)


def _parts_of(rest: FloatArray) -> list[float]:
    """Return few numbers whose exact sum is that of the values, at most 2^15 of them."""
    parts: list[float] = []
    for _ in range(_LEVELS):
        largest = max(float(rest.max()), -float(rest.min()))
        if largest == 0.0:
            return parts
        if not largest < _LARGEST:  # NaN, too
            break
        # adding and subtracting this rounds to multiples of 2^-37 of the largest's power of two
        splitter = math.ldexp(1.5, math.frexp(largest)[1] + _BITS)
        high = rest + splitter
        high -= splitter
        parts.append(float(high.sum()))
        # exact: both are multiples of the last digit of rest, and the difference is no larger
        rest = rest - high
    parts.extend(rest[rest != 0.0].tolist())
    return parts
