from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.elementary import divergence_gain, fast_log, linear_sum
from tests.kernels.drawn import both

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
