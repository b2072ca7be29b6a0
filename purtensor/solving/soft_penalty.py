"""What soft rows cost: penalties on a marginal m with targets b, and their conjugates, which the dual adds up.

A penalty h of strength c enters the dual as psi(t) = min over m of h(m) + t m, a concave function of the row's
potential t. Its slope is the marginal that t asks for, its bend -psi'' the ridge on the Hessian, and
h(m) + t m - psi(t) >= 0 the row's part of the duality gap (notes/relaxation.md, equations 4 to 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.divergence import divergence_sum
from purtensor.kernels.newton.line_search import curvature


class Penalty(Protocol):
    """What the soft rows cost; all arrays have one number a row, and masses need not sum to 1."""

    def cost(self, targets: FloatArray, sums: FloatArray) -> float:
        """Return the sum of h."""
        ...

    def gap(self, targets: FloatArray, sums: FloatArray, potentials: FloatArray) -> float:
        """Return the sum of h(m) + t m - psi(t), which is never negative and free of cancellation."""
        ...


class SmoothPenalty(Penalty, Protocol):
    """A penalty whose psi is finite and smooth everywhere."""

    def asked(self, targets: FloatArray, potentials: FloatArray) -> FloatArray:
        """Return psi', the marginal that the potentials ask for."""
        ...

    def bend(self, targets: FloatArray, potentials: FloatArray) -> FloatArray:
        """Return -psi''."""
        ...

    def loss(self, targets: FloatArray, potentials: FloatArray, change: FloatArray) -> float:
        """Return the sum of psi'(t) d - (psi(t + d) - psi(t)), which is never negative and free of cancellation."""
        ...


@dataclass(frozen=True, slots=True)
class Divergence:
    """c times the divergence of the marginal from its target, sum m log(m / b) - m + b; psi(t) = c b (1 - e^(-t/c))."""

    strength: float

    def cost(self, targets: FloatArray, sums: FloatArray) -> float:
        """Return c D(m || b)."""
        return self.strength * divergence_sum(sums, targets, 1.0, 1.0)

    def gap(self, targets: FloatArray, sums: FloatArray, potentials: FloatArray) -> float:
        """Return c D(m || b e^(-t/c))."""
        return self.strength * divergence_sum(sums, self.asked(targets, potentials), 1.0, 1.0)

    def asked(self, targets: FloatArray, potentials: FloatArray) -> FloatArray:
        """Return b e^(-t/c)."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(targets * np.exp(-potentials / self.strength))

    def bend(self, targets: FloatArray, potentials: FloatArray) -> FloatArray:
        """Return b e^(-t/c) / c."""
        return self.asked(targets, potentials) / self.strength

    def loss(self, targets: FloatArray, potentials: FloatArray, change: FloatArray) -> float:
        """Return the sum of c b e^(-t/c) (e^(-d/c) - 1 + d/c)."""
        return self.strength * curvature(self.asked(targets, potentials), change, -1.0 / self.strength)


@dataclass(frozen=True, slots=True)
class Squares:
    """Half of c times the squared misses, c (m - b)^2 / 2; psi(t) = b t - t^2 / (2 c)."""

    strength: float

    def cost(self, targets: FloatArray, sums: FloatArray) -> float:
        """Return c/2 sum (m - b)^2."""
        return 0.5 * self.strength * float(np.square(sums - targets).sum())

    def gap(self, targets: FloatArray, sums: FloatArray, potentials: FloatArray) -> float:
        """Return c/2 sum (m - b + t/c)^2."""
        return self.cost(self.asked(targets, potentials), sums)

    def asked(self, targets: FloatArray, potentials: FloatArray) -> FloatArray:
        """Return b - t/c."""
        return targets - potentials / self.strength

    def bend(self, targets: FloatArray, potentials: FloatArray) -> FloatArray:
        """Return 1/c."""
        return np.full(len(targets), 1.0 / self.strength)

    def loss(self, targets: FloatArray, potentials: FloatArray, change: FloatArray) -> float:
        """Return the sum of d^2 / (2 c)."""
        return 0.5 / self.strength * float(np.square(change).sum())


@dataclass(frozen=True, slots=True)
class Absolute:
    """c times the misses, c |m - b|; psi(t) = b t where |t| <= c, and there is no other t."""

    strength: float

    def cost(self, targets: FloatArray, sums: FloatArray) -> float:
        """Return c sum |m - b|."""
        return self.strength * float(np.abs(sums - targets).sum())

    def gap(self, targets: FloatArray, sums: FloatArray, potentials: FloatArray) -> float:
        """Return the sum of c |m - b| - t (b - m)."""
        misses = targets - sums
        return float((self.strength * np.abs(misses) - potentials * misses).sum())


def log_loss(change: FloatArray) -> float:
    """Return the sum of x - log(1 + x), inf where some x is not above -1; accurate for small x."""
    if not np.all(change > -1.0):
        return float("inf")
    near = np.abs(change) < 0.01
    x = np.where(near, change, 0.0)
    series = x * x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x / 6))))
    far = np.where(near, 0.0, change)
    return float((series + (far - np.log1p(far))).sum())
