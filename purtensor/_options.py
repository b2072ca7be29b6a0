"""The options of public functions: words, counts, numbers, yes or no, and names with options of their own."""

from __future__ import annotations

import ast
import math
import re
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
        message = f"{name} must be one of {', '.join(words)}, got {value!r}"
        raise InvalidOptionError.among(name, value, words, message)


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
        # text gives its letters: callers that take a single name test for it first
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


def name_and_options(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name in 'name' or 'name(option=value, ...)', and the options as Python reads them.

    Raises
    ------
    InvalidOptionError
        It is written in another way.

    Examples
    --------
    >>> name_and_options("ipf(order=(2, 0, 1), acceleration='anderson')")
    ('ipf', {'order': (2, 0, 1), 'acceleration': 'anderson'})
    """
    # literal_eval and no eval: the text may come from a command line
    if re.fullmatch(r"[\w.-]+", text):
        return text, {}
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)) or call.args:
            raise ValueError(text)
        return call.func.id, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidOptionError(f"options must be written as name(option=value, ...), got {text!r}") from None
