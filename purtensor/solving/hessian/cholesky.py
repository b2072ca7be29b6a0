"""Dense symmetric systems that are positive definite up to rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from purtensor._typing import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A factorisation of S A S, with S the scaling that makes its diagonal 1."""

    scale: FloatArray
    triangle: FloatArray
    inverse: FloatArray | None

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x with A x = rhs; where rounding had made A singular, the smallest such x as scaled."""
        if not len(rhs):
            return np.zeros(0)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is not finite is refused by the line search
            if self.inverse is not None:
                return np.asarray(self.scale * (self.inverse @ (self.scale * rhs)))
            solved, _ = lapack.dpotrs(self.triangle, self.scale * rhs, lower=0)
            return np.asarray(self.scale * solved)


def factorize(matrix: FloatArray) -> Factor:
    """Return the factorisation of a symmetric positive definite matrix, given by its upper triangle.

    Scaled to a unit diagonal first, which takes out the range of the masses. Where Cholesky still meets a pivot
    that is not positive, eigenvalues below size * eps are rounding, and their directions are left out.
    """
    if not len(matrix):
        return Factor(np.zeros(0), matrix, None)
    diagonal = matrix.diagonal()
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 0.0)
    scaled = _to_unit_diagonal(matrix, scale)
    # clean=0: the other triangle is never read, so zeroing it would be a waste
    triangle, failed = lapack.dpotrf(scaled, lower=0, clean=0)
    if failed:
        # rows that are all rounding get a scale of 0: their x is 0, and the rest may factor
        scale = np.where(_find_drowned(scaled, diagonal), 0.0, scale)
        scaled = _to_unit_diagonal(matrix, scale)
        triangle, failed = lapack.dpotrf(scaled, lower=0, clean=0)
    if not failed:
        return Factor(scale, triangle, None)
    # the last resort, tens of times as dear as Cholesky
    values, vectors = np.linalg.eigh(np.triu(scaled) + np.triu(scaled, 1).T)
    good = values > len(values) * np.finfo(float).eps * values[-1]
    inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T
    return Factor(scale, scaled, inverse)


def _to_unit_diagonal(matrix: FloatArray, scale: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is drowned in rounding, and is left out
        scaled = matrix * scale * scale[:, None]
    np.fill_diagonal(scaled, 1.0)
    return np.asarray(scaled)


def _find_drowned(scaled: FloatArray, diagonal: FloatArray) -> BoolArray:
    """Return the rows whose diagonal is nothing but rounding: an entry beside it is larger than it may be.

    In a positive semidefinite matrix of unit diagonal no entry is beyond 1; of two rows that break this, the one with
    the smaller diagonal is to blame.
    """
    row, column = np.nonzero(~(np.abs(np.triu(scaled, 1)) <= 1.0 + 1e-6))
    drowned = np.zeros(len(diagonal), dtype=bool)
    drowned[np.where(diagonal[row] < diagonal[column], row, column)] = True
    return drowned
