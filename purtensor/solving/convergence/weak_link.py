"""What is slow within one component of two constraints: two pieces of it that next to no mass joins."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.solving.convergence.friedrichs import PairSpectrum
from purtensor.solving.problem import Problem

LARGEST_SIDE = 1000
"""Components with more rows than this on both sides are not looked into."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Two pieces of a component, and what joins them.

    Attributes
    ----------
    rows_first, rows_second
        Rows of the two constraints, numbered within them, that are in the component.
    side_first, side_second
        Which of them belong to the first piece, the smaller one.
    masses
        Of the profiles within each piece.
    joined, profiles
        The mass of the profiles between the pieces, and how many these are.
    """

    rows_first: IntArray
    rows_second: IntArray
    side_first: BoolArray
    side_second: BoolArray
    masses: tuple[float, float]
    joined: float
    profiles: int

    @property
    def sweeps_per_decade(self) -> float:
        """What the link alone makes: ln 10 m1 m2 / ((m1 + m2) w) (notes/rate_bounds.md, equation 6)."""
        one, other = self.masses
        return math.log(10.0) * one * other / ((one + other) * self.joined)


def weakest_cut(problem: Problem, masses: FloatArray, pair: PairSpectrum) -> Cut | None:
    """Return the slowest component cut where its mode changes; None where it is too large, or nothing is slow."""
    component = int(np.argmin(pair.gaps))
    if not pair.gaps[component] < 1.0:
        return None
    first, second = (np.flatnonzero(part == component) for part in (pair.component_first, pair.component_second))
    if min(len(first), len(second)) > LARGEST_SIDE:
        return None
    place_first, place_second = np.full(len(pair.component_first), -1), np.full(len(pair.component_second), -1)
    place_first[first], place_second[second] = np.arange(len(first)), np.arange(len(second))
    one, other = place_first[problem.index[pair.first]], place_second[problem.index[pair.second]]
    here = one >= 0
    cells = np.zeros((len(first), len(second)))
    np.add.at(cells, (one[here], other[here]), masses[here])
    return _best_cut(cells, first, second)


def _best_cut(cells: FloatArray, first: IntArray, second: IntArray) -> Cut | None:
    rows, columns = cells.sum(1), cells.sum(0)
    scaled = cells / np.sqrt(rows)[:, None] / np.sqrt(columns)
    # the first pair of singular vectors is constant, with the value 1: the second is the slow mode
    left, _, right = np.linalg.svd(scaled, full_matrices=False)
    values = np.concatenate([left[:, 1] / np.sqrt(rows), right[1] / np.sqrt(columns)])
    count, found = len(rows), None
    # the mode is nearly constant on either piece, so some threshold between its values parts them
    for threshold in np.unique(values)[:-1]:
        low_rows, low_columns = values[:count] <= threshold, values[count:] <= threshold
        inside = float(cells[np.ix_(low_rows, low_columns)].sum())
        outside = float(cells[np.ix_(~low_rows, ~low_columns)].sum())
        between = cells * (low_rows[:, None] != low_columns)
        if inside <= 0.0 or outside <= 0.0:
            continue
        if inside > outside:
            low_rows, low_columns, inside, outside = ~low_rows, ~low_columns, outside, inside
        cut = Cut(
            first,
            second,
            low_rows,
            low_columns,
            (inside, outside),
            float(between.sum()),
            int(np.count_nonzero(between)),
        )
        if cut.joined > 0.0 and (found is None or cut.sweeps_per_decade > found.sweeps_per_decade):
            found = cut
    return found
