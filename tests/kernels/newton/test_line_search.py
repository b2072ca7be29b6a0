from __future__ import annotations

import math

import numpy as np
import pytest

from purtensor.kernels.newton.line_search import bend, curvature, largest_absolute
from tests.kernels.drawn import Arrays, both


@both(curvature)
@pytest.mark.parametrize("size", [1, 7, 1024, 1500])
@pytest.mark.parametrize("step", [1.0, 1e-9])
def test_curvature__keeps_its_digits_for_small_steps(kernel, size, step):
    rng = np.random.default_rng(size)
    masses, direction = rng.uniform(0.0, 1.0, size), rng.uniform(-3.0, 3.0, size)
    z = step * direction
    terms = np.expm1(z) - z if step == 1.0 else z * z / 2 + z**3 / 6
    tolerance = 1e-14 if step == 1.0 else 1e-15  # the obvious formula cancels where the kernel does not
    assert kernel(masses, direction, step) == pytest.approx(math.fsum(masses * terms), rel=tolerance)


@both(largest_absolute)
def test_largest_absolute__of_both_signs(kernel):
    assert kernel(np.array([0.5, -3.0, 2.0])) == 3.0
    assert kernel(np.zeros(0)) == 0.0


@both(bend)
@pytest.mark.parametrize(("begin", "end"), [(0, 2500), (700, 2400)])
def test_bend__is_the_curvature_along_what_is_never_stored(kernel, begin, end):
    arrays = Arrays(1, profiles=2500)
    direction = np.random.default_rng(2).standard_normal(len(arrays.targets))
    change = (arrays.coefficients.T @ direction)[begin:end]
    loss, largest = kernel(arrays.reference, arrays.index, arrays.offsets, direction, 0.5, begin, end)
    terms = np.expm1(0.5 * change) - 0.5 * change
    assert loss == pytest.approx(float(arrays.reference[begin:end] @ terms), rel=1e-12)
    assert largest == pytest.approx(np.abs(change).max(), rel=1e-15)
