from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.newton.linear_sweep import leave_dependent_rows, linear_sweep
from tests.kernels.drawn import Arrays, both


def projections(arrays, masses, order):
    """The conditional means under the masses, one matrix on profiles a constraint."""
    found = []
    for k in order:
        rows = arrays.coefficients[arrays.block(k)]
        found.append(rows.T @ ((rows * masses) / (rows @ masses)[:, None]))
    return found


@both(linear_sweep)
@pytest.mark.parametrize("omega", [1.0, 0.6, 1.7])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_linear_sweep__takes_conditional_means_off_one_after_the_other(kernel, order, omega):
    arrays = Arrays(3)
    masses = arrays.reference
    rng = np.random.default_rng(4)
    x = rng.standard_normal(15)
    z = arrays.coefficients.T @ x
    expected = z - np.sum(masses * z)
    for mean in projections(arrays, masses, order):
        expected = expected - omega * (mean @ expected)
    sums = arrays.coefficients @ masses
    kernel(masses, arrays.index, arrays.offsets, sums, np.array(order), omega, x, z)
    if omega == 1.0:
        expected = expected - np.sum(masses * expected)
    assert z - np.sum(masses * z) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert arrays.coefficients.T @ x == pytest.approx(z, rel=1e-12, abs=1e-14)
    assert abs(np.sum(masses * z)) < 1e-14


@both(leave_dependent_rows)
def test_leave_dependent_rows__moves_values_to_what_implies_them(kernel):
    # rows 0..3: row 2 is row 0 + row 1, and twice row 3 is row 2 - row 0
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    arguments = np.array([2, 3]), np.array([1.0, 2.0]), np.array([0, 2, 4]), np.array([0, 1, 2, 0])
    kernel(*arguments, np.array([1.0, 1.0, 1.0, -1.0]), x)
    # row 3: 500 to row 2 and -500 to row 0; then 600 from row 2 to both
    assert x.tolist() == [101.0, 610.0, 0.0, 0.0]
