"""Cells that pay by chi-squared distance, and slacks of quadratic penalties."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.dual.columns.kind import ColumnKind


class SquareColumns(ColumnKind):
    """h = (x - centre)^2 / (2 variance): the response is centre + variance z, clipped to the bounds."""

    def __init__(self, centre: FloatArray, variance: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        self.centre, self.variance = centre, variance
        self.lower, self.upper = lower, upper
        # infinite where there is no bound: then nothing is ever clipped
        self.lowest, self.highest = self.slope(lower), self.slope(upper)

    def only(self, columns: IntArray) -> SquareColumns:
        """Return some of the columns."""
        return SquareColumns(self.centre[columns], self.variance[columns], self.lower[columns], self.upper[columns])

    def slope(self, x: FloatArray) -> FloatArray:
        """Return (x - centre) / variance."""
        return np.asarray((x - self.centre) / self.variance)

    def inverse(self, z: FloatArray) -> FloatArray:
        """Return centre + variance z."""
        return np.asarray(self.centre + self.variance * z)

    def give(self, x: FloatArray) -> FloatArray:
        """Return the variance."""
        return self.variance

    def loss_between(self, x: FloatArray, rise: FloatArray) -> FloatArray:
        """Return variance rise^2 / 2."""
        return np.asarray(0.5 * self.variance * rise * rise)

    def divergence(self, other: FloatArray, x: FloatArray) -> FloatArray:
        """Return (other - x)^2 / (2 variance)."""
        return np.asarray((other - x) ** 2 / (2.0 * self.variance))
