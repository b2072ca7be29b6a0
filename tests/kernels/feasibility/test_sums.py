from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from purtensor.kernels.feasibility.sums import add_in_limbs, add_whole, raise_to, repair_price, tree_flow
from tests.kernels.drawn import both


@both(add_in_limbs)
def test_add_in_limbs__sums_are_exact_beyond_int64(kernel):
    rng = np.random.default_rng(1)
    values = np.floor(np.ldexp(rng.random(200), rng.integers(1, 120, 200)))
    index = rng.integers(0, 5, 200).astype(np.uint8)
    limbs = np.zeros((5, 6), dtype=np.int64)
    kernel(values, index, limbs)
    exact = defaultdict(int)
    for value, row in zip(values.tolist(), index.tolist()):
        exact[row] += int(value)
    assert [sum(int(limb) << 32 * j for j, limb in enumerate(row)) for row in limbs] == [exact[r] for r in range(5)]


@both(tree_flow)
def test_tree_flow__meets_the_needs_up_to_the_root(kernel):
    # 4 - 0 - 2, 0 - 3, 3 - 1 with root 4
    sequence, parent = np.array([4, 0, 2, 3, 1]), np.array([4, 3, 0, 0, -1])
    needs, flow = np.array([7, -2, 5, 1, 100]), np.empty(5, dtype=np.int64)
    kernel(sequence, parent, needs, flow)
    assert flow.tolist() == [7 - 5 - (1 + 2), -2, 5, 1 + 2, 0]
    assert needs[4] == 100 - flow[0]


@both(add_whole)
def test_add_whole__adds_to_rows(kernel):
    out = np.array([1, 0, 0])
    kernel(np.array([5, -7, 2**60]), np.array([1, 1, 2], dtype=np.uint8), out)
    assert out.tolist() == [1, -2, 2**60]


@both(raise_to)
def test_raise_to__rows_get_what_their_lowest_profile_lacks(kernel):
    lacking = np.zeros(3, dtype=np.int64)
    kernel(lacking, np.array([0, 0, 1, 2]), np.array([-1, -4, 3, 0]))
    assert lacking.tolist() == [4, 0, 0]


@both(repair_price)
def test_repair_price__is_the_highest_change_of_each_row_times_its_target(kernel):
    highest = np.full(3, np.nan)
    price = kernel(np.array([0.5, 2.0, -1.0, 0.25]), np.array([0, 0, 1, 2]), np.array([3.0, 5.0, 7.0]), highest)
    assert price == pytest.approx(3 * 2 + 7 * 0.25)
    assert highest.tolist() == [2.0, 0.0, 0.25]
