"""Enclosures contain the true number, and are narrow."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.verification.enclosures import (
    BITS,
    Interval,
    exp_enclosure,
    float_above,
    log_enclosure,
    root_above,
)

WIDTH = Fraction(1, 2**BITS)
POSITIVE = st.floats(min_value=5e-324, max_value=1e308, allow_subnormal=True).map(Fraction)


def decimal(number):
    return Decimal(number.numerator) / Decimal(number.denominator)


def surely_inside(interval, value, slack):
    """The decimal, good to 150 digits, lies in the interval that is widened by less than its own width."""
    assert interval.low < interval.high
    assert decimal(interval.low) - slack <= value <= decimal(interval.high) + slack


@given(POSITIVE, POSITIVE)
def test_log_enclosure__contains_the_logarithm(a, b):
    with localcontext() as context:
        context.prec = 150
        for number in (a, a / b, 1 + min(a, 1 / a) / 2**60, Fraction(2, 3), Fraction(4, 3)):
            found = log_enclosure(number)
            surely_inside(found, decimal(number).ln(), Decimal("1e-140"))
            assert found.high - found.low <= 5000 * WIDTH


@given(st.floats(-700, 700).map(Fraction), st.integers(1, 7))
def test_exp_enclosure__contains_the_exponential(x, parts):
    with localcontext() as context:
        context.prec = 150
        number = x / parts
        value = decimal(number).exp()
        found = exp_enclosure(number)
        surely_inside(found, value, value * Decimal("1e-140"))
        assert (found.high - found.low) / found.low <= 2 * WIDTH


def test_exp_enclosure__reaches_beyond_the_range_of_floats():
    found = exp_enclosure(Fraction(-2000))
    assert 0 < found.low < found.high < Fraction(2) ** -2800
    back = log_enclosure(found.low)
    assert abs(back.low + 2000) <= 5000 * WIDTH


@given(POSITIVE, POSITIVE)
def test_float_above__is_the_next_float_or_the_number(a, b):
    number = a / b
    found = float_above(number)
    if math.isfinite(found):
        assert Fraction(found) >= number
        assert Fraction(math.nextafter(found, 0.0)) < number
    assert float_above(-number) >= -number
    assert float_above(a) == a


@given(POSITIVE)
def test_root_above__is_not_below_the_root(a):
    root = root_above(a)
    assert root**2 >= a
    assert (root - WIDTH) ** 2 <= a or root <= WIDTH
    assert root_above(Fraction(9, 4)) == Fraction(3, 2)


def test_interval__arithmetic_keeps_the_order_of_its_ends():
    found = Interval(Fraction(1), Fraction(2)).times(Fraction(-3)).plus(Fraction(1))
    assert (found.low, found.high) == (-5, -2)
    both = found + Interval(Fraction(0), Fraction(1))
    assert (both.low, both.high) == (-5, -1)
    assert found.times(Fraction(0)) == Interval(Fraction(0), Fraction(0))
    with pytest.raises(ZeroDivisionError):
        log_enclosure(Fraction(1, 0))
