from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.reductions import group_sums, inner_product, lane_sum, spread
from tests.kernels.drawn import Arrays, both

VALUES = st.lists(st.floats(-1e6, 1e6), max_size=40).map(np.array)


@both(lane_sum)
@given(VALUES)
def test_lane_sum__is_the_sum(kernel, values):
    values = values.astype(np.float64)
    assert abs(kernel(values) - math.fsum(values)) <= 2e-15 * np.abs(values).sum()


@both(inner_product)
@given(VALUES)
def test_inner_product__is_the_sum_of_products(kernel, values):
    one = values.astype(np.float64)
    other = np.cos(np.arange(one.size))
    assert abs(kernel(one, other) - math.fsum(one * other)) <= 4e-15 * np.abs(one * other).sum()


@both(spread)
@pytest.mark.parametrize("rows", [(7,), (6, 5), (6, 5, 4)])
def test_spread__is_the_transpose_times_potentials(kernel, rows):
    arrays = Arrays(1, rows=rows)
    potentials = np.random.default_rng(2).standard_normal(sum(rows))
    out = np.full(arrays.reference.size, np.nan)
    kernel(arrays.index, arrays.offsets, potentials, out)
    assert out == pytest.approx(arrays.coefficients.T @ potentials, rel=1e-14, abs=1e-15)


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
