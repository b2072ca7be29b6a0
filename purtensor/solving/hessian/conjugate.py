"""C diag(p) C^T without ever forming it: conjugate gradients, scaled by the diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.constraints.system import System
from purtensor.kernels.ipf import sum_rows
from purtensor.kernels.newton import spread

_MOST_ITERATIONS = 2000


@dataclass(slots=True, eq=False)
class Conjugate:
    """Newton's equations by conjugate gradients on all rows; the dependent ones do no harm."""

    system: System
    note: str
    relative: float = 1e-2
    masses: FloatArray | None = None

    def factor_and_solve(self, masses: FloatArray, rhs: FloatArray) -> FloatArray:
        """Return x with (C diag(masses) C^T) x = rhs, to the relative accuracy of this form."""
        self.masses = masses
        return self.solve(rhs)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for another right-hand side and the same masses."""
        diagonal = self._product(np.ones(0))
        inverse = np.where(diagonal > 0, 1 / np.where(diagonal > 0, diagonal, 1), 0.0)
        x = np.zeros_like(rhs)
        left = rhs.copy()
        scaled = inverse * left
        direction = scaled.copy()
        power = float(left @ scaled)
        goal = power * self.relative**2
        for _ in range(_MOST_ITERATIONS):
            if power <= goal or power == 0.0:
                break
            image = self._product(direction)
            bend = float(direction @ image)
            if not bend > 0.0:
                break
            step = power / bend
            x += step * direction
            left -= step * image
            scaled = inverse * left
            before, power = power, float(left @ scaled)
            direction = scaled + (power / before) * direction
        return x

    def _product(self, x: FloatArray) -> FloatArray:
        """Return C diag(p) C^T x; for an empty x the diagonal C p."""
        system = self.system
        flow = np.asarray(self.masses).copy()
        if len(x):
            spread(system.index, system.offsets, x, flow)
            flow *= self.masses
        out = np.empty(system.rows)
        for k in range(len(system.scopes)):
            sum_rows(flow, system.index[k], out[system.block(k)])
        return out
