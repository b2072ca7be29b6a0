"""Newton's equations H d = r of the dual, scaled to a unit diagonal and factored; dependent rows do no harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from purtensor._typing import FloatArray

_RIDGE = 1e-14
_SPARSE_RIDGE = 1e-13
_EIGENVALUES_UP_TO = 40
"""Up to so many rows the eigenvalues tell exactly which directions the active cells leave without curvature."""


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """H with what solves H d = r.

    Attributes
    ----------
    times
        Returns H d.
    solver
        Factors H and returns what solves; `numpy.linalg.LinAlgError` where that fails.
    plus
        Returns the equations of H + share * other.
    """

    matrix: FloatArray | sparse.csr_array
    solver: Callable[[], Callable[[FloatArray], FloatArray]]

    def times(self, d: FloatArray) -> FloatArray:
        """Return H d."""
        return np.asarray(self.matrix @ d)

    def plus(self, share: float, other: Equations) -> Equations:
        """Return the equations of H + share * other."""
        made = self.matrix + share * other.matrix
        return sparse_equations(made) if sparse.issparse(made) else dense_equations(made)


def dense_equations(matrix: FloatArray) -> Equations:
    """Return equations that are solved by eigenvalues where they are few, else by Cholesky's factors."""
    solve = _by_eigenvalues if len(matrix) <= _EIGENVALUES_UP_TO else _by_cholesky
    return Equations(matrix, lambda: solve(matrix))


def sparse_equations(matrix: sparse.csr_array) -> Equations:
    """Return equations that are solved by sparse factors."""
    return Equations(matrix, lambda: _by_sparse_factors(matrix))


def _scales(diagonal: FloatArray) -> FloatArray:
    return np.asarray(1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)))


def _by_eigenvalues(matrix: FloatArray) -> Callable[[FloatArray], FloatArray]:
    scale = _scales(matrix.diagonal())
    values, vectors = np.linalg.eigh(matrix * scale[:, None] * scale)
    kept = values > _RIDGE * max(1.0, values.max(initial=0.0))
    basis = vectors[:, kept] * scale[:, None]
    return lambda r: np.asarray(basis @ ((basis.T @ r) / values[kept]))


def _by_cholesky(matrix: FloatArray) -> Callable[[FloatArray], FloatArray]:
    scale = _scales(matrix.diagonal())
    scaled = matrix * scale[:, None] * scale
    diagonal = scaled.diagonal().copy()
    for ridge in (_RIDGE, 1e-13, 1e-12, 1e-10):  # rounding may leave eigenvalues of -1e-15 times the number of rows
        np.fill_diagonal(scaled, diagonal + ridge)
        try:
            factor = linalg.cho_factor(scaled, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return lambda r: np.asarray(scale * linalg.cho_solve(factor, scale * r, check_finite=False))
    raise np.linalg.LinAlgError("the equations have no Cholesky factor")


def _by_sparse_factors(matrix: sparse.csr_array) -> Callable[[FloatArray], FloatArray]:
    scale = _scales(matrix.diagonal())
    by = sparse.diags_array(scale)
    scaled = (by @ matrix @ by + _SPARSE_RIDGE * sparse.eye_array(len(scale))).tocsc()
    try:
        factor = splu(scaled, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:  # a pivot is exactly 0
        raise np.linalg.LinAlgError(str(error)) from None
    return lambda r: np.asarray(scale * factor.solve(scale * r))
