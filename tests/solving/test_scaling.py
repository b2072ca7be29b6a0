from __future__ import annotations

import numpy as np
import pytest

from purtensor.solving.scaling import exponent_to_unit


@pytest.mark.parametrize("masses", [[3.0, 2.0], [1e-300, 1e-290], [5e-324, 5e-324], [1e300, 1.0], [1.0, 1e-300]])
def test_exponent_to_unit__brings_the_total_below_one(masses):
    scaled = np.ldexp(np.array(masses), -exponent_to_unit(np.array(masses)))
    assert 0.5 <= scaled.sum() < 1.0


@pytest.mark.parametrize("masses", [[167.0, 5e-324], [0.7, 1.2e-322], [1e-10, 5e-324, 3e-320], [1.0, 2.3e-308]])
def test_exponent_to_unit__is_less_where_the_smallest_would_lose_digits(masses):
    exponent = exponent_to_unit(np.array(masses))
    scaled = np.ldexp(np.array(masses), -exponent)
    assert np.array_equal(np.ldexp(scaled, exponent), masses)
    assert scaled.min() >= 2.0**-1022


def test_exponent_to_unit__keeps_totals_in_range():
    masses = np.array([1e308, 5e-324])
    assert np.isfinite(np.ldexp(masses, -exponent_to_unit(masses)).sum() * 2.0**20)
