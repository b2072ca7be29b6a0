"""Newton's equations C diag(p) C^T x = b in any form: factorised at given masses, solved, refined, regularised.

A form belongs to a problem and is shared by all who solve on it; a factorisation belongs to who made it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.solving.iterate import on_profiles, row_sums
from purtensor.solving.problem import Problem

_MOST_REFINEMENTS = 30

_RELATIVE = 1e-12

FLOORS = (1e-10, 1e-5)
"""The parts of an even share that are added to every mass, one after the other."""


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


NO_RIDGE: FloatArray = np.empty(0)
"""Nothing is added to the diagonal."""


class Factored(Protocol):
    """C diag(p) C^T + diag(ridge) at certain masses, on the rows that a form keeps."""

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for a right-hand side, 0 on the rows that are left out."""
        ...


class Hessian(Protocol):
    """C diag(p) C^T on independent rows, or on rows with a diagonal added."""

    @property
    def note(self) -> str:
        """The form and its size, in a few words."""
        ...

    def factor_and_solve(
        self, masses: FloatArray, rhs: FloatArray, ridge: FloatArray = NO_RIDGE
    ) -> tuple[FloatArray, Factored]:
        """Return x with (C diag(masses) C^T + diag(ridge)) x = rhs, 0 on left out rows, and what solves for others."""
        ...


class Eliminating(ABC):
    """A form that eliminates slab by slab; the remaining rows couple the slabs."""

    __slots__ = ()
    coupling_rows: IntArray

    @abstractmethod
    def reduce(
        self, masses: FloatArray, rhs: FloatArray, ridge: FloatArray = NO_RIDGE, *, with_matrix: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return what the elimination of all slabs leaves over the coupling rows: matrix and right-hand side.

        The matrix is given by its upper triangle. Both are sums over slabs, but for the rhs of the coupling rows.
        """
        ...

    @abstractmethod
    def extend(
        self, masses: FloatArray, rhs: FloatArray, solved: FloatArray, ridge: FloatArray = NO_RIDGE
    ) -> FloatArray:
        """Return x on all rows, given it on the coupling rows."""
        ...

    def factor_and_solve(
        self, masses: FloatArray, rhs: FloatArray, ridge: FloatArray = NO_RIDGE
    ) -> tuple[FloatArray, Factored]:
        """Return x with (C diag(masses) C^T + diag(ridge)) x = rhs, 0 on left out rows, and what solves for others."""
        # the matrix comes of the same pass as the vector
        matrix, vector = self.reduce(masses, rhs, ridge)
        # the elimination has added the ridge of the slabs' own rows only
        add_to_diagonal(matrix, ridge, self.coupling_rows)
        factor = factorize(matrix)
        found = self.extend(masses, rhs, factor.solve(vector), ridge)
        return found, Eliminated(self, masses, ridge, factor)


@dataclass(frozen=True, slots=True, eq=False)
class Eliminated:
    """The slabs' elimination at certain masses, and the factorised matrix that it left."""

    form: Eliminating
    masses: FloatArray
    ridge: FloatArray
    factor: Factor

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for a right-hand side."""
        # the elimination is done again rather than stored, which would take memory like the masses'
        _, vector = self.form.reduce(self.masses, rhs, self.ridge, with_matrix=False)
        return self.form.extend(self.masses, rhs, self.factor.solve(vector), self.ridge)


def add_to_diagonal(matrix: FloatArray, ridge: FloatArray, rows: IntArray) -> None:
    """Add the ridge of `rows`, shape (D,) for all rows or empty, to the diagonal of a matrix over them, in place."""
    if ridge.size:
        places = np.arange(len(rows))
        matrix[places, places] += ridge[rows]


def solve_refined(problem: Problem, factored: Factored, masses: FloatArray, right: FloatArray) -> FloatArray:
    """Return d with C diag(masses) C^T d = right, of the factorisation at these masses, zero on dependent rows."""
    found = factored.solve(right)
    goal = _RELATIVE * float(np.abs(right).max(initial=0.0))
    before = np.inf
    for _ in range(_MOST_REFINEMENTS):
        # by passes over the masses: the factorised matrix has roundings of its own
        left = right - row_sums(problem.system, masses * on_profiles(problem.system, found))
        miss = float(np.abs(left).max(initial=0.0))
        if miss <= goal or not miss < before:
            break
        before = miss
        found = found + factored.solve(left)
    return found


def even_shares(problem: Problem) -> FloatArray:
    """Return, for each profile, the least of what its rows' targets give each of their profiles.

    Masses of that size exceed no target, and every profile has one.
    """
    shares = np.full_like(problem.reference, np.inf)
    for k, row in enumerate(problem.index):
        targets = problem.targets[problem.system.block(k)]
        # the least over its rows, so that the shares of no row sum to more than its target
        np.minimum(shares, (targets / np.maximum(np.bincount(row, minlength=len(targets)), 1))[row], out=shares)
    return shares
