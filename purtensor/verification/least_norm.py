"""Least-norm and least-squares solves with the rows on the profiles, scaled so that any range of masses does.

A = diag(b)^(-1/2) C diag(p)^(1/2) has singular values between 0 and the root of the number of constraints. What
rounding makes of the small ones only costs sharpness: what is proved holds for any potentials.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.verification.evidence import LongArray
from purtensor.verification.exact_sums import Rows

MOST_DENSE = 500_000
# with rounding's own cut these give up to four ranks (notes/verification.md, The bound)
_CUTS = (1e-11, 1e-8, 1e-5)


class Solver(Protocol):
    """Solves for potentials m, one per row, on the profiles that are not almost nothing."""

    def least(self, missed: LongArray) -> LongArray:
        """Return m such that p C^T m makes up for the misses, about, and is least over the root of p."""
        ...

    def fit(self, change: LongArray) -> LongArray:
        """Return m with C^T m closest to a relative change of the masses, weighted by p."""
        ...


def solvers(rows: Rows, masses: LongArray, heavy: BoolArray) -> Iterator[Solver]:
    """Yield solvers that leave out ever more rows as rounding."""
    root = np.sqrt(masses[heavy]).astype(np.float64)
    # a row without a target but with mass would divide by 0
    weight = 1.0 / np.sqrt(np.maximum(rows.targets, np.finfo(np.float64).tiny).astype(np.float64))
    scaled = sp.csr_array(sp.diags_array(weight) @ rows.matrix(heavy) @ sp.diags_array(root))
    # the time of QR is the product of the sizes times the smaller one; a Lanczos step costs the nonzeros only
    if math.prod(scaled.shape) > MOST_DENSE:
        yield _Scaled(_Lanczos(scaled, scaled.T.tocsr()), weight, root)
        return
    for one in _triangles(scaled.toarray()):
        yield _Scaled(one, weight, root)


class _ScaledSolver(Protocol):
    """Solves with A = diag(weight) C diag(root)."""

    def least(self, right: FloatArray) -> FloatArray:
        """Return y of which A^T y is the solution of A x = right of least norm."""
        ...

    def fit(self, x: FloatArray) -> FloatArray:
        """Return y of which A^T y is closest to x."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Scaled:
    """A solver in the problem's own units; numbers are brought to size 1 before they are rounded to float64."""

    solver: _ScaledSolver
    weight: FloatArray
    root: FloatArray

    def least(self, missed: LongArray) -> LongArray:
        right = missed * self.weight
        size = np.abs(right).max()
        # y is scaled back by diag(b)^(-1/2), so that C^T of it is w without a division by the root of a mass
        return np.asarray(self.solver.least((right / size).astype(np.float64)) * (size * self.weight))

    def fit(self, change: LongArray) -> LongArray:
        x = change * self.root
        size = np.abs(x).max(initial=0)
        if not size > 0:
            return np.zeros(len(self.weight), dtype=np.longdouble)
        return np.asarray(self.solver.fit((x / size).astype(np.float64)) * (size * self.weight))


@dataclass(frozen=True, slots=True, eq=False)
class _Triangle:
    """A^T = Q R on the rows `pivots`, the others left out."""

    q: FloatArray
    r: FloatArray
    pivots: IntArray
    rows: int

    def least(self, right: FloatArray) -> FloatArray:
        # A A^T = R^T R on the pivots, so y = R^-1 R^-T right, and A^T y has the least norm
        inner = scipy.linalg.solve_triangular(self.r, right[self.pivots], trans="T")
        return self._on_rows(scipy.linalg.solve_triangular(self.r, inner))

    def fit(self, x: FloatArray) -> FloatArray:
        return self._on_rows(scipy.linalg.solve_triangular(self.r, self.q.T @ x))

    def _on_rows(self, values: FloatArray) -> FloatArray:
        y = np.zeros(self.rows)
        y[self.pivots] = values
        return y


def _triangles(matrix: FloatArray) -> Iterator[_Triangle]:
    """Yield what solves on the rows that QR with pivoting finds independent.

    What is next to dependent may be rounding: of each rank that the cuts give there is one.
    """
    q, r, pivots = scipy.linalg.qr(matrix.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    cuts = (max(matrix.shape) * np.finfo(np.float64).eps, *_CUTS)
    # equal ranks are tried once, in the order of the cuts
    for rank in dict.fromkeys(int(np.sum(diagonal > diagonal[0] * cut)) for cut in cuts):
        yield _Triangle(q[:, :rank], r[:rank, :rank], pivots[:rank], len(matrix))


@dataclass(frozen=True, slots=True, eq=False)
class _Lanczos:
    """Lanczos bidiagonalisation from 0: it finds the solution of least norm."""

    matrix: sp.csr_array
    transposed: sp.csr_array

    def least(self, right: FloatArray) -> FloatArray:
        # A x = right first, then A^T y = x, which has a solution as x has no part outside the row space
        return self.fit(self._solve(self.matrix, right))

    def fit(self, x: FloatArray) -> FloatArray:
        return self._solve(self.transposed, x)

    def _solve(self, matrix: sp.csr_array, right: FloatArray) -> FloatArray:
        # conlim=0: by default lsqr stops at condition numbers that are common here
        limit = 20 * min(matrix.shape)
        return np.asarray(spla.lsqr(matrix, right, atol=1e-12, btol=1e-12, conlim=0, iter_lim=limit)[0])
