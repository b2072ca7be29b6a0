from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.newton.certificate import (
    certificate_sums,
    unevenness,
    weigh,
)
from tests.kernels.drawn import Arrays, both
from tests.oracles import DIGITS

SIZES = st.sampled_from((1e-12, 1e-7, 1e-3, 0.019, 0.021, 0.5, 1.0))


def exact_sums(masses, change):
    """The sums of the certificate in many digits, w log w read as 0 at w = 0."""
    with localcontext() as context:
        context.prec = DIGITS
        upper = gap = moved = Decimal(0)
        for mass, w in zip(map(Decimal, masses), map(Decimal, change), strict=True):
            phi = (1 + w) * (1 + w).ln() - w if w > -1 else Decimal(1)
            upper += mass * phi
            gap += mass * (phi - w - w * w + w.exp() - 1)
            moved += mass * abs(w)
    return float(upper), float(gap), float(moved)


@both(certificate_sums)
@given(SIZES, st.integers(0, 2**32 - 1))
def test_certificate_sums__keep_their_digits_at_every_size(kernel, size, seed):
    rng = np.random.default_rng(seed)
    masses, change = rng.uniform(0.0, 1.0, 9), size * rng.uniform(-1.0, 1.0, 9)
    lowest, *found = kernel(masses, change)
    assert lowest == min(0.0, change.min())
    assert found == pytest.approx(exact_sums(masses, change), rel=1e-12)


@both(certificate_sums)
def test_certificate_sums__tell_of_what_is_no_distribution(kernel):
    assert kernel(np.ones(2), np.array([0.1, -1.5]))[0] == -1.5
    assert math.isnan(kernel(np.ones(2), np.array([np.nan, 0.1]))[0])
    assert kernel(np.ones(1), np.array([-1.0]))[:2] == (-1.0, 1.0)


@both(weigh)
def test_weigh__is_the_mean_of_what_the_rows_weigh(kernel):
    arrays = Arrays(3)
    weights = np.random.default_rng(4).uniform(0.0, 5.0, len(arrays.targets))
    masses = 3.0 * arrays.reference
    wanted = float(masses @ (arrays.coefficients.T @ weights)) / float(masses.sum())
    assert kernel(masses, arrays.index, arrays.offsets, weights) == pytest.approx(wanted, rel=1e-14)


@both(unevenness)
def test_unevenness__counts_a_miss_by_its_target(kernel):
    missed, targets = np.array([1e-3, -1e-3, 0.0, 2e-9, -3.0]), np.array([0.5, 1e-2, 0.0, 1e-12, 0.0])
    assert kernel(missed, targets) == pytest.approx(1e-6 / 0.5 + 1e-6 / 1e-2 + 2e-9 + 3.0, rel=1e-14)
    assert kernel(np.array([1e-200]), np.array([1e-300])) == 1e-200
    assert math.isnan(kernel(np.array([np.nan]), np.ones(1)))
