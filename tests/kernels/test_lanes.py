from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.reductions import inner_product, lane_sum
from tests.kernels.drawn import both

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
