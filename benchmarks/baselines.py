"""What users would write instead: plain loops of iterative proportional fitting, each as fast as plain code gets.

They share nothing with the package but the problems, so that a ratio to them means something, and they judge
convergence by the largest miss over all constraints after a whole sweep, the total mass being 1. Each has
`masses` that change in place, `sweep(count)`, and `solve(tolerance, limit)`, which returns the number of sweeps.
"""

from __future__ import annotations

import numba
import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.problems import NamedProblem

_MOST_AXES = 5


class NumpyLoop:
    """Three lines a constraint in numpy; the miss of the first constraint comes free with the next sweep."""

    masses: FloatArray

    def sweep(self, count: int = 1) -> None:
        for _ in range(count):
            for k in range(self.constraints):
                self._scale(k, self._sums(k))

    def solve(self, tolerance: float, limit: int = 100_000) -> int:
        first = self._sums(0)
        for sweeps in range(1, limit + 1):
            self._scale(0, first)
            for k in range(1, self.constraints):
                self._scale(k, self._sums(k))
            first = self._sums(0)
            if self._miss(0, first) <= tolerance and self.residual() <= tolerance:
                return sweeps
        return limit

    def residual(self) -> float:
        return max(self._miss(k, self._sums(k)) for k in range(self.constraints))

    @property
    def constraints(self) -> int:
        return len(self.targets)

    def _miss(self, k: int, sums: FloatArray) -> float:
        return float(np.abs(sums - self.targets[k]).max())


class NumpyDense(NumpyLoop):
    """Sums over axes and broadcasting on the dense array, zeros included."""

    def __init__(self, named: NamedProblem) -> None:
        self.masses = named.masses.copy()
        axes = range(self.masses.ndim)
        self.others = [tuple(axis for axis in axes if axis not in scope) for scope, _ in named.targets]
        self.targets = [
            np.expand_dims(target, others) for (_, target), others in zip(named.targets, self.others, strict=True)
        ]

    def _sums(self, k: int) -> FloatArray:
        return self.masses.sum(axis=self.others[k], keepdims=True)

    def _scale(self, k: int, sums: FloatArray) -> None:
        sums[sums == 0.0] = 1.0
        self.masses *= self.targets[k] / sums


class NumpyCodes(NumpyLoop):
    """`bincount` for the sums and `take` for the factors, on the profiles of the support.

    Of bincount and add.at, of fancy indexing and take with a buffer, the faster ones.
    """

    def __init__(self, named: NamedProblem) -> None:
        self.masses = support_masses(named)
        self.rows = support_rows(named)
        self.targets = [target.ravel() for _, target in named.targets]
        self.buffer = np.empty_like(self.masses)

    def _sums(self, k: int) -> FloatArray:
        return np.bincount(self.rows[k], weights=self.masses, minlength=self.targets[k].size)

    def _scale(self, k: int, sums: FloatArray) -> None:
        sums[sums == 0.0] = 1.0
        np.take(self.targets[k] / sums, self.rows[k], out=self.buffer, mode="clip")  # any other mode copies the output
        self.masses *= self.buffer


class NumbaCodes:
    """Two plain loops a constraint, compiled, on the profiles of the support."""

    def __init__(self, named: NamedProblem) -> None:
        self.masses = support_masses(named)
        self.rows = np.array(support_rows(named), dtype=np.int32)
        self.targets = np.concatenate([target.ravel() for _, target in named.targets])
        self.offsets = np.cumsum([0, *(target.size for _, target in named.targets)])
        self.sums = np.empty_like(self.targets)

    def sweep(self, count: int = 1) -> None:
        _numba_solve(self.masses, self.rows, self.offsets, self.targets, self.sums, -1.0, count)

    def solve(self, tolerance: float, limit: int = 100_000) -> int:
        return _numba_solve(self.masses, self.rows, self.offsets, self.targets, self.sums, tolerance, limit)


@numba.njit
def _numba_sum(masses, row, sums):
    sums[:] = 0.0
    for i in range(masses.size):
        sums[row[i]] += masses[i]


@numba.njit
def _numba_scale(masses, row, target, sums):
    for r in range(sums.size):
        sums[r] = target[r] / sums[r] if sums[r] > 0.0 else 1.0
    for i in range(masses.size):
        masses[i] *= sums[row[i]]


@numba.njit
def _numba_solve(masses, rows, offsets, targets, sums, tolerance, limit):
    first = slice(offsets[0], offsets[1])
    _numba_sum(masses, rows[0], sums[first])
    for sweep in range(1, limit + 1):
        for k in range(rows.shape[0]):
            block = slice(offsets[k], offsets[k + 1])
            if k > 0:
                _numba_sum(masses, rows[k], sums[block])
            _numba_scale(masses, rows[k], targets[block], sums[block])
        _numba_sum(masses, rows[0], sums[first])
        met = np.abs(sums[first] - targets[first]).max() <= tolerance
        for k in range(1, rows.shape[0]):
            if met:
                block = slice(offsets[k], offsets[k + 1])
                _numba_sum(masses, rows[k], sums[block])
                met = np.abs(sums[block] - targets[block]).max() <= tolerance
        if met:
            return sweep
    return limit


def support_masses(named: NamedProblem) -> FloatArray:
    """Return the positive masses of the reference, in the order of `support_rows`."""
    return named.masses[named.masses > 0]


def support_rows(named: NamedProblem) -> list[IntArray]:
    """Return for each constraint the row of every profile of the support, a position in the flattened target."""
    support = np.nonzero(named.masses)
    columns = support if named.codes is None else [codes[support].astype(np.intp) for codes in named.codes.T]
    return [np.ravel_multi_index([columns[axis] for axis in axes], target.shape) for axes, target in named.targets]


def numpy_loop(named: NamedProblem) -> NumpyDense | NumpyCodes:
    """Return the faster numpy loop: on many short axes numpy's sums lose to bincount."""
    return NumpyDense(named) if named.codes is None and named.masses.ndim <= _MOST_AXES else NumpyCodes(named)
