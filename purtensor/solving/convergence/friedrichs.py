"""How close two constraints are near certain masses: squared Friedrichs cosines, piece by piece of their common graph.

The rows of two constraints are the vertices of a bipartite graph whose edges are the profiles. In L2(q) the squared
singular values of D_j^-1/2 (C_j diag(q) C_k^T) D_k^-1/2 are the squared cosines between the spans of their rows; each
connected component has exactly one that is 1, and the largest below 1 is the squared Friedrichs cosine: the factor by
which alternating between the two converges (notes/block_ipf.md, equation 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.problem import Problem

_ENTRIES = 1 << 24
"""So many entries of small matrices are worked on at once."""


@dataclass(frozen=True, slots=True, eq=False)
class PairSpectrum:
    """The components of two constraints, and the gap of each.

    Attributes
    ----------
    first, second
        Which constraints.
    component_first, component_second
        The component of each of their rows, -1 where a row has no profile.
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


def work_of(problem: Problem, first: int, second: int) -> float:
    """Return a bound on the multiplications that `pair_spectrum` takes, by the largest component that there can be."""
    rows = np.diff(problem.offsets)
    small, large = sorted((int(rows[first]), int(rows[second])))
    per_row = min(small, problem.system.profiles / max(1, large))
    return float(problem.system.profiles) * (1.0 + per_row)


def pair_spectrum(problem: Problem, masses: FloatArray, first: int, second: int) -> PairSpectrum:
    """Return the components of two constraints near the masses, and their gaps."""
    one, other = problem.index[first].astype(np.int64), problem.index[second].astype(np.int64)
    sizes = [int(problem.offsets[k + 1] - problem.offsets[k]) for k in (first, second)]
    shape = (sum(sizes), sum(sizes))
    graph = sparse.csr_array((np.ones(len(one), dtype=bool), (one, sizes[0] + other)), shape=shape)
    count, label = connected_components(graph, directed=False)
    parts = label[: sizes[0]], label[sizes[0] :]
    gaps = np.ones(count)
    numbers = [_number_within(part, count) for part in parts]
    widths = [np.bincount(part, minlength=count) for part in parts]
    for members, shape in _batches(*widths):
        _gaps_of(masses, one, other, parts, numbers, members, shape, gaps)
    return PairSpectrum(first, second, parts[0], parts[1], gaps)


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
        kinds.setdefault((_rounded(int(one[component])), _rounded(int(other[component]))), []).append(component)
    found = []
    for shape, members in kinds.items():
        at_once = max(1, _ENTRIES // (shape[0] * shape[1]))
        found += [(np.array(members[n : n + at_once]), shape) for n in range(0, len(members), at_once)]
    return found


def _rounded(size: int) -> int:
    """Return the next size of which there are matrices: exact up to 8, then in steps of about an eighth."""
    step = 1 << max(0, size.bit_length() - 4)
    return -(-size // step) * step


def _gaps_of(
    masses: FloatArray,
    one: IntArray,
    other: IntArray,
    parts: tuple[IntArray, IntArray],
    numbers: list[IntArray],
    members: IntArray,
    shape: tuple[int, int],
    gaps: FloatArray,
) -> None:
    """Write the gaps of the components of one batch."""
    place = np.full(len(gaps), -1, dtype=np.int64)
    place[members] = np.arange(len(members))
    batch = place[parts[0]][one]
    here = np.flatnonzero(batch >= 0)
    flat = (batch[here] * shape[0] + numbers[0][one[here]]) * shape[1] + numbers[1][other[here]]
    sums = np.bincount(flat, masses[here], len(members) * shape[0] * shape[1])
    cells: FloatArray = sums.reshape(len(members), *shape).astype(np.float64)
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
    laplacian[:, diagonal, diagonal] = np.where(columns > 0, degree * scale**2, 2.0)
    return np.asarray(np.minimum(np.linalg.eigvalsh(laplacian)[:, 1], 1.0))
