from __future__ import annotations

import math

import numpy as np
import pytest

from purtensor.kernels.newton import curvature, largest_absolute
from tests.kernels.drawn import both


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
