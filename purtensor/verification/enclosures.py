"""Rational enclosures of logarithms and exponentials: intervals that contain the exact value despite rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

BITS = 320
"""Digits behind the binary point that a logarithm has, and significant ones that an exponential has."""

_GUARD = 32
_ONE = 1 << (BITS + _GUARD)


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`."""

    low: Fraction
    high: Fraction

    def __add__(self, other: Interval) -> Interval:
        """Return where the sum lies."""
        return Interval(self.low + other.low, self.high + other.high)

    def plus(self, number: Fraction) -> Interval:
        """Return where the sum with an exact number lies."""
        return Interval(self.low + number, self.high + number)

    def times(self, number: Fraction) -> Interval:
        """Return where the product with an exact number lies."""
        ends = (self.low * number, self.high * number)
        return Interval(min(ends), max(ends))


def log_enclosure(number: Fraction) -> Interval:
    """Return an interval of width below 2^-BITS times the size of the exponent around log(number), number > 0."""
    power = number.numerator.bit_length() - number.denominator.bit_length()
    mantissa = number / Fraction(2) ** power  # in (1/2, 2)
    # |m - 1| <= 1/3 keeps |z| <= 1/5, where each term of the series gains 4.6 bits
    if mantissa > Fraction(4, 3):
        power, mantissa = power + 1, mantissa / 2
    elif mantissa < Fraction(2, 3):
        power, mantissa = power - 1, mantissa * 2
    return _log_of_mantissa(mantissa) + _log_two().times(Fraction(power))


def exp_enclosure(number: Fraction) -> Interval:
    """Return an interval of relative width below 2^-BITS around exp(number)."""
    two = _log_two()
    # log 2 is only enclosed, but any whole power will do: the nearest one keeps the rest small
    power = math.floor(number / two.low + Fraction(1, 2))
    reduced = two.times(Fraction(-power)).plus(number)
    # exp increases, so the enclosures of the two ends enclose all between
    low, high = _exp_of_reduced(reduced.low).low, _exp_of_reduced(reduced.high).high
    return Interval(low * Fraction(2) ** power, high * Fraction(2) ** power)


def float_above(number: Fraction) -> float:
    """Return a float64 that is not less than the number."""
    nearest = _nearest(number)
    return nearest if math.isinf(nearest) or Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -1.7976931348623157e308


def root_above(number: Fraction) -> Fraction:
    """Return a fraction that is not less than the square root of a number >= 0, and close to it."""
    # the ceiling, since the root must not be too small
    scaled = -(-(number.numerator << (2 * BITS)) // number.denominator)
    root = math.isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, 1 << BITS)


def _log_of_mantissa(mantissa: Fraction) -> Interval:
    """2 artanh(z) with z = (m - 1) / (m + 1), |z| <= 1/5: z + z^3/3 + z^5/5 + ..."""
    z = (mantissa - 1) / (mantissa + 1)
    sign = -1 if z < 0 else 1
    term = (abs(z.numerator) << (BITS + _GUARD)) // z.denominator
    square = (term * term) >> (BITS + _GUARD)
    total, odd = 0, 1
    while term:
        total += term // odd
        term = (term * square) >> (BITS + _GUARD)
        odd += 2
    # each of the odd/2 terms is off by less than 3 units of the last place, and the tail by less than one
    return _around(Fraction(2 * sign * total, _ONE), 6 * odd)


@lru_cache(maxsize=1)
def _log_two() -> Interval:
    # log 2 = log(4/3) - log(2/3), both within reach of the series
    return _log_of_mantissa(Fraction(4, 3)) + _log_of_mantissa(Fraction(2, 3)).times(Fraction(-1))


def _exp_of_reduced(number: Fraction) -> Interval:
    """1 + x + x^2/2 + ... for |x| <= 0.35, where the tail is below its first term left out."""
    x = (number.numerator << (BITS + _GUARD)) // number.denominator
    term, total, k = _ONE, _ONE, 1
    while abs(term) > 1:
        term = (term * x >> (BITS + _GUARD)) // k
        total += term
        k += 1
    # the shift and the division round down by a unit each, and carry on the errors of the terms before
    return _around(Fraction(total, _ONE), 4 * k + 4)


def _around(number: Fraction, units: int) -> Interval:
    width = Fraction(units, _ONE)
    return Interval(number - width, number + width)
