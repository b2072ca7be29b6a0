"""The linearised sweep of a problem, on potentials without their gauge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.rank.redundancy import redundant
from purtensor.kernels.newton.linear_sweep import leave_dependent_rows, linear_sweep
from purtensor.kernels.reductions import inner_product
from purtensor.solving.iterate import on_profiles, row_sums
from purtensor.solving.problem import Problem

_NOTHING_NEW = 1e-10
"""A function that is a combination of those of a basis up to this share of its norm adds nothing to it."""


@dataclass(frozen=True, slots=True, eq=False)
class Dependencies:
    """Which rows follow from others: the arguments of `leave_dependent_rows`, and the rows that follow from none."""

    row: IntArray
    multiplier: FloatArray
    begins: IntArray
    others: IntArray
    weights: FloatArray
    independent: BoolArray

    @classmethod
    def of(cls, problem: Problem) -> Dependencies:
        """Return the dependencies between the rows of a problem.

        Raises
        ------
        TooLargeError
            The exact algebra is beyond the memory.
        """
        found = redundant(problem.system)
        independent = np.ones(problem.system.rows, dtype=bool)
        row = np.array([one.row for one in found], dtype=np.int64)
        independent[row] = False
        none: list[IntArray] = [np.empty(0, dtype=np.int64)]
        return cls(
            row,
            np.array([one.multiplier for one in found], dtype=np.float64),
            np.cumsum([0, *(len(one.rows) for one in found)]),
            np.concatenate([one.rows for one in found] or none).astype(np.int64),
            np.concatenate([one.weights for one in found] or none).astype(np.float64),
            independent,
        )

    def leave(self, potentials: FloatArray) -> None:
        """Make potentials, shape (D,), zero on dependent rows without moving a profile, in place."""
        leave_dependent_rows(self.row, self.multiplier, self.begins, self.others, self.weights, potentials)


@dataclass(frozen=True, slots=True, eq=False)
class LinearSweep:
    """One sweep near `masses`, as a linear map of the error of the independent potentials.

    In masses, rounding leaves the family, and a power iteration drifts to what the sweep does not move at all; in
    potentials the rows that depend on others are the only such directions, and here there are none (notes/rates.md).

    Attributes
    ----------
    problem
        The problem; its index is read, its targets are not.
    masses
        Shape (M,): where the sweep is linearised, normally the projection.
    sums
        Shape (D,): C masses.
    order, relaxation
        Of the sweep, as in `purtensor.IPF`.
    """

    problem: Problem
    masses: FloatArray
    sums: FloatArray
    dependencies: Dependencies
    order: IntArray
    relaxation: float = 1.0

    @classmethod
    def at(
        cls,
        problem: Problem,
        masses: FloatArray,
        order: Sequence[int] | None = None,
        relaxation: float = 1.0,
        dependencies: Dependencies | None = None,
    ) -> LinearSweep:
        """Return the sweep near the masses; dependencies are worked out where they are not given."""
        known = Dependencies.of(problem) if dependencies is None else dependencies
        steps = np.arange(len(problem.index)) if order is None else np.asarray(order, dtype=np.int64)
        return cls(problem, masses, row_sums(problem.system, masses), known, steps, relaxation)

    @property
    def size(self) -> int:
        """The number of independent potentials."""
        return int(self.dependencies.independent.sum())

    def apply(self, error: FloatArray) -> FloatArray:
        """Return what a sweep leaves of an error of the independent potentials, shape (size,)."""
        potentials = np.zeros(self.problem.system.rows)
        potentials[self.dependencies.independent] = error
        left = self.sweep(potentials)
        return left[self.dependencies.independent]

    def sweep(self, potentials: FloatArray) -> FloatArray:
        """Return what a sweep leaves of an error of all potentials, shape (D,), zero on dependent rows."""
        problem = self.problem
        x = np.ascontiguousarray(potentials, dtype=np.float64).copy()
        z = self.exponents(x)
        linear_sweep(self.masses, problem.index, problem.offsets, self.sums, self.order, self.relaxation, x, z)
        # the map G of notes/rates.md, equation 4: without it the gauge is an eigenvalue of 1
        self.dependencies.leave(x)
        return x

    def exponents(self, potentials: FloatArray) -> FloatArray:
        """Return C^T potentials, shape (M,)."""
        return on_profiles(self.problem.system, potentials)

    def norm(self, potentials: FloatArray) -> float:
        """Return the dual norm of an error of all potentials: the root of sum masses (C^T x)^2 / sum masses."""
        z = self.exponents(potentials)
        return float(np.sqrt(inner_product(self.masses * z, z) / self.masses.sum()))


class OrthonormalBasis:
    """Functions on profiles that are orthonormal in L2(q), q being certain masses, with their potentials."""

    def __init__(self, problem: Problem, masses: FloatArray) -> None:
        self.potentials: list[FloatArray] = []
        self.profiles: list[FloatArray] = []
        self._system, self._weights = problem.system, masses / masses.sum()

    def append(self, potentials: FloatArray) -> tuple[float, FloatArray]:
        """Take in the part of C^T x that is new, scaled to norm 1; return its norm, and the shares of the others.

        Nothing is taken in, and the norm is 0, where nothing is new.
        """
        x, z = potentials.copy(), on_profiles(self._system, potentials)
        size, shares = self._norm(z), np.zeros(len(self.potentials))
        for _ in range(2):  # twice: once leaves a loss of orthogonality that grows with 1 / gap
            for i, (x_i, z_i) in enumerate(zip(self.potentials, self.profiles, strict=True)):
                share = float(self._weights @ (z_i * z))
                shares[i] += share
                x -= share * x_i
                z -= share * z_i
        norm = self._norm(z)
        if norm <= _NOTHING_NEW * size:
            return 0.0, shares
        self.potentials.append(x / norm)
        self.profiles.append(z / norm)
        return norm, shares

    def _norm(self, z: FloatArray) -> float:
        return float(np.sqrt(self._weights @ z**2))
