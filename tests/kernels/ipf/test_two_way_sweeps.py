from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.ipf.two_way_sweeps import fit_rows_of_base, row_sums
from tests.kernels.drawn import both


@both(row_sums)
@pytest.mark.parametrize("columns", [8, 24, 32, 72])
def test_row_sums__of_a_range_of_rows(kernel, columns):
    rng = np.random.default_rng(columns)
    base, v, out = rng.random((5, columns)), rng.random(columns), np.full(5, -1.0)
    kernel(base, v, 1, 4, out)
    assert out[1:4] == pytest.approx((base @ v)[1:4], rel=1e-14)
    assert out[[0, 4]].tolist() == [-1.0, -1.0]


@both(fit_rows_of_base)
@pytest.mark.parametrize(("begin", "end"), [(0, 11), (2, 10), (3, 6)])
def test_fit_rows_of_base__meets_the_rows_and_adds_up_the_columns(kernel, begin, end):
    rng = np.random.default_rng(end)
    base, v, targets = rng.random((11, 40)), rng.random(40), rng.random(11)
    before = rng.random(11)
    u, missed, sums = before.copy(), np.full(11, -1.0), np.full(40, np.nan)
    kernel(base, targets, v, begin, end, u, missed, sums)
    rows = slice(begin, end)
    assert u[rows] * (base @ v)[rows] == pytest.approx(targets[rows], rel=1e-14)
    assert missed[rows] == pytest.approx(np.abs(before * (base @ v) - targets)[rows], rel=1e-11)
    assert sums == pytest.approx(u[rows] @ base[rows], rel=1e-14)
    others = np.delete(np.arange(11), np.arange(begin, end))
    assert np.array_equal(u[others], before[others])
    assert (missed[others] == -1.0).all()
