from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.elementary import excess, fast_exp, multiply_by_exp, scale_by_exp
from tests.kernels.drawn import both
from tests.oracles import DIGITS

ARGUMENTS = st.one_of(st.floats(-1e-3, 1e-3), st.floats(-2.0, 2.0), st.floats(-740.0, 709.0))


@both(fast_exp)
@given(ARGUMENTS)
def test_fast_exp__within_one_unit_in_the_last_place(kernel, x):
    assert abs(kernel(x) - math.exp(x)) <= 2 * math.ulp(math.exp(x))


@both(fast_exp)
def test_fast_exp__saturates_instead_of_failing(kernel):
    assert kernel(-1e4) == 0.0
    assert kernel(1e4) >= math.exp(709.0)
    assert kernel(0.0) == 1.0


@both(excess)
@given(ARGUMENTS.filter(lambda x: x <= 700.0))
def test_excess__keeps_its_digits(kernel, x):
    exact = exact_excess(x)
    assert abs(kernel(x) - exact) <= 8e-16 * exact + 1e-307


def exact_excess(x):
    """exp(x) - 1 - x in many digits; by its series where so many still cancel."""
    with localcontext() as context:
        context.prec = DIGITS
        if abs(x) > 1e-3:
            return float(Decimal(x).exp() - 1 - Decimal(x))
        return float(sum(Decimal(x) ** k / math.factorial(k) for k in range(2, 12)))


@both(scale_by_exp)
def test_scale_by_exp__is_reference_times_exp(kernel):
    exponents = np.linspace(-5.0, 5.0, 23)
    reference = np.arange(1.0, 24.0)
    wanted = reference * np.exp(exponents)
    kernel(reference, exponents)
    assert exponents == pytest.approx(wanted, rel=4e-16)


@both(multiply_by_exp)
@given(st.floats(1e-323, 2.0**60), st.floats(-1300.0, 1000.0))
def test_multiply_by_exp__where_exp_alone_is_out_of_range(kernel, reference, x):
    with localcontext() as context:
        context.prec = DIGITS
        exact = float(Decimal(reference) * Decimal(x).exp())
    if exact > 2.0**959:
        assert kernel(reference, x) == math.inf or kernel(reference, x) == pytest.approx(exact, rel=1e-15)
        return
    assert kernel(reference, x) == exact or abs(kernel(reference, x) - exact) <= 3 * math.ulp(exact)


@both(multiply_by_exp)
def test_multiply_by_exp__of_denormals_keeps_every_digit(kernel):
    assert kernel(5e-324, 744.44007192138127) == pytest.approx(1.0, rel=1e-12)
    assert kernel(5e-324, 0.0) == 5e-324
    assert kernel(1.0, -745.0) == 5e-324
    assert kernel(1.0, -2000.0) == 0.0
    assert kernel(1.0, 2000.0) == math.inf
    assert math.isnan(kernel(1.0, math.nan))
