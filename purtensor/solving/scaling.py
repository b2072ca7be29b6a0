"""Scaling by powers of two, which changes no digit."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import InvalidTableError

_LOWEST = -1021
"""The exponent of the smallest number with all its digits, as frexp counts."""

_MOST = 1000
"""Totals stay below two to this power."""

_WIDEST = 1960
"""So many powers of two a total may be above its smallest mass: beyond, sums of scaled masses leave float64."""


def exponent_to_unit(masses: FloatArray) -> int:
    """Return the power of two by which to divide positive masses to bring their total into [1/2, 1).

    It is less where the smallest mass would lose digits by that, or all of them.

    Raises
    ------
    InvalidTableError
        The smallest mass is less than 2^-1960 of the total, about 1e-590: no scaling holds both.

    Examples
    --------
    >>> import numpy as np
    >>> exponent_to_unit(np.array([3.0, 2.0])), exponent_to_unit(np.array([3.0, 5e-324]))
    (3, -52)
    """
    return exponent_between(float(masses.min()), float(masses.sum()))


def exponent_between(smallest: float, total: float) -> int:
    """Return what `exponent_to_unit` returns of masses of this total, the smallest of which is known.

    Raises
    ------
    InvalidTableError
        As there.
    """
    above, below = math.frexp(total)[1], math.frexp(smallest)[1]
    if above - below > _WIDEST:
        raise InvalidTableError(
            f"the smallest mass of the reference, {smallest:g}, is less than 1e-590 of its total, {total:g}: no "
            "scaling represents both; remove such profiles, or give them more mass"
        )
    # so small a divisor leaves the smallest mass normal: subnormal numbers have fewer digits
    return min(above, below - _LOWEST)


def scale_to(masses: FloatArray, total: float) -> FloatArray:
    """Return positive masses scaled to a total.

    Raises
    ------
    InvalidTableError
        The smallest mass would lose digits by that, or all of them.

    Examples
    --------
    >>> import numpy as np
    >>> scale_to(np.array([1e-310, 3e-310]), 2.0).tolist()
    [0.5, 1.5]
    """
    # first near 1 by a power of two: where the sum is subnormal, total / sum may overflow
    near_one = np.ldexp(masses, -exponent_to_unit(masses))
    scaled: FloatArray = near_one * (total / float(near_one.sum()))
    if scaled.min() < np.finfo(np.float64).smallest_normal:
        raise InvalidTableError(
            f"the smallest mass of the reference, {float(masses.min()):g}, is less than 1e-307 when its total, "
            f"{float(masses.sum()):g}, is scaled to {total:g}: remove such profiles, or give them more mass"
        )
    return scaled


def scale_emptied(masses: FloatArray, exponent: int) -> FloatArray:
    """Return masses that targets of 0 empty, divided by the power of two that the others are divided by.

    Raises
    ------
    InvalidTableError
        One of them is more than float64 holds by that.
    """
    refuse_beyond(float(masses.max(initial=0.0)), exponent)
    scaled: FloatArray = np.ldexp(masses, -exponent)
    return scaled


def refuse_beyond(largest: float, exponent: int) -> None:
    """Refuse a mass that targets of 0 empty where it is more than float64 holds, divided by this power of two.

    Raises
    ------
    InvalidTableError
        It is.
    """
    if math.frexp(largest)[1] - exponent > _MOST:
        raise InvalidTableError(
            f"a profile that targets of 0 exclude has {largest:g}, more than 1e300 times all others: remove it from "
            "the reference"
        )


def loses_digits(smallest: float, exponent: int) -> bool:
    """Return whether a mass, divided by this power of two, is below the numbers that have all their digits."""
    return math.frexp(smallest)[1] - exponent < _LOWEST


def scale_targets(targets: FloatArray, exponent: int) -> FloatArray:
    """Return targets divided by two to a power.

    Raises
    ------
    InvalidTableError
        One that is not 0 would be.
    """
    scaled: FloatArray = np.ldexp(targets, -exponent)
    lost = (targets != 0) & (scaled == 0)
    if lost.any():
        raise InvalidTableError(
            f"a target of {float(targets[lost].max()):g} is less than 2^-1074 of the total of all: no scaling "
            "represents both; increase it, or set it to 0"
        )
    return scaled
