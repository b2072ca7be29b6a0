from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.newton.dense import add_pairs
from tests.kernels.drawn import Arrays, both


@both(add_pairs)
def test_add_pairs__is_the_upper_triangle_of_the_hessian_on_independent_rows(kernel):
    arrays = Arrays(50)
    kept = np.array([0, 1, 2, 3, 5, 7, 8, 11, 14])
    number = np.full(15, -1)
    number[kept] = np.arange(len(kept))
    matrix = np.zeros((len(kept), len(kept)))
    for begin, end in ((0, 20), (20, len(arrays.reference))):
        kernel(arrays.reference, arrays.index, arrays.offsets, number, begin, end, matrix)
    rows = arrays.coefficients[kept]
    assert matrix == pytest.approx(np.triu(rows * arrays.reference @ rows.T), rel=1e-14)
