"""The whole numbers between which the rows of a constrained marginal may lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import IntArray
from purtensor.sampling.fixed_point import Units


@dataclass(frozen=True, slots=True, eq=False)
class RowBounds:
    """One constraint: its scope, the row that each profile belongs to, and the bounds of the rows' sums."""

    scope: tuple[str, ...]
    index: IntArray
    lower: Units
    upper: Units

    def sums(self, counts: Units) -> Units:
        """Return the sum of each row."""
        # exact in float64, since totals are at most 2^42
        return np.bincount(self.index, weights=counts, minlength=len(self.lower)).astype(np.int64)

    def deviation(self, counts: Units) -> float:
        """Return by how much the rows' sums lie outside of their bounds, in all."""
        sums = self.sums(counts)
        return float((np.maximum(self.lower - sums, 0) + np.maximum(sums - self.upper, 0)).sum())


def total_deviation(bounds: Sequence[RowBounds], counts: Units) -> float:
    """Return by how much counts miss the bounds of all constraints."""
    return sum(bound.deviation(counts) for bound in bounds)
