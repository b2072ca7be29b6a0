"""The space of dense two-way tables with mass in every cell: points, and a proof that takes a few passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._threads import for_each_chunk, sum_chunks
from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.ipf.product_proof import SERIES
from purtensor.kernels.ipf.two_way_proof import heaviest_tree, prove_line, prove_rows, route, sum_exactly
from purtensor.kernels.ipf.two_way_sweeps import gram_product
from purtensor.kernels.newton.proof import UNIT
from purtensor.kernels.reductions import inner_product
from purtensor.kernels.simd import WIDTH
from purtensor.solving.basis import UPWARD
from purtensor.solving.certificate import Certificate, certify
from purtensor.solving.iterate import Iterate
from purtensor.solving.spaces.space import NEGLIGIBLE, Sums
from purtensor.solving.spaces.two_way_points import TwoWayPoints

_REDUCTION, _ROUNDED = 1e-20, 2.0**-100
"""Conjugate gradients end at so small a share of the squared miss, or of the total: what is left is refined."""

_MORE_STEPS = 16
"""So many more steps than sweeps may conjugate gradients take: they converge as accelerated sweeps do."""

_ROUNDING = 5.0 * UNIT
"""The relative error of a mass, a product of three numbers, with room for what its own factors are said to be."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoWayChange:
    """Potentials m of rows and columns: the masses are moved by c = p (m_i + m_j).

    Attributes
    ----------
    tilts
        m, for all rows and then all columns.
    gaps, blur
        What p + c misses of the targets, and by how much that may be wrong.
    left, uneven
        See `purtensor.solving.spaces.space.Change`.
    """

    tilts: FloatArray
    gaps: FloatArray
    blur: FloatArray
    left: float
    uneven: float


@dataclass(slots=True, eq=False)
class TwoWaySpace(TwoWayPoints):
    """See `purtensor.solving.spaces.space.CertifiableSpace` for what each method returns."""

    def certificate(self) -> Certificate:
        return certify(self, self.start(), floors=())

    def first_change(self, point: Iterate, floor: float) -> TwoWayChange | None:
        """Return the change that conjugate gradients give."""
        found = self.found
        return self._make_change(self._solve(np.concatenate(self._targets) - np.concatenate([found.of_a, found.of_b])))

    def refine(self, change: TwoWayChange) -> TwoWayChange:
        """Return the change after another solution, for what this one misses."""
        return self._make_change(change.tilts + self._solve(change.gaps))

    def _solve(self, gaps: FloatArray) -> FloatArray:
        """Return m with (C diag(p) C^T) m = gaps: the rows eliminated, the columns by conjugate gradients."""
        found, rows = self.found, len(self._targets[0])
        masses, of_a, of_b, chunks = found.cells, found.of_a, found.of_b, self.sweeps.layout.chunks
        padded, of_rows, parts = np.zeros(masses.shape[1]), np.empty(rows), np.empty((len(chunks), masses.shape[1]))

        def multiply_gram(of_columns: FloatArray) -> FloatArray:
            padded[: len(of_b)] = of_columns
            for_each_chunk(
                lambda n, begin, end: gram_product(masses, padded, of_a, begin, end, of_rows, parts[n]), chunks
            )
            return np.asarray(sum_chunks(parts)[: len(of_b)])

        shares = of_b / of_b.sum()
        left = gaps[rows:] - np.einsum("ij,i->j", masses[:, : len(of_b)], gaps[:rows] / of_a)
        # a constant is free, for the totals of both constraints are the same: what rounding makes of it cannot be met
        left -= shares * left.sum()
        tilts, scaled = np.zeros_like(left), left / of_b
        direction, size = scaled.copy(), inner_product(left, scaled)
        enough = max(_REDUCTION * size, _ROUNDED * self.total)
        for _ in range(self.sweeps.done + _MORE_STEPS):
            if not size > enough:
                break
            image = of_b * direction - multiply_gram(direction)
            step = size / inner_product(direction, image)
            tilts += step * direction
            left -= step * image
            left -= shares * left.sum()
            scaled = left / of_b
            before, size = size, inner_product(left, scaled)
            direction = scaled + (size / before) * direction
        multiply_gram(tilts)
        return np.concatenate([gaps[:rows] / of_a - of_rows, tilts])

    def _make_change(self, tilts: FloatArray) -> TwoWayChange:
        """Return a change with what it misses, to twice the digits."""
        found, chunks, (of_rows, of_columns) = self.found, self.sweeps.layout.chunks, self._targets
        rows, columns, width = len(of_rows), len(of_columns), found.cells.shape[1]
        tilts_b = np.zeros(width)
        tilts_b[:columns] = tilts[rows:]
        sums_a, parts = np.empty((rows, 2)), np.empty((len(chunks), 2, width))
        for_each_chunk(
            lambda n, begin, end: sum_exactly(found.cells, tilts[:rows], tilts_b, begin, end, sums_a, parts[n]), chunks
        )
        sums = np.concatenate([sums_a, _add_parts_exactly(parts)[:, :columns].T])
        targets = np.concatenate(self._targets)
        # targets - sums is exact where the two are close; what was lost was added up in float64 (Ogita, Rump, Oishi)
        gaps = (targets - sums[:, 0]) - sums[:, 1]
        additions = 2.0 * (max(rows, width) + len(chunks) + WIDTH)
        blur = 4.0 * UNIT * np.abs(gaps) + (2.0 * additions * UNIT) ** 2 * (targets + np.abs(sums[:, 0]))
        left = max(float(np.abs(gaps[:rows]).sum()), float(np.abs(gaps[rows:]).sum()))
        uneven = float(np.sqrt(np.sum(gaps * gaps / np.maximum(targets, np.abs(gaps)))))
        return TwoWayChange(tilts, gaps, blur, left, uneven)

    def sums(self, point: Iterate, change: TwoWayChange) -> Sums:
        """Return what a change proves: what it misses is routed along a heaviest spanning tree of the cells."""
        found, (of_rows, of_columns) = self.found, self._targets
        rows, columns = len(of_rows), len(of_columns)
        order, parent = self._tree()
        loads = np.abs(change.gaps) + change.blur
        route(order, parent, loads)
        nodes = order[1:]
        # as many additions as there are nodes behind an edge, at most
        rests = loads[nodes] * (1.0 + 2.0 * UNIT * len(order))
        ends = np.minimum(nodes, parent[nodes]), np.maximum(nodes, parent[nodes]) - rows
        tilts_b = np.zeros(found.cells.shape[1])
        tilts_b[:columns] = change.tilts[rows:]
        edges = _pad_to_octets(found.cells[ends], change.tilts[ends[0]], tilts_b[ends[1]], rests)
        largest, upper, gap, size, moved = self._prove(change.tilts[:rows], tilts_b, edges)
        rest = float(rests.sum()) / self.total * UPWARD
        return Sums(
            divergence=upper * UPWARD,
            gap=gap * UPWARD,
            distance=0.5 * UPWARD * (size + abs(moved) + 1e-8 * size + 2.0 * rest),
            rest=rest,
            rounding=_ROUNDING,
            feasible=largest < SERIES and change.left <= NEGLIGIBLE * self.total,
            full=True,
        )

    def _tree(self) -> tuple[IntArray, IntArray]:
        found = self.found
        if found.tree is None:
            nodes = len(found.of_a) + len(found.of_b)
            found.tree = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
            heaviest_tree(found.cells, len(found.of_b), int(found.of_a.argmax()), *found.tree)
        tree: tuple[IntArray, IntArray] = found.tree
        return tree

    def _prove(
        self, tilts_a: FloatArray, tilts_b: FloatArray, edges: tuple[FloatArray, ...]
    ) -> tuple[float, float, float, float, float]:
        """Return the largest |w|, and the sums of `prove_line` for a total of 1."""
        cells, chunks = self.found.cells, self.sweeps.layout.chunks
        parts = np.zeros((len(chunks) + 2, 5, WIDTH))
        for_each_chunk(
            lambda n, begin, end: prove_rows(cells, tilts_a, tilts_b, _ROUNDING, begin, end, parts[n]), chunks
        )
        masses, ones, others, rests = edges
        # the cells of the tree once more, with what they take and, to be taken off, without
        prove_line(masses, ones, others, rests, _ROUNDING, parts[-2])
        prove_line(masses, ones, others, np.zeros_like(rests), _ROUNDING, parts[-1])
        sums = parts.sum(axis=2)
        upper, gap = ((sum_chunks(sums[:-1]) - sums[-1]) / self.total)[1:3]
        size, moved = (sum_chunks(sums[:-2]) / self.total)[3:]
        return float(parts[:, 0].max()), float(upper), float(gap), float(size), float(moved)


def _add_parts_exactly(parts: FloatArray) -> FloatArray:
    """Return sums of two numbers each, shape (2, n), added up over the first axis without what rounding loses."""
    total, lost = parts[0, 0].copy(), parts[0, 1].copy()
    for part in parts[1:]:
        after = total + part[0]
        taken = after - total
        lost += part[1] + ((total - (after - taken)) + (part[0] - taken))
        total = after
    return np.array([total, lost])


def _pad_to_octets(*arrays: FloatArray) -> tuple[FloatArray, ...]:
    """Return arrays with zeros up to whole octets."""
    size = -(-len(arrays[0]) // WIDTH) * WIDTH
    return tuple(np.concatenate([one, np.zeros(size - len(one))]) for one in arrays)
