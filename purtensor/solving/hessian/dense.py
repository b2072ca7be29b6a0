"""C diag(p) C^T as one dense matrix: for constraint sets of small rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._threads import added_up, chunks_of, for_each_chunk
from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.system import System
from purtensor.kernels.newton.dense import add_pairs
from purtensor.solving.hessian.cholesky import Factor, factorize
from purtensor.solving.hessian.factored import NO_RIDGE, Factored, add_to_diagonal

_PAIRS = 1 << 25
"""Twice the pairs that are added before the kernel comes back to Python, where interrupts are heard."""

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
        return np.asarray(added_up(parts))


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


def build_dense(system: System, independent: IntArray) -> Dense:
    """Return the dense form on the given independent row numbers."""
    number = np.full(system.rows, -1, dtype=np.int64)
    number[independent] = np.arange(len(independent))
    return Dense(system, independent, number, f"dense dual of rank {len(independent)}")
