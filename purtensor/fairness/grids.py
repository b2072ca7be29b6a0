"""The numbers along which answers are worked out: slacks of a curve, strengths of a path."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError


def steps_given(name: str, values: Iterable[float]) -> FloatArray:
    """Return the numbers that were given, one or more in a row, as an array; `name` is their plural in messages.

    Raises
    ------
    InvalidOptionError
        Text, what cannot be iterated over or holds no numbers, none at all, or rows of rows.
    """
    try:
        given = [values] if isinstance(values, str | bytes) else list(values)  # '12' would be 1 and 2
        if any(isinstance(value, str | bytes) for value in given):
            raise TypeError
        steps = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidOptionError(f"{name} must be numbers, got {values!r}") from None
    if steps.ndim != 1 or not len(steps):
        raise InvalidOptionError(f"{name} must be a one-dimensional sequence of at least one number")
    return steps
