"""C diag(p) C^T as one dense matrix: for constraint sets of small rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from purtensor._threads import chunks_of, for_each_chunk, sum_chunks
from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.system import System
from purtensor.kernels.newton.dense import add_pairs
from purtensor.solving.hessian.factored import NO_RIDGE, Factor, Factored, add_to_diagonal, factorize

_PAIRS = 1 << 25
"""Twice the pairs that are added before the kernel comes back to Python, where interrupts are heard."""

SHIFT = 2.0**-26
"""A factorisation that succeeds without so much of the diagonal shows that no eigenvalue is much smaller."""

_LANES = 8
"""Up to this many chunks are assembled in parallel, each into a separate matrix."""

_ENTRIES = 1 << 23
"""The entries of all those matrices together, where there is more than one."""


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Newton's equations as one dense matrix on the independent rows."""

    system: System
    independent: IntArray
    number: IntArray
    note: str

    def factor_and_solve(
        self, masses: FloatArray, rhs: FloatArray, ridge: FloatArray = NO_RIDGE
    ) -> tuple[FloatArray, Factored]:
        """Return x with (C diag(masses) C^T + diag(ridge)) x = rhs, 0 on left out rows, and what solves for others."""
        matrix = self._matrix(masses)
        add_to_diagonal(matrix, ridge, self.independent)
        factored = FactoredDense(self.independent, factorize(matrix))
        return factored.solve(rhs), factored

    def factor_shifted(self, masses: FloatArray) -> ShiftedDense | None:
        """Return a factorisation that proves how far the matrix is from singular; None where it does not."""
        matrix = self._matrix(masses)
        diagonal, rank = matrix.diagonal(), len(matrix)
        if not rank or not diagonal.min() > 0.0:
            return None
        scale = 1.0 / np.sqrt(diagonal)
        matrix *= scale
        matrix *= scale[:, None]
        np.fill_diagonal(matrix, 1.0 - SHIFT)
        triangle, failed = lapack.dpotrf(matrix, lower=0, clean=0)
        # notes/certificate.md, equation 16: of the factorisation, and of sums of masses that are all positive
        constraints, profiles = self.system.index.shape
        rounding = 2.0**-53 * (rank * (rank + 2) + constraints * (profiles + 16)) * 1.1
        if failed or not rounding < 0.25 * SHIFT:
            return None
        np.fill_diagonal(matrix, 1.0)
        return ShiftedDense(self.independent, scale, matrix, triangle, SHIFT - rounding, constraints)

    def _matrix(self, masses: FloatArray) -> FloatArray:
        system, rank = self.system, len(self.independent)
        chunks = chunks_of(system.profiles, max(1, _PAIRS // len(system.index) ** 2))
        # a fixed number, not that of the threads, so that sums have the same bits on every machine
        lanes = min(len(chunks), _LANES, max(1, _ENTRIES // max(1, rank**2)))
        parts = np.zeros((lanes, rank, rank))

        def work(lane: int, begin: int, end: int) -> None:
            add_pairs(masses, system.index, system.offsets, self.number, begin, end, parts[lane])

        # in rounds, so that each part is summed in one order whatever the number of threads
        for first in range(0, len(chunks), lanes):
            for_each_chunk(work, chunks[first : first + lanes])
        return np.asarray(sum_chunks(parts))


@dataclass(frozen=True, slots=True, eq=False)
class FactoredDense:
    """The dense matrix on the independent rows, factorised."""

    independent: IntArray
    factor: Factor

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for a right-hand side."""
        out = np.zeros(len(rhs))
        out[self.independent] = self.factor.solve(rhs[self.independent])
        return out


@dataclass(frozen=True, slots=True, eq=False)
class ShiftedDense:
    """The dense matrix, scaled to a unit diagonal, and the factorisation of it less SHIFT.

    Attributes
    ----------
    least
        No eigenvalue of the scaled matrix is below.
    """

    independent: IntArray
    scale: FloatArray
    matrix: FloatArray
    triangle: FloatArray
    least: float
    constraints: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for a right-hand side, the shift taken back by a step of refinement."""
        right = self.scale * rhs[self.independent]
        found, _ = lapack.dpotrs(self.triangle, right, lower=0)
        # the transpose lies in memory as BLAS wants it, the upper triangle as its lower one
        left = right - blas.dsymv(1.0, self.matrix.T, found, lower=1)
        out = np.zeros(len(rhs))
        out[self.independent] = self.scale * (found + lapack.dpotrs(self.triangle, left, lower=0)[0])
        return out


def build_dense(system: System, independent: IntArray) -> Dense:
    """Return the dense form on the given independent row numbers."""
    number = np.full(system.rows, -1, dtype=np.int64)
    number[independent] = np.arange(len(independent))
    return Dense(system, independent, number, f"dense dual of rank {len(independent)}")
