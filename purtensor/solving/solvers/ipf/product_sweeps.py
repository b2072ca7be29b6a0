"""Sweeps over dense tables with mass in every cell: no codes, no order of profiles, no search for structure.

Such a table is slabs of I x J cells, one for each value of what two constraints share; a third one may be on the cells.
Whatever else is asked of it, such as Newton's steps or a verdict, is left to the general form: `NotOfProduct`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from purtensor._threads import Chunk, chunks_of, for_each_chunk, sum_chunks
from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.ipf.product_slabs import copy_blocks
from purtensor.kernels.ipf.slab_runs import Plan, Source
from purtensor.kernels.ipf.slab_sweeps import Layout, State
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.kernels.simd import WIDTH
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.slab_layout import CELLS_PER_CHUNK, Crossing
from purtensor.solving.solvers.ipf.slab_sweeps import OnePass
from purtensor.solving.solvers.ipf.sweeper import Sweeper

_LOWEST, _HIGHEST = 2.0**-300, 2.0**300
"""Masses and targets in between have products of factors that float64 holds."""


class NotOfProduct(Exception):  # noqa: N818 - no error: the general form takes over
    """A request needs the general form."""


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A dense table and its constraints, as arrays of cells by slabs.

    Attributes
    ----------
    sizes
        A problem of the same sizes without masses, for rules that count operations.
    names
        The attributes of I, of J and of the slabs.
    cells
        Shape (I, J, slabs): the reference, a view of the caller's array.
    of_a, of_b
        Shapes (I, 1, slabs) and (1, J, slabs): the targets of the constraints inside, as given.
    of_cells
        Shape (I, J): the targets of the third constraint, divided by 2^exponent; None where there is none.
    a, b, c
        Their numbers; c is -1 without a third.
    plan
        The order of a sweep.
    exponent
        All targets were divided by two to this power.
    """

    sizes: Problem
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    cells: FloatArray
    of_a: FloatArray
    of_b: FloatArray
    of_cells: FloatArray | None
    a: int
    b: int
    c: int
    plan: Plan
    exponent: int

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and columns of a slab."""
        return self.cells.shape[0], self.cells.shape[1]

    @property
    def blocks(self) -> int:
        """The number of blocks of eight slabs."""
        return -(-int(self.cells.shape[2]) // WIDTH)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """Ranges of blocks that threads can work on side by side."""
        rows, columns = self.shape
        return chunks_of(self.blocks, max(1, CELLS_PER_CHUNK // (WIDTH * rows * columns)))


def flatten_cells(cells: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return an array of shape (I, J, slabs) as one of one axis, and where the slabs of each cell begin in it.

    It is a view where these stand side by side, else a copy.
    """
    rows, columns, slabs = cells.shape
    # the kernel reads runs of slabs: they have to stand side by side
    if cells.strides[2] != cells.itemsize or min(cells.strides) < 0:
        cells = np.ascontiguousarray(cells)
    steps = [stride // cells.itemsize for stride in cells.strides]
    starts = np.add.outer(np.arange(rows) * steps[0], np.arange(columns) * steps[1])
    return as_strided(cells, (int(starts.max()) + slabs,), (cells.itemsize,)), starts


def copy_to_blocks(cells: FloatArray, chunks: tuple[Chunk, ...], scale: float = 1.0) -> tuple[FloatArray, float]:
    """Return an array of shape (I, J, slabs), times a scale, in blocks, shape (B, I, J, 8), and its sum.

    Raises
    ------
    NotOfProduct
        An entry is not positive, not finite, or so small or large that products may leave the range of float64.
    """
    flat, starts = flatten_cells(cells)
    base = np.empty((chunks[-1][1], *cells.shape[:2], WIDTH))
    found = np.empty((len(chunks), 2))
    for_each_chunk(
        lambda n, begin, end: copy_blocks(flat, starts, cells.shape[2], scale, begin, end, base, found[n]), chunks
    )
    total, least = float(sum_chunks(found)[0]), float(found[:, 1].min())
    if not (least > _LOWEST * max(1.0, total) and total < _HIGHEST):  # also where one is not a number
        raise NotOfProduct
    return base, total


@dataclass(slots=True, eq=False)
class ProductSweeps(OnePass):
    """One-pass sweeps whose base is the reference as given: potentials begin at 0, factors are never folded in."""

    @classmethod
    def of(cls, product: Product) -> ProductSweeps:
        """Return the sweeps that start at the reference.

        Raises
        ------
        NotOfProduct
            Numbers are out of range.
        """
        chunks, (rows, columns), blocks = product.chunks, product.shape, product.blocks
        base, start = copy_to_blocks(product.cells, chunks)
        targets = []
        for given, width in ((product.of_a, rows), (product.of_b, columns)):
            target, _ = copy_to_blocks(given, chunks, 2.0**-product.exponent)
            targets.append(target.reshape(blocks, width, WIDTH))
        of_cells = product.of_cells
        outside = 0 if of_cells is None else of_cells.size
        nowhere = np.empty((0, 0, WIDTH), dtype=np.int32)
        layout = Layout(
            nowhere,
            nowhere,
            targets[0],
            targets[1],
            # the third constraint's rows are the cells themselves, in order
            np.arange(outside, dtype=np.int32).reshape((1 if outside else 0, rows, columns)),
            np.array([0, outside] if outside else [0]),
            np.empty(0, dtype=np.int64),
            np.empty(0) if of_cells is None else of_cells.reshape(-1),
        )
        codes: IntArray = np.empty((0, 0), dtype=np.uint32)
        places: IntArray = np.empty(0, dtype=np.int64)
        source = Source(np.empty(0), codes, places, np.empty(0), places, product.a, product.b, places, places)
        state = State(
            t=np.empty(0),
            base=base,
            theta=np.ones((rows, columns)),
            # two halves: the factors of this sweep and of the one before
            u=np.ones((2, blocks, rows, WIDTH)),
            v=np.ones((2, blocks, columns, WIDTH)),
            w=np.ones((2, outside)),
            table=np.empty((rows, columns)),
        )
        crossing = Crossing(layout, product.plan, (product.a, product.b), (places, places), (rows, columns), chunks)
        made = cls(product.sizes, crossing, source, state, start, is_repeatable=True)
        state.table[:], _ = made._measure_cells()
        return made

    def sweep(self, goal: Goal, limit: int, records: FloatArray) -> tuple[int, int]:
        """Make at most `limit` sweeps; return how many, and how many records were written."""
        return Sweeper.sweep(self, goal, limit, records)  # the compiled loop rebuilds masses from a problem's arrays

    def _rebuild(self) -> None:
        raise NotOfProduct  # factors beyond 2^64 are for the exponentials of the general form
