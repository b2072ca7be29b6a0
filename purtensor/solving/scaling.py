"""Scaling by powers of two, which changes no digit."""

from __future__ import annotations

import math

from purtensor._typing import FloatArray

_LOWEST = -1021
"""The exponent of the smallest number with all its digits, as frexp counts."""

_MOST = 1000
"""Totals stay below two to this power."""


def exponent_to_unit(masses: FloatArray) -> int:
    """Return the power of two by which to divide positive masses to bring their total into [1/2, 1).

    It is less where the smallest mass would lose digits by that, or all of them.

    Examples
    --------
    >>> import numpy as np
    >>> exponent_to_unit(np.array([3.0, 2.0])), exponent_to_unit(np.array([3.0, 5e-324]))
    (3, -52)
    """
    total = math.frexp(float(masses.sum()))[1]
    smallest = math.frexp(float(masses.min()))[1]
    return max(min(total, smallest - _LOWEST), total - _MOST)
