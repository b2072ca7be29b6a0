"""The coefficients of the rows on the cells, dense or sparse, and the products that the solver takes with them."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from purtensor._typing import BoolArray, FloatArray
from purtensor.constraints.rows import row_sizes
from purtensor.solving.dual.equations import Equations, MatrixEquations

_DENSE_SHARE = 0.2
"""From this share of nonzeros on a dense copy is as small, and its products are several times faster."""

_DENSE_ROWS = 400
_BLOCK = 1 << 17
"""So many coefficients are scaled at a time: they and their product stay in the processor's cache."""


class Matrix(Protocol):
    """C of the dual: rows by cells."""

    shape: tuple[int, int]

    @property
    def dependent(self) -> BoolArray | None:
        """The rows that follow from others and are left out of the equations, where they are known."""
        ...

    def times(self, x: FloatArray) -> FloatArray:
        """Return C x."""
        ...

    def back(self, y: FloatArray) -> FloatArray:
        """Return C^T y."""
        ...

    def size_times(self, x: FloatArray) -> FloatArray:
        """Return |C| x, what rounding errors of C x are measured by."""
        ...

    def size_back(self, y: FloatArray) -> FloatArray:
        """Return |C|^T y."""
        ...

    def equations(self, weights: FloatArray, diagonal: FloatArray) -> Equations:
        """Return C diag(weights) C^T + diag(diagonal), ready to be factored."""
        ...

    def to_sparse(self) -> sparse.csr_array:
        """Return C as a sparse array."""
        ...


Coefficients: TypeAlias = "sparse.csr_array | FloatArray"
"""Rows by cells, in the form in which products are fast."""


def densify_if_full(coefficients: Coefficients) -> Coefficients:
    """Return coefficients with many nonzeros as a dense array, others unchanged."""
    rows, cells = coefficients.shape
    if isinstance(coefficients, np.ndarray) or coefficients.nnz < _DENSE_SHARE * rows * cells:
        return coefficients
    return np.asarray(coefficients.toarray())


def matrix_of(coefficients: Coefficients) -> Matrix:
    """Return the products with these coefficients."""
    found = densify_if_full(coefficients)
    return DenseMatrix(found) if isinstance(found, np.ndarray) else SparseMatrix(found)


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
    beside = (mixing - sparse.eye_array(len(coefficients), format="csr")).tocsr()
    beside.eliminate_zeros()
    changed = np.flatnonzero(np.diff(beside.indptr))
    if np.isin(beside.indices, changed).any():  # rows that are changed themselves
        # in place row by row, the later ones would read rows that have changed
        coefficients[changed] = mixing[changed] @ coefficients
        return coefficients
    for row in changed:
        for k in range(beside.indptr[row], beside.indptr[row + 1]):
            coefficients[row] += beside.data[k] * coefficients[beside.indices[k]]
    return coefficients


class DenseMatrix:
    """Coefficients of which few are zero, row by row in memory."""

    dependent: BoolArray | None = None

    def __init__(self, values: FloatArray) -> None:
        self.values = np.ascontiguousarray(values)
        self.shape: tuple[int, int] = values.shape
        self._sizes: FloatArray | None = None  # made when a proof asks for it

    @property
    def sizes(self) -> FloatArray:
        """|C|, which is C itself where nothing is negative."""
        if self._sizes is None:
            self._sizes = np.abs(self.values) if self.values.min(initial=0.0) < 0.0 else self.values
        return self._sizes

    def times(self, x: FloatArray) -> FloatArray:
        """Return C x."""
        return np.asarray(self.values @ x)

    def back(self, y: FloatArray) -> FloatArray:
        """Return C^T y."""
        return np.asarray(self.values.T @ y)

    def size_times(self, x: FloatArray) -> FloatArray:
        """Return |C| x."""
        return np.asarray(self.sizes @ x)

    def size_back(self, y: FloatArray) -> FloatArray:
        """Return |C|^T y."""
        return np.asarray(self.sizes.T @ y)

    def equations(self, weights: FloatArray, diagonal: FloatArray) -> Equations:
        """Return C diag(weights) C^T + diag(diagonal), summed in blocks of cells that fit the cache."""
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
        upper = np.triu(total)
        full = upper + np.triu(total, 1).T
        full[np.diag_indices(rows)] += diagonal
        return MatrixEquations(full)

    def to_sparse(self) -> sparse.csr_array:
        """Return C as a sparse array."""
        return sparse.csr_array(self.values)


class SparseMatrix:
    """Coefficients of which most are zero."""

    dependent: BoolArray | None = None

    def __init__(self, values: sparse.csr_array) -> None:
        self.values = values
        self.transposed = values.T.tocsr()
        self.shape: tuple[int, int] = values.shape

    def times(self, x: FloatArray) -> FloatArray:
        """Return C x."""
        return np.asarray(self.values @ x)

    def back(self, y: FloatArray) -> FloatArray:
        """Return C^T y."""
        return np.asarray(self.transposed @ y)

    def size_times(self, x: FloatArray) -> FloatArray:
        """Return |C| x."""
        return np.asarray(abs(self.values) @ x)

    def size_back(self, y: FloatArray) -> FloatArray:
        """Return |C|^T y."""
        return np.asarray(abs(self.transposed) @ y)

    def equations(self, weights: FloatArray, diagonal: FloatArray) -> Equations:
        """Return C diag(weights) C^T + diag(diagonal)."""
        scaled = sparse.csr_array(
            (
                self.transposed.data * np.repeat(weights, np.diff(self.transposed.indptr)),
                self.transposed.indices,
                self.transposed.indptr,
            ),
            shape=self.transposed.shape,
        )
        product = self.values @ scaled
        # small or filled up: dense factors are faster than sparse ones
        if self.shape[0] <= _DENSE_ROWS or product.nnz > _DENSE_SHARE * self.shape[0] ** 2:
            full = product.toarray()
            full[np.diag_indices(self.shape[0])] += diagonal
            return MatrixEquations(full)
        return MatrixEquations(product + sparse.diags_array(diagonal))

    def to_sparse(self) -> sparse.csr_array:
        """Return C as a sparse array."""
        return self.values
