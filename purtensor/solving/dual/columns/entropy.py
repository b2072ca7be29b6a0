"""Cells that pay by Kullback-Leibler divergence, and slacks of kl penalties."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.dual.columns.kind import ColumnKind, bregman_entropy

# e^709.8 is the end of float64: some room is left for the centre
_LARGEST_EXPONENT = 705.0


class EntropyColumns(ColumnKind):
    """h = strength (x log(x / centre) - x + centre); the response is centre exp(z / strength), within the bounds."""

    def __init__(self, centre: FloatArray, strength: FloatArray | float, lower: FloatArray, upper: FloatArray) -> None:
        self.centre = centre
        self.strength = np.broadcast_to(np.asarray(strength, dtype=np.float64), centre.shape)
        self.lower, self.upper = lower, upper
        self.lowest, self.highest = self.slope(np.maximum(lower, 0.0)), self.slope(upper)

    def slope(self, x: FloatArray) -> FloatArray:
        """Return strength log(x / centre)."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.strength * np.log(x / self.centre))

    def inverse(self, z: FloatArray) -> FloatArray:
        """Return centre exp(z / strength)."""
        return np.asarray(self.centre * np.exp(np.minimum(z / self.strength, _LARGEST_EXPONENT)))

    def give(self, x: FloatArray) -> FloatArray:
        """Return x / strength."""
        return np.asarray(x / self.strength)

    def loss_between(self, x: FloatArray, rise: FloatArray) -> FloatArray:
        """Return strength x (e^r - 1 - r), r = rise / strength."""
        r = rise / self.strength
        with np.errstate(over="ignore", invalid="ignore"):
            # expm1(r) - r cancels for small r; below 1e-3 the terms left out are some 1e-15 of the sum
            series = r * r * (0.5 + r * (1 / 6 + r * (1 / 24 + r / 120)))
            exact = np.expm1(r) - r
        return np.asarray(self.strength * x * np.where(np.abs(r) < 1e-3, series, exact))

    def divergence(self, other: FloatArray, x: FloatArray) -> FloatArray:
        """Return strength KL(other || x)."""
        return np.asarray(self.strength * bregman_entropy(other, x))
