"""What potentials prove of bounds on ratios, with all rounding counted.

For any y, and any r with low <= r <= high whose rows are in their intervals, b <= y C r <= high p - low m, where
b = sum of lower y+ - upper y-, and p and m are the sums of the positive and of the negative parts of z = C^T y. So
bounds for which high p - low m < b cannot be met, and that is so for rounded y as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from purtensor._typing import FloatArray

_UNIT = 2.0**-53
_SPARE = 8
"""Roundings in each term beside its sum: of design weight, of the row's unit, of the product, and some to spare."""


@dataclass(frozen=True, slots=True)
class WeakDual:
    """The numbers of the inequality: at least `least_asked`, at most `most_positive`, at least `least_negative`."""

    least_asked: float
    most_positive: float
    least_negative: float

    def least_upper(self, low: float) -> float:
        """Return what an upper end that goes with a lower one is at least."""
        if self.most_positive <= 0.0:
            return 0.0
        return max(0.0, (self.least_asked + low * self.least_negative) / self.most_positive * (1.0 - _SPARE * _UNIT))

    def largest_lower(self, high: float) -> float:
        """Return what a lower end that goes with an upper one is at most; infinite where nothing is proved."""
        if self.least_negative <= 0.0:
            return math.inf
        positive, asked = high * self.most_positive, self.least_asked
        spare = _SPARE * _UNIT * (positive + abs(asked))
        return max(0.0, (positive - asked + spare) / self.least_negative * (1.0 + _SPARE * _UNIT))

    def least_symmetric(self) -> float:
        """Return what s of bounds 1/s and s is at least: the root of s p - m / s = b."""
        if self.most_positive <= 0.0:
            return 0.0
        half = 0.5 * self.least_asked / self.most_positive
        other = self.least_negative / self.most_positive
        root = math.sqrt(half * half + other)
        # for half < 0 the sum would cancel
        found = half + root if half >= 0.0 else other / (root - half)
        return max(1.0, found * (1.0 - 4 * _SPARE * _UNIT))


def weak_dual(rows: sparse.csr_array, lower: FloatArray, upper: FloatArray, potentials: FloatArray) -> WeakDual:
    """Return what potentials of the rows prove; those without the end that their sign speaks of count as 0."""
    # a potential without its end would multiply an infinity: leaving it out keeps the inequality valid
    y = np.where(potentials > 0.0, np.where(np.isfinite(lower), potentials, 0.0), 0.0)
    y += np.where(potentials < 0.0, np.where(np.isfinite(upper), potentials, 0.0), 0.0)
    z, size = rows.T @ y, abs(rows).T @ np.abs(y)
    per_column = np.diff(rows.tocsc().indptr).max(initial=0)
    # of a sum of so many products: a unit of rounding each, by their sizes
    error = (per_column + _SPARE) * _UNIT * size
    terms = np.where(y > 0.0, lower, np.where(y < 0.0, upper, 0.0)) * y
    asked = float(terms.sum()) - (len(y) + _SPARE) * _UNIT * float(np.abs(terms).sum())
    summing = (rows.shape[1] + _SPARE) * _UNIT
    # each sum is rounded to the side on which the inequality stays true
    positive = float(np.maximum(z + error, 0.0).sum()) * (1.0 + summing)
    negative = float(np.maximum(-z - error, 0.0).sum()) * (1.0 - summing)
    return WeakDual(asked, positive, negative)
