"""Cells that pay by chi-squared distance, slacks of quadratic penalties, and slacks whose cost is linear.

The solver adds a proximal term to linear costs, those of intervals and l1 penalties, which makes them squares.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.dual.columns.kind import ColumnKind


class SquareColumns(ColumnKind):
    """h = (x - centre)^2 / (2 variance): the response is centre + variance z, clipped to the bounds."""

    def __init__(self, centre: FloatArray, variance: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        self.centre, self.variance = centre, variance
        self.lower, self.upper = lower, upper
        # infinite where there is no bound: then nothing is ever clipped
        self.lowest, self.highest = self.slope(lower), self.slope(upper)

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


class LinearCostColumns(SquareColumns):
    """h = cost x on [lower, upper], with the proximal term (x - anchor)^2 / (2 width): the response is a clipped line.

    The proximal term is the solver's alone: `gap` is of the cost as it was asked, and needs no width.
    """

    def __init__(
        self,
        cost: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        anchor: FloatArray | None = None,
        width: FloatArray | None = None,
    ) -> None:
        self.cost = cost
        middle = np.clip(0.0, lower, upper) if anchor is None else anchor
        super().__init__(middle, np.ones(len(cost)) if width is None else width, lower, upper)

    def anchor_at(self, anchor: FloatArray, width: FloatArray) -> LinearCostColumns:
        """Return the same slacks with the proximal term at `anchor`, of this width."""
        return LinearCostColumns(self.cost, self.lower, self.upper, anchor, width)

    def slope(self, x: FloatArray) -> FloatArray:
        """Return cost + (x - anchor) / width."""
        return np.asarray(self.cost + super().slope(x))

    def inverse(self, z: FloatArray) -> FloatArray:
        """Return anchor + width (z - cost)."""
        return super().inverse(z - self.cost)

    def gap(self, other: FloatArray, z: FloatArray) -> FloatArray:
        """Return |z - cost| times the distance to the bound that the potential pushes to."""
        # notes/one_dual.md, equation 11, without the proximal term
        push = z - self.cost
        bound = np.where(push > 0.0, self.upper, self.lower)
        with np.errstate(invalid="ignore"):
            # 0 times an infinite bound is 0: exactly at its cost a slack may be anywhere
            return np.where(push == 0.0, 0.0, np.abs(push) * np.abs(bound - other))
