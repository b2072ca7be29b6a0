"""Edges that cut numbers into bins of near-equal weight, written with as few digits as the data allow."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray

MOST_BINS = 1_000_000


def quantile_edges(values: FloatArray, weights: FloatArray, bins: int) -> tuple[float, ...]:
    """Return at most bins - 1 increasing edges; an edge opens the bin above it.

    The k-th cut comes after the first distinct value at which k / bins of the weight is reached, so that weights
    and repeated rows do the same; between that value and the next one, the shortest decimal number is the edge.
    Equal cuts are one, and nothing is cut after the largest value.
    """
    distinct, group = np.unique(values[weights > 0], return_inverse=True)
    reached = np.cumsum(np.bincount(group, weights=weights[weights > 0]))
    wanted = reached[-1] * np.arange(1, bins) / bins
    after = np.unique(np.searchsorted(reached, wanted))
    return tuple(shortest_between(float(distinct[i]), float(distinct[i + 1])) for i in after if i + 1 < len(distinct))


def shortest_between(low: float, high: float) -> float:
    """Return a number in (low, high] with as few significant digits as there are."""
    middle = low + (high - low) / 2 if math.isfinite(high - low) else low / 2 + high / 2
    for digits in range(1, 18):
        step = 10.0 ** (math.floor(math.log10(max(abs(low), abs(high)))) - digits + 1)
        if not (step > 0 and math.isfinite(step)):
            break
        # the multiple nearest to the middle, else the largest that is not above
        for whole in (round(middle / step), math.floor(high / step)):
            # the product is rounded: the text has the digits that are meant
            candidate = float(f"{whole * step:.{digits}g}")
            if low < candidate <= high:
                # -0.0 becomes 0.0
                return candidate + 0.0
    return high
