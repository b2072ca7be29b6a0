"""Slacks of intervals and l1 penalties: their cost is linear, and the solver adds a proximal term to it."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.dual.columns.kind import ColumnKind


class LinearCostColumns(ColumnKind):
    """h = cost x on [lower, upper]; with the proximal term (x - anchor)^2 / (2 width) the response is a clipped line.

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
        self.cost, self.lower, self.upper = cost, lower, upper
        self.anchor = np.clip(0.0, lower, upper) if anchor is None else anchor
        self.width = np.ones(len(cost)) if width is None else width
        self.lowest, self.highest = self.slope(lower), self.slope(upper)

    def only(self, columns: IntArray) -> LinearCostColumns:
        """Return some of the slacks."""
        parts = (self.cost, self.lower, self.upper, self.anchor, self.width)
        return LinearCostColumns(*(part[columns] for part in parts))

    def anchor_at(self, anchor: FloatArray, width: FloatArray) -> LinearCostColumns:
        """Return the same slacks with the proximal term at `anchor`, of this width."""
        return LinearCostColumns(self.cost, self.lower, self.upper, anchor, width)

    def slope(self, x: FloatArray) -> FloatArray:
        """Return cost + (x - anchor) / width."""
        return np.asarray(self.cost + (x - self.anchor) / self.width)

    def inverse(self, z: FloatArray) -> FloatArray:
        """Return anchor + width (z - cost)."""
        return np.asarray(self.anchor + self.width * (z - self.cost))

    def give(self, x: FloatArray) -> FloatArray:
        """Return the width."""
        return self.width

    def loss_between(self, x: FloatArray, rise: FloatArray) -> FloatArray:
        """Return width rise^2 / 2."""
        return np.asarray(0.5 * self.width * rise * rise)

    def divergence(self, other: FloatArray, x: FloatArray) -> FloatArray:
        """Return (other - x)^2 / (2 width), of the proximal term."""
        return np.asarray((other - x) ** 2 / (2.0 * self.width))

    def gap(self, other: FloatArray, z: FloatArray) -> FloatArray:
        """Return |z - cost| times the distance to the bound that the potential pushes to."""
        # notes/one_dual.md, equation 11, without the proximal term
        push = z - self.cost
        bound = np.where(push > 0.0, self.upper, self.lower)
        with np.errstate(invalid="ignore"):
            # 0 times an infinite bound is 0: exactly at its cost a slack may be anywhere
            return np.where(push == 0.0, 0.0, np.abs(push) * np.abs(bound - other))
