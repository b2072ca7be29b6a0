"""How close two constraints are near certain masses: squared Friedrichs cosines, piece by piece of their common graph.

The rows of two constraints are the vertices of a bipartite graph whose edges are the profiles. In L2(q) the squared
singular values of D_j^-1/2 (C_j diag(q) C_k^T) D_k^-1/2 are the squared cosines between the spans of their rows; each
connected component has exactly one that is 1, and the largest below 1 is the squared Friedrichs cosine: the factor by
which alternating between the two converges (notes/block_ipf.md, equation 4). The slow mode of a component cuts it into
two pieces that next to no mass joins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.solving.problem import Problem

MOST_WORK = 4e9
"""Multiplications that the components of two constraints may take, by default."""

_WORK_PER_PROFILE = 100.0
"""The number of multiplications that take as long as the work per profile."""

_ENTRIES = 1 << 24
"""So many entries of small matrices are worked on at once."""


LARGEST_SIDE = 1000
"""Components with more rows than this on both sides are not looked into."""


@dataclass(frozen=True, slots=True, eq=False)
class PairSpectrum:
    """The components of two constraints, and the gap of each.

    Attributes
    ----------
    first, second
        Which constraints.
    component_first, component_second
        The component of each of their rows.
    gaps
        For each component 1 - its second largest squared cosine, with relative accuracy; 1 where it has no second.
    """

    first: int
    second: int
    component_first: IntArray
    component_second: IntArray
    gaps: FloatArray

    @property
    def gap(self) -> float:
        """1 - the squared Friedrichs cosine."""
        return float(self.gaps.min(initial=1.0))


def pair_spectrum(
    problem: Problem, masses: FloatArray, first: int, second: int, most_work: float = MOST_WORK
) -> PairSpectrum | None:
    """Return the components of two constraints near the masses, and their gaps.

    None where there are so many profiles, or so large components, that it takes more than `most_work` multiplications.
    """
    if problem.system.profiles * _WORK_PER_PROFILE > most_work:
        return None
    joint = _joint_rows(problem, masses, first, second)
    count, label = connected_components(sparse.block_array([[None, joint], [joint.T, None]]), directed=False)
    parts = label[: joint.shape[0]], label[joint.shape[0] :]
    widths = [np.bincount(part, minlength=count) for part in parts]
    # what it takes to multiply each component's matrix by its transpose
    work = float((widths[0] * widths[1] * np.minimum(*widths).astype(np.float64)).sum())
    if work > most_work:
        return None
    gaps = np.ones(count)
    numbers = [_number_within(part, count) for part in parts]
    for members, shape in _batches(*widths):
        _gaps_of(joint, parts, numbers, members, shape, gaps)
    return PairSpectrum(first, second, parts[0], parts[1], gaps)


def _joint_rows(problem: Problem, masses: FloatArray, first: int, second: int) -> sparse.coo_array:
    """Return C_j diag(masses) C_k^T without the pairs of rows that share no profile."""
    one, other = problem.index[first].astype(np.int64), problem.index[second].astype(np.int64)
    shape = tuple(int(problem.offsets[k + 1] - problem.offsets[k]) for k in (first, second))
    # few pairs beside profiles: a full table is quicker than sorting
    if math.prod(shape) <= 4 * len(one):
        pairs, sums = one * shape[1] + other, math.prod(shape)
        values, present = np.bincount(pairs, masses, sums), np.flatnonzero(np.bincount(pairs, minlength=sums))
        return sparse.coo_array((values[present], np.divmod(present, shape[1])), shape=shape)
    return sparse.coo_array((masses, (one, other)), shape=shape).tocsr().tocoo()  # by rows: much faster than by sorting


def _number_within(part: IntArray, count: int) -> IntArray:
    """Return for each row its number within its component."""
    order = np.argsort(part, kind="stable")
    begins = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=count))])
    number = np.empty(len(part), dtype=np.int64)
    number[order] = np.arange(len(part)) - begins[part[order]]
    return number


def _batches(one: IntArray, other: IntArray) -> list[tuple[IntArray, tuple[int, int]]]:
    """Return components of about the same shape together; those with a single row on one side have no second cosine."""
    several = np.flatnonzero((one > 1) & (other > 1))
    kinds: dict[tuple[int, int], list[int]] = {}
    for component in several.tolist():
        kinds.setdefault((_round_up(int(one[component])), _round_up(int(other[component]))), []).append(component)
    found = []
    for shape, members in kinds.items():
        at_once = max(1, _ENTRIES // (shape[0] * shape[1]))
        found += [(np.array(members[n : n + at_once]), shape) for n in range(0, len(members), at_once)]
    return found


def _round_up(size: int) -> int:
    """Return the next size of which there are matrices: exact up to 8, then in steps of about an eighth."""
    step = 1 << max(0, size.bit_length() - 4)
    return -(-size // step) * step


def _gaps_of(
    joint: sparse.coo_array,
    parts: tuple[IntArray, IntArray],
    numbers: list[IntArray],
    members: IntArray,
    shape: tuple[int, int],
    gaps: FloatArray,
) -> None:
    """Write the gaps of the components of one batch."""
    one, other = joint.coords
    place = np.full(len(gaps), -1, dtype=np.int64)
    place[members] = np.arange(len(members))
    batch = place[parts[0]][one]
    here = np.flatnonzero(batch >= 0)
    cells: FloatArray = np.zeros((len(members), *shape))
    cells[batch[here], numbers[0][one[here]], numbers[1][other[here]]] = joint.data[here]
    gaps[members] = second_gap(cells if shape[0] >= shape[1] else cells.transpose(0, 2, 1))


def second_gap(cells: FloatArray) -> FloatArray:
    """Return 1 - the second largest squared cosine of each of a stack of connected matrices, shape (n, rows, columns).

    I - K^T K is, but for a scaling, the Laplacian of the columns' own graph: its diagonal is summed from what is off
    the diagonal, so that small gaps lose no digits to subtraction. Rows and columns of zeros are none.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        over_rows = np.where(cells.sum(2, keepdims=True) > 0, 1.0 / cells.sum(2, keepdims=True), 0.0)
        columns = cells.sum(1)
        scale = np.where(columns > 0, 1.0 / np.sqrt(columns), 0.0)
    joint = np.matmul((cells * over_rows).transpose(0, 2, 1), cells)
    diagonal = np.arange(joint.shape[1])
    joint[:, diagonal, diagonal] = 0.0
    degree = joint.sum(2)
    laplacian = -joint * scale[:, :, None] * scale[:, None, :]
    # 2 for columns that only fill up a batch: above all eigenvalues, so never the second
    laplacian[:, diagonal, diagonal] = np.where(columns > 0, degree * scale**2, 2.0)
    # the lowest is 0, of the constant
    return np.asarray(np.minimum(np.linalg.eigvalsh(laplacian)[:, 1], 1.0))


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
