"""A diagonal that is added to C diag(p) C^T: rows that need not be met exactly have one."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from purtensor._typing import FloatArray, IntArray

NO_RIDGE: FloatArray = np.empty(0)
"""Nothing is added."""


def add_to_diagonal(matrix: FloatArray, ridge: FloatArray, rows: IntArray) -> None:
    """Add the ridge of `rows`, shape (D,) for all rows or empty, to the diagonal of a matrix over them, in place."""
    if ridge.size:
        places = np.arange(len(rows))
        matrix[places, places] += ridge[rows]


class RidgedHessian(Protocol):
    """C diag(p) C^T with a diagonal added, on rows that are independent or have one."""

    note: str

    def factor_and_solve(self, masses: FloatArray, rhs: FloatArray, ridge: FloatArray = NO_RIDGE) -> FloatArray:
        """Return x with (C diag(masses) C^T + diag(ridge)) x = rhs, 0 on the rows that are left out."""
        ...

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for another right-hand side and the same matrix."""
        ...
