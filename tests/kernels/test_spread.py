from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.reductions import spread
from tests.kernels.drawn import Arrays, both


@both(spread)
@pytest.mark.parametrize("rows", [(7,), (6, 5), (6, 5, 4)])
def test_spread__is_the_transpose_times_potentials(kernel, rows):
    arrays = Arrays(1, rows=rows)
    potentials = np.random.default_rng(2).standard_normal(sum(rows))
    out = np.full(arrays.reference.size, np.nan)
    kernel(arrays.index, arrays.offsets, potentials, out)
    assert out == pytest.approx(arrays.coefficients.T @ potentials, rel=1e-14, abs=1e-15)
