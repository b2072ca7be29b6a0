from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from purtensor.sampling.fixed_point import LARGEST_TOTAL, fixed_point

masses = st.lists(st.floats(1e-12, 1e3), min_size=1, max_size=30).map(np.array)


@given(masses=masses, total=st.integers(0, LARGEST_TOTAL))
def test_fixed_point__sums_exactly_and_is_near(masses, total):
    fixed = fixed_point(masses, total)
    assert sum(fixed.units.tolist()) == total * fixed.one
    assert fixed.units.min() >= 0
    exact = [Fraction(mass) * total / sum(map(Fraction, masses.tolist())) for mass in masses.tolist()]
    for units, value in zip(fixed.units.tolist(), exact):
        # two units, and a share of what float64 cannot tell apart in the largest
        assert abs(Fraction(units, fixed.one) - value) <= Fraction(2, fixed.one) + Fraction(total, 2**50)


@given(counts=st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any))
def test_fixed_point__whole_numbers_stay_whole(counts):
    fixed = fixed_point(np.array(counts, dtype=float), sum(counts))
    assert fixed.whole().tolist() == counts
    assert not fixed.fraction().any()


def test_fixed_point__sums_of_groups():
    fixed = fixed_point(np.array([1.0, 2, 3, 4]), 7)
    group = np.array([1, 0, 1, 1])
    sums = fixed.summed(group, 3)
    assert np.allclose(sums.whole() + sums.fraction() / sums.one, [1.4, 5.6, 0], atol=1e-11, rtol=0)
    assert sum(sums.units.tolist()) == 7 * fixed.one
