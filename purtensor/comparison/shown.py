"""How numbers of a comparison are written for the eye."""

from __future__ import annotations

import math


def duration(seconds: float) -> str:
    """Return seconds in a unit that needs no exponent; nothing for NaN.

    Examples
    --------
    >>> duration(0.00123), duration(75.0), duration(float("nan"))
    ('1.23 ms', '75 s', '')
    """
    if math.isnan(seconds):
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def scientific(value: float) -> str:
    """Return two digits and the power of ten; nothing for NaN."""
    return "" if math.isnan(value) else f"{value:.1e}"


def mebibytes(count: float) -> str:
    """Return bytes in MiB; nothing for NaN."""
    if math.isnan(count):
        return ""
    return f"{count / 2**20:,.1f} MiB" if count >= 0.1 * 2**20 else "< 0.1 MiB"
