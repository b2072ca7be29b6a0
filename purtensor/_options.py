"""What the options of public functions may be: words, counts, numbers, yes or no."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from purtensor.errors import InvalidOptionError

_BEYOND_INT64 = 2**63


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise an error if an option is not one of the words; values that cannot be compared are handled too."""
    if not isinstance(value, str) or value not in choices:
        words = list(choices)
        told = f"{name} must be one of {', '.join(words)}, got {value!r}"
        raise InvalidOptionError.among(name, value, words, told)


def check_flag(name: str, value: object) -> None:
    """Refuse an option that is neither True nor False: 'no' and [False] would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidOptionError(
            f"{name} must be True or False, got {value!r}", where=name, expected=[True, False], got=value
        )


def check_name(what: str, value: object) -> None:
    """Raise an error if a value cannot be the name of `what`, such as a list, which is not hashable."""
    if not isinstance(value, str):
        raise InvalidOptionError(
            f"{what} must be named by a string, got {value!r}", where=what, expected="a string", got=value
        )


def items_of(value: object) -> list[Any] | None:
    """Return what an iterable has, None where it has no items: numbers, and arrays without an axis."""
    try:
        return list(value)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        return None


def is_count(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number from 0 on that an int64 holds; True and False are excluded."""
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < _BEYOND_INT64


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number that float64 holds, not NaN; without booleans, with infinity."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False
