from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.sampling.fixed_point import LARGEST_TOTAL, to_fixed_point

masses = st.lists(st.floats(1e-12, 1e3), min_size=1, max_size=30).map(np.array)


@given(masses=masses, total=st.integers(0, LARGEST_TOTAL))
def test_fixed_point__sums_exactly_and_is_near(masses, total):
    fixed = to_fixed_point(masses, total)
    assert sum(fixed.units.tolist()) == total * fixed.one
    assert fixed.units.min() >= 0
    exact = [Fraction(mass) * total / sum(map(Fraction, masses.tolist())) for mass in masses.tolist()]
    for units, value in zip(fixed.units.tolist(), exact):
        # two units, and a share of what float64 cannot tell apart in the largest
        assert abs(Fraction(units, fixed.one) - value) <= Fraction(2, fixed.one) + Fraction(total, 2**50)


@given(counts=st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any))
def test_fixed_point__whole_numbers_stay_whole(counts):
    fixed = to_fixed_point(np.array(counts, dtype=float), sum(counts))
    assert fixed.whole().tolist() == counts
    assert not fixed.fraction().any()


@given(masses=masses, total=st.integers(1, LARGEST_TOTAL), power=st.sampled_from([-1030, -500, 0, 500, 1000]))
def test_fixed_point__does_not_depend_on_the_scale(masses, total, power):
    coarse = np.ldexp(np.rint(np.ldexp(masses, 30)), -30)  # so few digits that subnormal numbers hold them all
    coarse[0] = max(coarse[0], 1.0)
    assert to_fixed_point(np.ldexp(coarse, power), total).units.tolist() == to_fixed_point(coarse, total).units.tolist()


@pytest.mark.parametrize(
    "given_masses",
    [
        [1.0, 1e-18],  # one unit that nothing but itself is there for
        [1.0, *[5e-18] * 100],  # a hundred times a few units
        [1.0, 2e-17, *[3e-18] * 5],  # one that may give a few units, not what all of them would
    ],
)
@pytest.mark.parametrize("total", [10**6, 2**22 - 1, 2**40])
def test_fixed_point__none_but_the_largest_has_units_to_give(given_masses, total):
    fixed = to_fixed_point(np.array(given_masses), total)
    assert sum(fixed.units.tolist()) == total * fixed.one
    assert fixed.units.min() >= 0
    for units, mass in zip(fixed.units.tolist(), given_masses):
        exact = Fraction(mass) * total / sum(map(Fraction, given_masses))
        assert abs(Fraction(units, fixed.one) - exact) <= Fraction(2, fixed.one) + Fraction(total, 2**50)


def test_fixed_point__sums_of_groups():
    fixed = to_fixed_point(np.array([1.0, 2, 3, 4]), 7)
    group = np.array([1, 0, 1, 1])
    sums = fixed.sum_groups(group, 3)
    assert np.allclose(sums.whole() + sums.fraction() / sums.one, [1.4, 5.6, 0], atol=1e-11, rtol=0)
    assert sum(sums.units.tolist()) == 7 * fixed.one
