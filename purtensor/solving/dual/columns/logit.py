"""Cells that pay by the logit distance of Deville and Sarndal, which keeps them strictly inside of their bounds."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.dual.columns.kind import ColumnKind, bregman_entropy


class LogitColumns(ColumnKind):
    """x = lower + (upper - lower) / (1 + odds exp(-a z)), odds = (upper - centre) / (centre - lower).

    a = (upper - lower) centre / ((centre - lower) (upper - centre)) makes the response move as the centre does at
    z = 0, like the other distances (Deville and Sarndal 1992, case 6).
    """

    def __init__(self, centre: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        self.centre, self.lower, self.upper = centre, lower, upper
        self.width = upper - lower
        self.rate = self.width * centre / ((centre - lower) * (upper - centre))
        self.lowest, self.highest = np.full(len(centre), -np.inf), np.full(len(centre), np.inf)

    def slope(self, x: FloatArray) -> FloatArray:
        """Return (log((x - lower) / (centre - lower)) - log((upper - x) / (upper - centre))) / a."""
        with np.errstate(divide="ignore"):
            below = np.log((x - self.lower) / (self.centre - self.lower))
            above = np.log((self.upper - x) / (self.upper - self.centre))
        return np.asarray((below - above) / self.rate)

    def inverse(self, z: FloatArray) -> FloatArray:
        """Return the response to z."""
        odds = (self.upper - self.centre) / (self.centre - self.lower)
        # e^700 is within float64, and beyond it the response is at its bound to the last digit
        return np.asarray(self.lower + self.width / (1.0 + odds * np.exp(np.clip(-self.rate * z, -700.0, 700.0))))

    def give(self, x: FloatArray) -> FloatArray:
        """Return a (x - lower) (upper - x) / (upper - lower)."""
        return np.asarray(self.rate * (x - self.lower) * (self.upper - x) / self.width)

    def loss_between(self, x: FloatArray, rise: FloatArray) -> FloatArray:
        """Return (upper - lower) / a times log(1 - s + s e^g) - s g, with s the share of the width at x, g = a rise."""
        s, g = (x - self.lower) / self.width, self.rate * rise
        spread = s * (1.0 - s)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            series = spread * g * g * (0.5 + g * ((1.0 - 2.0 * s) / 6.0 + g * (1.0 - 6.0 * spread) / 24.0))
            # for large g expm1 overflows, for small g this one loses digits
            far = np.logaddexp(np.log1p(-s), np.log(s) + g) - s * g
            exact = np.where(np.abs(g) < 1.0, np.log1p(s * np.expm1(np.minimum(g, 1.0))) - s * g, far)
        return np.asarray(self.width / self.rate * np.where(np.abs(g) < 1e-3, series, exact))

    def divergence(self, other: FloatArray, x: FloatArray) -> FloatArray:
        """Return (KL(other - lower || x - lower) + KL(upper - other || upper - x)) / a."""
        below = bregman_entropy(other - self.lower, x - self.lower)
        above = bregman_entropy(self.upper - other, self.upper - x)
        return np.asarray((below + above) / self.rate)
