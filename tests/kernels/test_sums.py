from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from purtensor.kernels.reductions import group_sums
from tests.kernels.drawn import both

both_forms = both(group_sums, "sums")


@both_forms
@given(terms=st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1e12)), max_size=60))
def test_group_sums__within_one_rounding_of_the_exact_sum(sums, terms):
    group = np.array([g for g, _ in terms], dtype=np.int64)
    values = np.array([v for _, v in terms], dtype=np.float64)
    found = sums(values, group, 4)
    for g in range(4):
        exact = math.fsum(v for k, v in terms if k == g)
        # Neumaier: one rounding of the sum, and terms of order eps^2 times the mass
        assert abs(found[g] - exact) <= math.ulp(exact)


@both_forms
def test_group_sums__keeps_what_plain_addition_loses(sums):
    values = np.array([1.0, 1e100, 1.0, -1e100])
    assert sums(values, np.zeros(4, dtype=np.int64), 1)[0] == 2.0
    small = np.array([1.0] + [1e-16] * 1000)
    assert sums(small, np.zeros(1001, dtype=np.int64), 1)[0] == 1.0 + 1e-13


@both_forms
def test_group_sums__groups_without_values_are_zero(sums):
    assert sums(np.array([2.0]), np.array([1]), 3).tolist() == [0.0, 2.0, 0.0]
