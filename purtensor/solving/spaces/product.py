"""The space of dense tables with mass in every cell: the loop of all spaces on one pass over memory a sweep."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from purtensor._threads import for_each_chunk, sum_chunks
from purtensor._typing import FloatArray
from purtensor.kernels.ipf.product_proof import SERIES, prove_blocks
from purtensor.kernels.ipf.product_slabs import ROUND, leave_blocks, linear_sweep, write_masses
from purtensor.kernels.ipf.slab_runs import linear_of_blocks
from purtensor.kernels.newton.proof import UNIT
from purtensor.kernels.simd import WIDTH
from purtensor.solving.basis import UPWARD
from purtensor.solving.certificate import UNPROVED, Certificate, bound_distances
from purtensor.solving.iterate import Budget, Iterate, Residual, Solver, Step
from purtensor.solving.solvers.ipf.product_sweeps import NotOfProduct, Product, ProductSweeps, flatten_cells
from purtensor.solving.spaces.dense import DenseSpace, Factors
from purtensor.solving.spaces.space import NEGLIGIBLE, Sums
from purtensor.solving.stopping import EMPTIED_SHARE, away_from_total

_MORE_SWEEPS = 8
"""So many more linear sweeps than sweeps may a certificate take."""

_PLAIN = 3
"""After so many linear sweeps their rate is told, and over-relaxation taken from it."""

_NOTHING, _GOOD = 2.0**-52, 1e-5
"""Linear sweeps end where they miss no more: a share of the total, up to 16 times it where they began far above."""


@dataclass(slots=True, eq=False)
class Masses:
    """The masses at the end of a run, in the place of the base, and their sums.

    Attributes
    ----------
    cells, of_a, of_b
        In blocks: shapes (B, I, J, 8), (B, I, 8) and (B, J, 8).
    table
        Shape (I, J): the sums over all slabs.
    residual
        How far they are from the targets.
    lowest
        The smallest mass next to its reference.
    """

    cells: FloatArray
    of_a: FloatArray
    of_b: FloatArray
    table: FloatArray
    residual: Residual
    lowest: float


@dataclass(slots=True, eq=False)
class ProductSpace(DenseSpace):
    """Slabs in blocks; at the end of a run the masses take the place of the base, so that it cannot go on."""

    product: Product
    sweeps: ProductSweeps = field(init=False)

    def __post_init__(self) -> None:
        self.sweeps = ProductSweeps.of(self.product)

    def step(self, solver: Solver, point: Iterate, budget: Budget) -> Step[Iterate]:
        """Return a step of sweeps; refused where another method is to continue, or masses are in the base's place."""
        if self.found is not None:
            raise NotOfProduct
        return super(ProductSpace, self).step(solver, point, budget)

    def _measure_start(self) -> Residual:
        # before the first sweep all factors are 1: theta lends the scale for as long as it is measured
        theta = self.sweeps.state.theta
        theta[:] = self._scale
        measured = self.sweeps.measure(False)
        theta[:] = 1.0
        return self._as_residual(measured)

    def mass(self, point: Iterate) -> float:
        if self.found is not None:
            return float(self.found.table.sum())
        return float(self.sweeps.state.table.sum()) if self.sweeps.done else self.total

    def rebuild(self, point: Iterate, *, quickly: bool = False) -> tuple[Iterate, bool]:
        """Write the masses in the place of the base: no sweep can follow."""
        if self.sweeps.done == 0:
            self.sweeps.state.u[0] = self._scale
        # destroys the base: a table may be as large as memory allows, and a copy would double it
        found = self.found = self._write_masses()
        # sweeps keep the total to rounding; where they have not, scaling is left to the general form
        if away_from_total(float(found.table.sum()), self.total):
            raise NotOfProduct
        return point, False

    def has_emptied(self, point: Iterate, residual_l1: float) -> bool:
        return not self.found.lowest > EMPTIED_SHARE * self._scale

    def _write_masses(self) -> Masses:
        sweeps, layout = self.sweeps, self.sweeps.crossing.layout
        state, now, chunks = sweeps.state, sweeps.now, sweeps.crossing.chunks
        of_a, of_b = state.u[1 - now], state.v[1 - now]  # the factors before the last are not needed any more
        parts, found = np.empty((len(chunks), *state.table.shape)), np.empty((len(chunks), 5))
        for_each_chunk(
            lambda n, begin, end: write_masses(
                state.base,
                state.theta,
                state.u[now],
                state.v[now],
                layout.targets_a,
                layout.targets_b,
                begin,
                end,
                of_a,
                of_b,
                parts[n],
                found[n],
            ),
            chunks,
        )
        table = sum_chunks(parts)
        largest, l1 = found[:, :2].max(), sum_chunks(found)[2:4].max()
        if self.product.of_cells is not None:
            gaps = np.abs(table - self.product.of_cells)
            largest, l1 = max(largest, gaps.max()), max(l1, gaps.sum())
        residual = Residual(float(largest / self.total), float(l1 / self.total))
        return Masses(state.base, of_a, of_b, table, residual, float(found[:, 4].min()))

    def divergence(self) -> float:
        found, state, now = self.found, self.sweeps.state, self.sweeps.now
        # the row sums of the masses in the place of the targets, for the kernel that sums targets times potentials
        weights = self.sweeps.crossing.layout._replace(targets_a=found.of_a, targets_b=found.of_b)
        linear = self.sweeps.sum_rows(lambda begin, end: linear_of_blocks(weights, state, now, begin, end))
        if self.product.of_cells is not None:
            linear += float(np.sum(found.table * np.log(state.theta)))
        mass = float(found.table.sum())
        return linear / mass - float(np.log(mass / self.sweeps.start))

    def write(self, cells: FloatArray) -> None:
        masses, scale, (flat, starts) = self.found.cells, 2.0**self.product.exponent, flatten_cells(cells)
        for_each_chunk(
            lambda _, begin, end: leave_blocks(masses, scale, begin, end, cells.shape[2], starts, flat),
            self.sweeps.crossing.chunks,
        )

    def factors(self) -> list[Factors]:
        product, state, now = self.product, self.sweeps.state, self.sweeps.now
        rows, columns, key = product.names
        found = [
            (product.a, (rows, (), key), state.u[now, :, :, None].copy()),
            (product.b, ((), columns, key), state.v[now, :, None].copy()),
        ]
        # kernels take slabs in blocks of 8 lanes: the factor of a cell is the same in all of them
        if product.c >= 0:  # one slab in one block
            found.append((product.c, (rows, columns, ()), np.repeat(state.theta[None, :, :, None], 8, 3)))
        return [Factors(k, names, partial(_leave_blocks, blocks)) for k, names, blocks in found]

    def certificate(self) -> Certificate:
        """Return what is proved of the masses by linear sweeps: nothing where these, too, are slow."""
        found, total, state, now = self.found, self.total, self.sweeps.state, self.sweeps.now
        # in the place of the last factors, which nobody needs any more: room that is not in use costs a pass
        tilts, tilts_a, tilts_b = np.zeros_like(found.table), state.u[now], state.v[now]
        tilts_a[:], tilts_b[:] = 0.0, 0.0
        cells = self.product.of_cells
        missing = np.zeros_like(tilts) if cells is None else cells - found.table
        changed, before, enough, relaxation = np.zeros_like(tilts), np.inf, 0.0, 1.0
        for n in range(self.sweeps.done + _MORE_SWEEPS):
            if cells is not None:
                tilts += relaxation * (missing - changed) / found.table
            missed, changed = self._make_linear_sweep(relaxation, tilts, tilts_a, tilts_b)
            if cells is not None:
                missed = max(missed, float(np.abs(missing - changed).sum()))
            enough = enough or max(_NOTHING, min(16 * _NOTHING, _GOOD * missed / total))
            if missed <= enough * total or (missed > 0.5 * before and missed <= NEGLIGIBLE * total):
                break
            if n == _PLAIN:  # the rate of plain sweeps says how far to go beyond them (notes/ipf.md)
                # Young's factor (notes/rates.md, equation 5); at most 1.82, for three sweeps tell little
                relaxation = 2.0 / (1.0 + math.sqrt(max(0.01, 1.0 - missed / before)))
            before = missed
        return self._prove(tilts, tilts_a, tilts_b)

    def _make_linear_sweep(
        self, relaxation: float, tilts: FloatArray, tilts_a: FloatArray, tilts_b: FloatArray
    ) -> tuple[float, FloatArray]:
        """Make a linear sweep; return what A or B missed before, and what it changes of the sums of the cells."""
        found, layout, chunks = self.found, self.sweeps.crossing.layout, self.sweeps.crossing.chunks
        parts, missed = np.empty((len(chunks), *tilts.shape)), np.empty(len(chunks))

        def work(n: int, begin: int, end: int) -> None:
            missed[n] = linear_sweep(
                found.cells,
                tilts,
                layout.targets_a,
                layout.targets_b,
                found.of_a,
                found.of_b,
                relaxation,
                tilts_a,
                tilts_b,
                begin,
                end,
                parts[n],
            )

        for_each_chunk(work, chunks)
        return float(sum_chunks(missed)), sum_chunks(parts)

    def _prove(self, tilts: FloatArray, tilts_a: FloatArray, tilts_b: FloatArray) -> Certificate:
        """Return what the feasible point proves that the tilts lead to (notes/certificate.md, equations 6 to 9).

        The basis is stars in the slabs and rectangles in the heaviest, whose matrix is the identity.
        """
        found, layout, chunks = self.found, self.sweeps.crossing.layout, self.sweeps.crossing.chunks
        # the heaviest slab: its cells take the misses of all rectangles and have to stay positive
        closing = int(found.of_a.sum(axis=1).argmax())
        parts, out = np.empty((2, len(chunks) + 1, *tilts.shape)), np.empty((len(chunks) + 1, 8))

        def prove(n: int, begin: int, end: int, extra: FloatArray, *, closes: bool) -> None:
            prove_blocks(
                found.cells,
                tilts,
                tilts_a,
                tilts_b,
                layout.targets_a,
                layout.targets_b,
                closing,
                closes,
                extra,
                5.0 * UNIT,
                begin,
                end,
                parts[0, n],
                parts[1, n],
                out[n],
            )

        for_each_chunk(lambda n, begin, end: prove(n, begin, end, tilts, closes=False), chunks)
        extra, left = self._close_rectangles(sum_chunks(parts[0, :-1]), sum_chunks(parts[1, :-1]))
        prove(len(chunks), closing // WIDTH, closing // WIDTH + 1, extra, closes=True)
        left = max(left, *sum_chunks(out[:-1])[6:8])
        largest, upper, gap, size, moved, rest = (
            float(out[:, 0].max()),
            *(float(one) for one in sum_chunks(out)[1:6] / self.total * UPWARD),
        )
        # the proof's series holds for small tilts only, and no mass may have vanished
        if not (largest < SERIES and found.lowest > EMPTIED_SHARE * self._scale and left <= NEGLIGIBLE * self.total):
            return UNPROVED
        distance = 0.5 * (size + abs(moved) + 1e-8 * size + 2.0 * rest)
        return bound_distances(Sums(upper, gap, distance, rest, 5.0 * UNIT, feasible=True, full=True))

    def _close_rectangles(self, sums: FloatArray, rests: FloatArray) -> tuple[FloatArray, float]:
        """Return what the rectangles of one slab take at most, and the miss of the cells."""
        extra = np.zeros_like(sums)
        if self.product.of_cells is None:
            return extra, 0.0
        chunks = self.sweeps.crossing.chunks
        # as many additions as a cell's sum went through: within a round, over rounds, over chunks and lanes
        additions = ROUND + max(end - begin for begin, end in chunks) // ROUND + len(chunks) + WIDTH + 6
        gaps = np.abs(self.product.of_cells - sums)
        extra += (gaps + additions * UNIT * (self.product.of_cells + sums) + rests) * UPWARD
        # the first row and the last column are the star: they balance what the other cells take
        extra[0], extra[:, -1] = 0.0, 0.0
        extra[0] = extra.sum(axis=0)
        extra[:, -1] = extra.sum(axis=1)  # the corner as well: all that is in the rows and columns
        return extra, float(gaps.sum())


def _leave_blocks(blocks: FloatArray, cells: FloatArray) -> None:
    """Write factors in blocks, shape (B, I, J, 8), into an array of shape (I, J, slabs)."""
    flat, starts = flatten_cells(cells)
    leave_blocks(blocks, 1.0, 0, len(blocks), cells.shape[2], starts, flat)
