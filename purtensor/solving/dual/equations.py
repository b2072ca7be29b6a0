"""Newton's equations H d = r of the dual, scaled to a unit diagonal and factored; dependent rows do no harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from purtensor._typing import FloatArray

_RIDGE = 1e-14
# larger than that of dense factors: without pivoting nothing else keeps dependent rows off a pivot of 0
_SPARSE_RIDGE = 1e-13
_EIGENVALUES_UP_TO = 40
"""Up to this many rows, eigenvalues determine exactly the directions without curvature from active cells."""


Solve: TypeAlias = Callable[[FloatArray], FloatArray]
"""Returns d with H d = r for a right-hand side r."""


class Equations(Protocol):
    """H, with what solves H d = r."""

    def times(self, d: FloatArray) -> FloatArray:
        """Return H d."""
        ...

    def plus(self, share: float, other: Equations) -> Equations:
        """Return the equations of H + share * other, which is of the same form."""
        ...

    def soften(self, by: float) -> Equations:
        """Return the equations of H + by * the identity."""
        ...

    def solver(self) -> Solve:
        """Factor H and return what solves; `numpy.linalg.LinAlgError` where that fails."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class MatrixEquations(Equations):
    """H as a matrix, dense or sparse: few rows are solved by eigenvalues, more by Cholesky's or sparse factors."""

    matrix: FloatArray | sparse.csr_array

    def times(self, d: FloatArray) -> FloatArray:
        """Return H d."""
        return np.asarray(self.matrix @ d)

    def plus(self, share: float, other: Equations) -> Equations:
        """Return the equations of H + share * other."""
        if not isinstance(other, MatrixEquations):
            raise TypeError("a matrix is added to a matrix")
        return MatrixEquations(self.matrix + share * other.matrix)

    def soften(self, by: float) -> Equations:
        """Return the equations of H + by * the identity."""
        count = self.matrix.shape[0]
        eye = sparse.eye_array(count, format="csr") if sparse.issparse(self.matrix) else np.eye(count)
        return MatrixEquations(self.matrix + by * eye)

    def solver(self) -> Solve:
        """Factor H and return what solves; `numpy.linalg.LinAlgError` where that fails."""
        if sparse.issparse(self.matrix):
            return _by_sparse_factors(self.matrix)
        return _by_eigenvalues(self.matrix) if len(self.matrix) <= _EIGENVALUES_UP_TO else _by_cholesky(self.matrix)


def _scales(diagonal: FloatArray) -> FloatArray:
    return np.asarray(1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)))


def _by_eigenvalues(matrix: FloatArray) -> Solve:
    scale = _scales(matrix.diagonal())
    values, vectors = np.linalg.eigh(matrix * scale[:, None] * scale)
    # directions without curvature are left out: dependent rows leave the solution free there
    kept = values > _RIDGE * max(1.0, values.max(initial=0.0))
    basis = vectors[:, kept] * scale[:, None]
    return lambda r: np.asarray(basis @ ((basis.T @ r) / values[kept]))


def _by_cholesky(matrix: FloatArray) -> Solve:
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


def _by_sparse_factors(matrix: sparse.csr_array) -> Solve:
    scale = _scales(matrix.diagonal())
    by = sparse.diags_array(scale)
    scaled = (by @ matrix @ by + _SPARSE_RIDGE * sparse.eye_array(len(scale))).tocsc()
    try:
        # symmetric and positive but for rounding: a symmetric order without pivoting fills in least
        factor = splu(scaled, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:  # a pivot is exactly 0
        raise np.linalg.LinAlgError(str(error)) from None
    return lambda r: np.asarray(scale * factor.solve(scale * r))
