"""C diag(p) C^T without ever forming it: conjugate gradients, scaled by the diagonal."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.system import System
from purtensor.kernels.reductions import inner_product
from purtensor.solving.hessian.factored import NO_RIDGE, Factored
from purtensor.solving.iterate import on_profiles, row_sums

_MOST_ITERATIONS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Conjugate:
    """Newton's equations by conjugate gradients, on all rows: dependent ones only leave the solution free.

    With `dependent` rows given, the solution is 0 there. Solutions have the `relative` accuracy.
    """

    system: System
    note: str
    dependent: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    relative: float = 1e-3

    def factor_and_solve(
        self, masses: FloatArray, rhs: FloatArray, ridge: FloatArray = NO_RIDGE
    ) -> tuple[FloatArray, Factored]:
        """Return x with (C diag(masses) C^T + diag(ridge)) x = rhs, 0 on left out rows, and what solves for others."""
        factored = Iterated(self.system, self.dependent, self.relative, masses, ridge)
        return factored.solve(rhs), factored


@dataclass(frozen=True, slots=True, eq=False)
class Iterated:
    """C diag(p) C^T at certain masses: nothing is factorised, each solution is iterated for."""

    system: System
    dependent: IntArray
    relative: float
    masses: FloatArray
    ridge: FloatArray

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for a right-hand side."""
        diagonal = row_sums(self.system, self.masses)
        if self.ridge.size:
            diagonal += self.ridge
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        # preconditioned to 0, a row never enters a direction, and x stays 0 there
        inverse[self.dependent] = 0.0
        x = np.zeros_like(rhs)
        left = rhs.copy()
        scaled = inverse * left
        direction = scaled.copy()
        power = inner_product(left, scaled)
        # power is the square of the scaled residual's norm
        goal = power * self.relative**2
        for _ in range(_MOST_ITERATIONS):
            if not power > goal:
                break
            image = self._product(direction)
            bend = inner_product(direction, image)
            # NaN, or a direction in the null space, where nothing is left to solve
            if not bend > 0.0:
                break
            step = power / bend
            x += step * direction
            left -= step * image
            scaled = inverse * left
            before, power = power, inner_product(left, scaled)
            direction = scaled + (power / before) * direction
        return x

    def _product(self, x: FloatArray) -> FloatArray:
        """Return C diag(p) C^T x + ridge x."""
        sums = row_sums(self.system, self.masses * on_profiles(self.system, x))
        return sums + self.ridge * x if self.ridge.size else sums
