"""What every form of C diag(p) C^T offers: a factorisation at given masses, which solves for further right-hand sides.

A form belongs to a problem and is shared by all who solve on it; a factorisation belongs to who made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.hessian.cholesky import Factor, factorize

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


class Eliminating(Protocol):
    """A form that eliminates slab by slab; the remaining rows couple the slabs."""

    @property
    def coupling_rows(self) -> IntArray:
        """The rows that couple the slabs."""
        ...

    def reduce(
        self, masses: FloatArray, rhs: FloatArray, ridge: FloatArray = NO_RIDGE, *, with_matrix: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return what the elimination leaves over the coupling rows: matrix (upper triangle) and right-hand side."""
        ...

    def extend(
        self, masses: FloatArray, rhs: FloatArray, solved: FloatArray, ridge: FloatArray = NO_RIDGE
    ) -> FloatArray:
        """Return x on all rows, given it on the coupling rows."""
        ...


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


def eliminate_and_solve(
    form: Eliminating, masses: FloatArray, rhs: FloatArray, ridge: FloatArray
) -> tuple[FloatArray, Factored]:
    """Return the solution by elimination and the factorisation; the matrix comes of the same pass as the vector."""
    matrix, vector = form.reduce(masses, rhs, ridge)
    # the elimination has added the ridge of the slabs' own rows only
    add_to_diagonal(matrix, ridge, form.coupling_rows)
    factor = factorize(matrix)
    found = form.extend(masses, rhs, factor.solve(vector), ridge)
    return found, Eliminated(form, masses, ridge, factor)


def add_to_diagonal(matrix: FloatArray, ridge: FloatArray, rows: IntArray) -> None:
    """Add the ridge of `rows`, shape (D,) for all rows or empty, to the diagonal of a matrix over them, in place."""
    if ridge.size:
        places = np.arange(len(rows))
        matrix[places, places] += ridge[rows]
