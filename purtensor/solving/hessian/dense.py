"""C diag(p) C^T as one dense matrix: for constraint sets of small rank."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import blas

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.system import System
from purtensor.kernels.dense import add_pairs, write_roots
from purtensor.solving.hessian.cholesky import Factor, factorize

_BLOCK = 4096


@dataclass(slots=True, eq=False)
class Dense:
    """Newton's equations as one dense matrix on the independent rows."""

    system: System
    independent: IntArray
    number: IntArray
    by_blocks: bool
    note: str
    factor: Factor = field(default_factory=lambda: factorize(np.empty((0, 0))))

    def factor_and_solve(self, masses: FloatArray, rhs: FloatArray) -> FloatArray:
        """Return x with (C diag(masses) C^T) x = rhs on the independent rows and x = 0 on the others."""
        self.factor = factorize(self._matrix(masses))
        return self.solve(rhs)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for another right-hand side and the same masses."""
        out = np.zeros(self.system.rows)
        out[self.independent] = self.factor.solve(rhs[self.independent])
        return out

    def _matrix(self, masses: FloatArray) -> FloatArray:
        count = len(self.independent)
        matrix = np.zeros((count, count), order="F")
        system = self.system
        if not self.by_blocks:
            add_pairs(masses, system.index, system.offsets, self.number, matrix)
            return matrix
        for begin in range(0, len(masses), _BLOCK):
            end = min(begin + _BLOCK, len(masses))
            block = np.empty((end - begin, count))
            write_roots(masses, system.index, system.offsets, self.number, begin, end, block)
            matrix = blas.dsyrk(1.0, block.T, beta=1.0, c=matrix, overwrite_c=True)
        return matrix


def build_dense(system: System, independent: IntArray) -> Dense:
    """Return the dense form on the given independent row numbers."""
    number = np.full(system.rows, -1, dtype=np.int64)
    number[independent] = np.arange(len(independent))
    by_blocks = pair_cost(system, number) > block_cost(len(independent))
    note = f"dense dual of rank {len(independent)}"
    return Dense(system, independent, number, by_blocks, note)


def pair_cost(system: System, number: IntArray) -> float:
    """Return the nanoseconds a profile that adding pairs takes, from a sample of the profiles."""
    sample = np.linspace(0, system.profiles - 1, min(64, system.profiles)).astype(np.int64)
    kept = np.zeros(len(sample))
    for k in range(len(system.scopes)):
        kept += number[system.block(k)][system.index[k, sample]] >= 0
    return float(np.mean(kept * kept)) * 0.75


def block_cost(count: int) -> float:
    """Return the nanoseconds a profile that a product of dense blocks takes, at some 20 operations a nanosecond."""
    return count * count * 0.05
