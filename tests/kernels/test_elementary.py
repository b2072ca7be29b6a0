from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.elementary import (
    divergence_gain,
    excess,
    fast_exp,
    fast_log,
    linear_sum,
    multiply_by_exp,
    scale_by_exp,
)
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


positive = st.floats(1e-300, 1e300)
close = st.floats(-0.3, 0.3).map(lambda x: 1.0 + x) | st.floats(-1e-9, 1e-9).map(lambda x: 1.0 + x)


@both(fast_log)
@given(x=positive | close)
def test_fast_log__within_one_unit_in_the_last_place(kernel, x):
    with localcontext(prec=60):
        exact = Decimal(x).ln()
    assert abs(Decimal(float(kernel(x))) - exact) <= Decimal(math.ulp(float(exact))) * Decimal("1.01")


@both(fast_log)
def test_fast_log__of_1_is_exactly_0(kernel):
    assert kernel(1.0) == 0.0


@both(linear_sum)
@pytest.mark.parametrize("size", [0, 1, 7, 1024, 1025, 3000])
def test_linear_sum__is_the_sum_of_weighted_logarithms(kernel, size):
    rng = np.random.default_rng(size)
    weights, factors = rng.random(size), np.exp(rng.normal(0, 3, size))
    exact = math.fsum(w * math.log(f) for w, f in zip(weights, factors))
    assert kernel(weights, factors) == pytest.approx(exact, rel=1e-12)


def exact_gain(targets, factors, before):
    with localcontext(prec=80):
        ratios = [Decimal(f) / Decimal(b) for f, b in zip(factors.tolist(), before.tolist())]
        return float(sum(Decimal(t) * (r.ln() - 1 + 1 / r) for t, r in zip(targets.tolist(), ratios)))


@both(divergence_gain)
@pytest.mark.parametrize("spread", [1e-12, 1e-6, 1e-3, 0.02, 1.0, 30.0])
def test_divergence_gain__keeps_its_digits_however_small_the_change(kernel, spread):
    rng = np.random.default_rng(1)
    targets = rng.random(1500)
    before = np.exp(rng.normal(0, 2, 1500))
    factors = before * np.exp(rng.normal(0, spread, 1500))
    # a relative error of eps in a factor is one of eps / spread in the change, twice that in its square
    assert kernel(targets, factors, before) == pytest.approx(exact_gain(targets, factors, before), rel=1e-13)


@both(divergence_gain)
def test_divergence_gain__of_no_change_is_exactly_0(kernel):
    factors = np.exp(np.random.default_rng(2).normal(0, 5, 100))
    assert kernel(np.ones(100), factors, factors) == 0.0
