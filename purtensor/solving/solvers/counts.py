"""What counts as a count among the options of solvers."""

from __future__ import annotations

from numbers import Integral
from typing import TypeGuard


def is_count(value: object) -> TypeGuard[int]:
    """Tell whether a value is a whole number, 0 or more; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0
