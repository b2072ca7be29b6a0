"""What sampling takes: seeds, sizes, and counts that are whole numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.tables.coded import CodedTable

LARGEST_COUNT = 2**53
"""Counts are float64: beyond this, whole numbers are no longer exact."""


def generator(seed: Any) -> np.random.Generator:
    """Return a numpy Generator: a given one itself, or a new one of a seed, the same for the same seed."""
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, Integral) and not isinstance(seed, bool) and int(seed) >= 0:
        return np.random.default_rng(int(seed))
    raise InvalidOptionError(f"seed must be a non-negative integer or a numpy.random.Generator, got {seed!r}")


def whole_size(size: Any, option: str = "size") -> int:
    """Return a number of individuals as an int, or raise InvalidOptionError."""
    if not isinstance(size, Integral) or isinstance(size, bool) or int(size) < 0:
        raise InvalidOptionError(f"{option} must be a non-negative integer, got {size!r}")
    if int(size) > LARGEST_COUNT:
        raise InvalidOptionError(f"{option} is {size}, but counts are exact in float64 up to 2^53 only")
    return int(size)


def whole_counts(coded: CodedTable) -> npt.NDArray[np.int64]:
    """Return the values of a table of counts as integers.

    Raises
    ------
    InvalidTableError
        A value that is not a whole number, naming the profile, or a total beyond 2^53.
    """
    broken = np.flatnonzero(coded.values != np.floor(coded.values))
    if len(broken):
        row = int(broken[0])
        raise InvalidTableError(
            f"profile ({coded.describe(row)}) has {coded.values[row]}, but counts must be whole numbers; "
            "to draw counts from probabilities use purtensor.sample"
        )
    if coded.total > LARGEST_COUNT:
        raise InvalidTableError(f"the counts sum to {coded.total:g}, but sums are exact in float64 up to 2^53 only")
    return coded.values.astype(np.int64)
