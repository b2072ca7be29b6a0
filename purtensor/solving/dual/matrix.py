"""The coefficients of the rows on the cells, their products, and Newton's equations C diag(w) C^T d = r, factored.

The equations are scaled to a unit diagonal; dependent rows do no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import blas
from scipy.sparse.linalg import splu

from purtensor._typing import BoolArray, FloatArray
from purtensor.constraints.rows import row_sizes

_DENSE_SHARE = 0.2
"""From this share of nonzeros on a dense copy is as small, and its products are several times faster."""

_DENSE_ROWS = 400
_BLOCK = 1 << 17
"""So many coefficients are scaled at a time: they and their product stay in the processor's cache."""


_RIDGE = 1e-14
# larger than that of dense factors: without pivoting nothing else keeps dependent rows off a pivot of 0
_SPARSE_RIDGE = 1e-13
_EIGENVALUES_UP_TO = 40
"""Up to this many rows, eigenvalues determine exactly the directions without curvature from active cells."""


Solve: TypeAlias = Callable[[FloatArray], FloatArray]
"""Returns d with H d = r for a right-hand side r."""


class Matrix(Protocol):
    """C of the dual: rows by cells."""

    shape: tuple[int, int]

    @property
    def dependent(self) -> BoolArray | None:
        """The rows that follow from others and are left out of the equations, where they are known."""

    def times(self, x: FloatArray) -> FloatArray:
        """Return C x."""

    def back(self, y: FloatArray) -> FloatArray:
        """Return C^T y."""

    def size_times(self, x: FloatArray) -> FloatArray:
        """Return |C| x, what rounding errors of C x are measured by."""

    def size_back(self, y: FloatArray) -> FloatArray:
        """Return |C|^T y."""

    def solver(self, weights: FloatArray, diagonal: FloatArray) -> Solve:
        """Factor C diag(weights) C^T + diag(diagonal); `numpy.linalg.LinAlgError` where that fails."""

    def to_sparse(self) -> sparse.csr_array:
        """Return C as a sparse array."""


Coefficients: TypeAlias = "sparse.csr_array | FloatArray"
"""Rows by cells, in the form in which products are fast."""


def densify_if_full(coefficients: Coefficients) -> Coefficients:
    """Return coefficients with many nonzeros as a dense array, others unchanged."""
    rows, cells = coefficients.shape
    if isinstance(coefficients, np.ndarray) or coefficients.nnz < _DENSE_SHARE * rows * cells:
        return coefficients
    return np.asarray(coefficients.toarray())


def sizes_of_rows(coefficients: Coefficients) -> FloatArray:
    """Return the largest absolute coefficient of each row."""
    if isinstance(coefficients, np.ndarray):
        highest, lowest = coefficients.max(axis=1, initial=0.0), coefficients.min(axis=1, initial=0.0)
        return np.asarray(np.maximum(highest, -lowest))
    return row_sizes(coefficients)


def scale_rows(coefficients: Coefficients, by: FloatArray) -> Coefficients:
    """Return every row times a number; dense ones are changed, as a copy would take longer than the product."""
    if isinstance(coefficients, np.ndarray):
        coefficients *= by[:, None]
        return coefficients
    data = coefficients.data * np.repeat(by, np.diff(coefficients.indptr))
    return sparse.csr_array((data, coefficients.indices, coefficients.indptr), shape=coefficients.shape)


def combine_rows(mixing: sparse.csr_array, coefficients: Coefficients) -> Coefficients:
    """Return mixing @ coefficients, `mixing` having ones on its diagonal and little beside; dense ones are changed."""
    if not isinstance(coefficients, np.ndarray):
        product = (mixing @ coefficients).tocsr()
        product.eliminate_zeros()
        return product
    changed = np.flatnonzero((mixing - sparse.eye_array(len(coefficients))).count_nonzero(axis=1))
    coefficients[changed] = mixing[changed] @ coefficients
    return coefficients


class ExplicitMatrix:
    """Coefficients in memory: dense ones row by row, or sparse ones with a transposed copy."""

    dependent: BoolArray | None = None

    def __init__(self, values: Coefficients) -> None:
        self.values: Coefficients = np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values
        self.transposed: Coefficients = values.T if isinstance(values, np.ndarray) else values.T.tocsr()
        self.shape: tuple[int, int] = values.shape

    @cached_property
    def sizes(self) -> Coefficients:
        """|C|, which is C itself where nothing is negative; made when a proof asks for it."""
        return abs(self.values) if self.values.min() < 0.0 else self.values

    def times(self, x: FloatArray) -> FloatArray:
        """Return C x."""
        return np.asarray(self.values @ x)

    def back(self, y: FloatArray) -> FloatArray:
        """Return C^T y."""
        return np.asarray(self.transposed @ y)

    def size_times(self, x: FloatArray) -> FloatArray:
        """Return |C| x."""
        return np.asarray(self.sizes @ x)

    def size_back(self, y: FloatArray) -> FloatArray:
        """Return |C|^T y."""
        return np.asarray(self.sizes.T @ y)

    def solver(self, weights: FloatArray, diagonal: FloatArray) -> Solve:
        """Factor C diag(weights) C^T + diag(diagonal); `numpy.linalg.LinAlgError` where that fails."""
        rows, product = self.shape[0], self.gram(weights)
        if not isinstance(product, np.ndarray):
            # small or filled up: dense factors are faster than sparse ones
            if rows > _DENSE_ROWS and product.nnz <= _DENSE_SHARE * rows**2:
                return factorize(product + sparse.diags_array(diagonal))
            product = product.toarray()
        product[np.diag_indices(rows)] += diagonal
        return factorize(product)

    def gram(self, weights: FloatArray) -> Coefficients:
        """Return C diag(weights) C^T, in the form of C."""
        if isinstance(self.transposed, np.ndarray):
            return self._multiply_blocks(weights)
        by = np.repeat(weights, np.diff(self.transposed.indptr))
        parts = (self.transposed.data * by, self.transposed.indices, self.transposed.indptr)
        return self.values @ sparse.csr_array(parts, shape=self.transposed.shape)

    def _multiply_blocks(self, weights: FloatArray) -> FloatArray:
        """Return C diag(weights) C^T of dense coefficients, summed in blocks of cells that fit the cache."""
        rows, cells = self.shape
        roots = np.sqrt(weights)
        total = np.zeros((rows, rows), order="F")
        step = max(1, _BLOCK // max(rows, 1))
        for begin in range(0, cells, step):
            own = slice(begin, begin + step)
            # by the roots, so that the product is of a matrix with itself, and half the work
            scaled = np.multiply(self.values[:, own], roots[own])
            # adds to the upper triangle in place; scaled.T is Fortran's order, so nothing is copied
            total = blas.dsyrk(1.0, scaled.T, trans=1, beta=1.0, c=total, overwrite_c=1)
        return np.asarray(np.triu(total) + np.triu(total, 1).T)

    def to_sparse(self) -> sparse.csr_array:
        """Return C as a sparse array."""
        return sparse.csr_array(self.values)


def factorize(matrix: FloatArray | sparse.csr_array) -> Solve:
    """Factor H, few rows by eigenvalues, more by Cholesky's or sparse factors; LinAlgError where that fails."""
    if sparse.issparse(matrix):
        return _by_sparse_factors(matrix)
    return _by_eigenvalues(matrix) if len(matrix) <= _EIGENVALUES_UP_TO else _by_cholesky(matrix)


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
