"""Problems whose slabs are small matrices of cells, laid out so that a sweep is one pass over memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._threads import Chunk, chunks_of
from purtensor._typing import IntArray
from purtensor.constraints.slabs import Slabs, local_codes
from purtensor.constraints.system import System, rows_of
from purtensor.kernels.ipf.layouts import place_cells, place_rows
from purtensor.kernels.ipf.slab_runs import Plan
from purtensor.kernels.ipf.slab_sweeps import Layout
from purtensor.kernels.simd import WIDTH
from purtensor.solving.problem import Problem

SMALLEST = 512
"""Fewer profiles are swept twenty times in less time than it takes to lay them out."""

LARGEST_SLAB = 4096
"""Eight slabs of so many cells fill the second cache; larger ones gain nothing over one pass per constraint."""

CELLS_PER_CHUNK = 1 << 19
"""About 0.4 ms of work: long against the call, short against a sweep that pays for threads."""

SMALLEST_IN_CHUNKS = 1 << 20
"""From so many cells on sweeps are made chunk by chunk, on several threads where there are."""

_LOWEST_FILL = 0.25
"""Cells that do not occur cost as much as others: with fewer than this share one pass a constraint is as fast."""

_SECONDS_PER_CELL = 2e-9


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """What the kernels of purtensor.kernels.ipf.slab_runs read, for one problem and one order.

    Attributes
    ----------
    layout, plan
        The kernels' own tuples.
    inside, local
        The constraints A and B, and for each the codes of its rows within a slab.
    shape
        The rows and columns of a slab.
    chunks
        Ranges of blocks that threads can work on side by side; one where the problem is small.
    """

    layout: Layout
    plan: Plan
    inside: tuple[int, int]
    local: tuple[IntArray, IntArray]
    shape: tuple[int, int]
    chunks: tuple[Chunk, ...]

    @property
    def blocks(self) -> int:
        """The number of blocks of eight slabs."""
        return int(self.layout.targets_a.shape[0])

    @property
    def sweep_arithmetic(self) -> float:
        """The estimated seconds of a sweep's arithmetic."""
        rows, columns = self.shape
        return _SECONDS_PER_CELL * self.blocks * WIDTH * rows * columns


def crossing_of(problem: Problem, order: tuple[int, ...]) -> Crossing | None:
    """Return the layout for sweeps in this order, None where the slabs do not allow it; kept with the system.

    Allowed are two constraints that contain the slab key, next to each other in the cyclic order, all others depending
    on the cell alone; slabs that are small, and mostly full; and tables that are not tiny.
    """
    if len(problem.reference) < SMALLEST:
        return None
    return problem.system.remember(("layout", "slabs", order), lambda: _build(problem, order))


def _build(problem: Problem, order: tuple[int, ...]) -> Crossing | None:
    slabs = problem.slabs
    if slabs is None or len(slabs.inside) != 2:
        return None
    found = turn_order(order, slabs.inside)
    if found is None:
        return None
    outside, (a, b), plan = found
    local_a, rows = local_codes(problem.system, slabs, a)
    local_b, columns = local_codes(problem.system, slabs, b)
    # eight slabs side by side; the last block is filled up with empty ones
    blocks = -(-slabs.count // WIDTH)
    cells = rows * columns
    if cells > LARGEST_SLAB or len(problem.reference) < _LOWEST_FILL * blocks * WIDTH * cells:
        return None
    layout = _layout(problem.system, slabs, ((a, local_a), (b, local_b)), outside, (blocks, rows, columns))
    if layout is None:
        return None
    in_block = WIDTH * cells
    per_chunk = max(1, CELLS_PER_CHUNK // in_block) if blocks * in_block >= SMALLEST_IN_CHUNKS else blocks
    return Crossing(layout, plan, (a, b), (local_a, local_b), (rows, columns), chunks_of(blocks, per_chunk))


def turn_order(order: tuple[int, ...], inside: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, int], Plan] | None:
    """Return the outside constraints in the order of the sweep, A and B, and the plan of a sweep.

    None where outside constraints stand on both sides of an inside one.
    """
    count = len(order)
    for turn in range(count):
        turned = order[turn:] + order[:turn]
        # sweeps follow each other, so an order may be turned until A and B stand last
        if set(turned[-2:]) == set(inside):
            begin = (count - turn) % count  # where the sweep begins: at an outside step, at A, or at B
            outside, (a, b) = turned[:-2], turned[-2:]
            if begin < len(outside):
                return outside[begin:] + outside[:begin], (a, b), Plan(len(outside) - begin, False)
            return outside, (a, b), Plan(0, len(outside) > 0 and begin == count - 1)
    return None


def _layout(
    system: System,
    slabs: Slabs,
    inside: tuple[tuple[int, IntArray], tuple[int, IntArray]],
    outside: tuple[int, ...],
    shape: tuple[int, int, int],
) -> Layout | None:
    (blocks, rows, columns), ((a, local_a), (b, local_b)) = shape, inside
    cell_rows = np.empty((len(outside), rows, columns), dtype=np.int32)
    begins = [0]
    for cell_row, k in zip(cell_rows, outside, strict=True):
        if not place_cells(system.index[a], local_a, system.index[b], local_b, system.index[k], cell_row):
            return None
        # cells that do not occur point to row 0, where their mass of 0 counts for nothing
        np.maximum(cell_row, 0, out=cell_row)
        cell_row += begins[-1]
        begins.append(begins[-1] + int(system.offsets[k + 1] - system.offsets[k]))
    placed = []
    for (k, local), width in zip(inside, (rows, columns), strict=True):
        row = np.full((blocks, width, WIDTH), -1, dtype=np.int32)
        target = np.zeros((blocks, width, WIDTH))
        block = system.block(k)
        place_rows(system.index[k], local, slabs.slab_ptr, block.start, system.targets[block], row, target)
        placed.append((row, target))
    (rows_a, targets_a), (rows_b, targets_b) = placed
    outside_rows = rows_of(system.offsets, outside)
    return Layout(
        rows_a, rows_b, targets_a, targets_b, cell_rows, np.array(begins), outside_rows, system.targets[outside_rows]
    )
