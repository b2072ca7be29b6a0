"""What the solver, the line search, the interior phase and the certificate ask of a kind of column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Self

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray


class ColumnKind(ABC):
    """Columns x_j that cost h_j(x_j), convex, on [lower_j, upper_j]; all arrays have one entry a column.

    A kind says what h is by its slope, the inverse of the slope, and three sums of it that are written so that nothing
    cancels. What follows from the bounds is written here, once for all kinds (notes/one_dual.md, equations 3 to 8).

    Attributes
    ----------
    lower, upper
        Bounds, -inf and inf where there are none.
    lowest, highest
        The slopes at the bounds: beyond them a column stays at its bound.
    """

    lower: FloatArray
    upper: FloatArray
    lowest: FloatArray
    highest: FloatArray

    def only(self, columns: IntArray) -> Self:
        """Return some of the columns."""
        chosen = copy(self)
        for name, values in vars(self).items():
            setattr(chosen, name, values[columns])
        return chosen

    @abstractmethod
    def slope(self, x: FloatArray) -> FloatArray:
        """Return h'(x)."""

    @abstractmethod
    def inverse(self, z: FloatArray) -> FloatArray:
        """Return the x where h'(x) = z; only asked for z between `lowest` and `highest`."""

    @abstractmethod
    def give(self, x: FloatArray) -> FloatArray:
        """Return 1 / h''(x): how much a column gives way when its potential rises."""

    @abstractmethod
    def loss_between(self, x: FloatArray, rise: FloatArray) -> FloatArray:
        """Return the integral of inverse(z + s) - x over s from 0 to `rise`, where x = inverse(z)."""

    @abstractmethod
    def divergence(self, other: FloatArray, x: FloatArray) -> FloatArray:
        """Return h(other) - h(x) - h'(x) (other - x), which is never negative."""

    @property
    def repelled_below(self) -> BoolArray:
        """Whether the cost itself keeps a column off its lower bound, by an infinite slope, as x log x does off 0."""
        return np.isfinite(self.lower) & np.isneginf(self.lowest)

    @property
    def repelled_above(self) -> BoolArray:
        """Whether the cost itself keeps a column off its upper bound."""
        return np.isfinite(self.upper) & np.isposinf(self.highest)

    def respond(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the x that costs least at the potentials z, and its derivative, 0 where a bound holds it."""
        clipped = np.clip(z, self.lowest, self.highest)
        x = np.clip(self.inverse(clipped), self.lower, self.upper)
        inside = (z > self.lowest) & (z < self.highest)
        return x, np.where(inside, self.give(x), 0.0)

    def loss(self, z: FloatArray, change: FloatArray, x: FloatArray) -> float:
        """Return the integral of x(z + s) - x(z) along `change`, a sum of terms that are never negative."""
        moved = z + change
        start, end = np.clip(z, self.lowest, self.highest), np.clip(moved, self.lowest, self.highest)
        # where nothing changes the end may be infinite on both sides, and inf - inf is NaN
        rise = np.where(change == 0.0, 0.0, end - start)
        between = float(self.loss_between(x, rise).sum())
        beyond = moved != end
        if not beyond.any():
            return between
        # past the bound the response stays, so the rest of the integral is a rectangle
        there = np.clip(self.inverse(end), self.lower, self.upper)
        return between + float(np.where(beyond, (there - x) * (moved - end), 0.0).sum())

    def gap(self, other: FloatArray, z: FloatArray) -> FloatArray:
        """Return h(other) + h*(z) - z other: what `other` costs more than the best response to z."""
        clipped = np.clip(z, self.lowest, self.highest)
        x = np.clip(self.inverse(clipped), self.lower, self.upper)
        # never negative: `other` lies on the inner side of the bound that z pushes to
        held = np.where(clipped == z, 0.0, (clipped - z) * (other - x))
        return self.divergence(other, x) + held


def bregman_entropy(other: FloatArray, x: FloatArray) -> FloatArray:
    """Return other log(other / x) - other + x, by a series where the two are close; x = 0 allows other = 0 only."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        w = np.where(x > 0.0, (other - x) / np.where(x > 0.0, x, 1.0), 0.0)
        # phi(w) of notes/certificate.md, equation 2, whose closed form cancels for small w
        series = w * w * (0.5 - w * (1 / 6 - w * (1 / 12 - w * (1 / 20 - w / 30))))
        exact = np.where(w > -1.0, (1.0 + w) * np.log1p(w), 0.0) - w
        found = x * np.where(np.abs(w) < 1e-3, series, exact)
    return np.where(x > 0.0, found, np.where(other > 0.0, np.inf, 0.0))
