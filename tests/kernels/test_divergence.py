from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from purtensor.kernels.divergence import divergence_sum


def exactly(p, q, p_total, q_total):
    """The same sum in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        total = Decimal(0)
        for one, other in zip(p.tolist(), q.tolist(), strict=True):
            a, b = Decimal(one) / Decimal(p_total), Decimal(other) / Decimal(q_total)
            total += (a * (a / b).ln() if a else 0) - a + b
        return total


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-9])
def test_divergence_sum__keeps_the_digits_of_small_ones(size):
    rng = np.random.default_rng(1)
    q = rng.uniform(0.1, 1.0, 50)
    p = q * (1 + size * rng.uniform(-1, 1, 50))
    expected = float(exactly(p, q, 3.0, 3.0))
    # each change is off by two roundings: relative to the size
    assert divergence_sum(p, q, 3.0, 3.0) == pytest.approx(expected, rel=4e-16 / size + 1e-14)


def test_divergence_sum__totals_divide():
    p, q = np.array([1.0, 0.0, 3.0]), np.array([2.0, 2.0, 4.0])
    assert divergence_sum(p, q, 4.0, 8.0) == pytest.approx(float(exactly(p, q, 4.0, 8.0)), rel=1e-14)


@pytest.mark.parametrize("small", [5e-324, 1e-310, 1e-307, 1e-300, 1e-280])
def test_divergence_sum__ratios_near_the_end_of_float64_and_beyond(small):
    """Ratios of 1e306 and more times their logarithms were infinite."""
    p, q = np.array([0.75, 0.25]), np.array([small, 1.0])
    assert divergence_sum(p, q, 1.0, 1.0) == pytest.approx(float(exactly(p, q, 1.0, 1.0)), rel=1e-14)


def test_divergence_sum__masses_that_their_total_makes_zero():
    """5e-324 of 8 is 0: the sum was no number, and the divergence 0."""
    p, q = np.array([1.0, 0.0, 3.0]), np.array([5e-324, 5e-324, 8.0])
    assert divergence_sum(p, q, 4.0, 8.0) == pytest.approx(float(exactly(p, q, 4.0, 8.0)), rel=1e-14)
