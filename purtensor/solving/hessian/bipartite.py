"""The arrowhead form where every slab is a small matrix of cells: two constraints cross in it, as in PUR."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._threads import Chunk, chunks_of, for_each_chunk, sum_chunks
from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.indexing import put, take
from purtensor.constraints.slabs import Slabs, local_codes, slab_of_rows
from purtensor.constraints.system import System
from purtensor.kernels.newton.bipartite import assemble_bipartite, substitute_bipartite, workspace_size
from purtensor.solving.hessian.factored import NO_RIDGE, Eliminating
from purtensor.tables.grouping import smallest_unsigned

LARGEST_SLAB = 256
"""Beyond so many cells a slab is a matrix of its own size, and lanes no longer fit the caches."""

_LOWEST_FILL = 0.1

_SMALLEST_IN_CHUNKS = 1 << 12
"""From so many slabs on they are eliminated chunk by chunk, on several threads where there are."""

_SLABS_PER_CHUNK = 1 << 11
"""About 0.7 ms of work at least."""

_MOST_CHUNKS = 32
"""Each has its own room to work in, and its own coupling matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class Bipartite(Eliminating):
    """Newton's equations on slabs of crossing constraints; see purtensor.kernels.newton.bipartite.

    A ridge is that of coupling rows; rows inside of slabs have none in this form.
    """

    slabs: Slabs
    code: IntArray
    primary: IntArray
    other: IntArray
    used: IntArray
    cells: IntArray
    number: IntArray
    coupling_rows: IntArray
    rows: int
    shape: tuple[int, int]
    note: str
    chunks: tuple[Chunk, ...]

    @property
    def one_cell_a_row(self) -> bool:
        """Whether the coupled cells are the coupling rows themselves, in order."""
        # then the matrix over cells is the matrix over rows: nothing is added up
        return len(self.cells) == len(self.coupling_rows) and bool(
            (np.diff(self.number.reshape(-1)[self.cells]) == 1).all()
        )

    def reduce(
        self, masses: FloatArray, rhs: FloatArray, ridge: FloatArray = NO_RIDGE, *, with_matrix: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return what the elimination of all slabs leaves over the coupling rows: matrix and right-hand side.

        The matrix is given by its upper triangle. Both are sums over slabs, but for the rhs of the coupling rows.
        """
        cells = len(self.cells)
        work = self._room()
        matrices = np.zeros((len(self.chunks), cells, cells))
        vectors = np.zeros((len(self.chunks), cells))
        for_each_chunk(
            lambda c, begin, end: assemble_bipartite(
                masses,
                self.code,
                self.slabs.slab_ptr,
                self.primary,
                self.other,
                rhs,
                self.used,
                self.cells,
                self.shape,
                begin,
                end,
                with_matrix,
                work[c],
                matrices[c],
                vectors[c],
            ),
            self.chunks,
        )
        matrix, vector = sum_chunks(matrices), sum_chunks(vectors)
        gathered = rhs[self.coupling_rows]
        if self.one_cell_a_row:
            return matrix, gathered + vector
        own = self.number.reshape(-1)[self.cells]
        np.add.at(gathered, own, vector)
        count = len(self.coupling_rows)
        # both triangles, as cells of one row may stand on either side of the diagonal
        full = np.triu(matrix) + np.triu(matrix, 1).T
        folded = np.zeros((count, count))
        np.add.at(folded, (own[:, None], own[None, :]), full)
        return folded, gathered

    def extend(
        self, masses: FloatArray, rhs: FloatArray, solved: FloatArray, ridge: FloatArray = NO_RIDGE
    ) -> FloatArray:
        """Return x on all rows, given it on the coupling rows."""
        work = self._room()
        out = np.zeros(self.rows)
        out[self.coupling_rows] = solved
        # number -1 reads the 0 appended
        theta = np.append(solved, 0.0)[self.number]
        for_each_chunk(
            lambda c, begin, end: substitute_bipartite(
                masses,
                self.code,
                self.slabs.slab_ptr,
                self.primary,
                self.other,
                rhs,
                self.used,
                theta,
                begin,
                end,
                work[c],
                out,
            ),
            self.chunks,
        )
        return out

    def _room(self) -> FloatArray:
        """Return what each chunk's elimination works in."""
        return np.empty((len(self.chunks), workspace_size(self.shape, len(self.used), len(self.cells))))


def build_bipartite(system: System, slabs: Slabs, independent: BoolArray) -> Bipartite | None:
    """Return this form where it applies: two inside constraints, and coupling rows that depend on the cell alone.

    `independent` marks a maximal independent set of rows that has all primary rows, as those of the slab key do: it
    lacks one other row of each connected component of a slab.
    """
    if len(slabs.inside) != 2:
        return None
    main, second = slabs.inside
    # a primary row that is left out would need a pivot that this form does not have
    if not independent[system.block(main)].all():
        return None
    row_code, rows = local_codes(system, slabs, main)
    column_code, columns = local_codes(system, slabs, second)
    cells = rows * columns
    if cells > LARGEST_SLAB or system.profiles < _LOWEST_FILL * cells * slabs.count:
        return None
    # the narrowest type, as the codes are read in every pass over the masses
    code = _take((row_code * columns).astype(smallest_unsigned(cells)), system.index[main])
    code += _take(column_code.astype(code.dtype), system.index[second])
    coupling_rows, number = _numbers(system, slabs, independent, code, cells)
    if number is None:
        return None
    primary = _rows_by_slab(system, slabs, main, row_code, rows)
    other = _rows_by_slab(system, slabs, second, column_code, columns)
    other[~independent[other]] = -1
    # columns that no slab has among its independent rows take no part in the elimination
    used = np.flatnonzero((other >= 0).any(axis=0))
    shared = np.flatnonzero(number >= 0)
    count = slabs.count
    per_chunk = max(_SLABS_PER_CHUNK, -(-count // _MOST_CHUNKS)) if count >= _SMALLEST_IN_CHUNKS else count
    chunks = chunks_of(count, per_chunk)
    note = (
        f"arrowhead over {' x '.join(slabs.key)}: {slabs.count} slabs of {rows} x {columns} profiles, "
        f"{len(coupling_rows)} coupling rows"
    )
    return Bipartite(
        slabs,
        code,
        primary,
        other,
        used,
        shared,
        number.reshape(rows, columns),
        coupling_rows,
        system.rows,
        (rows, columns),
        note,
        chunks,
    )


def _take(values: IntArray, places: IntArray) -> IntArray:
    """Return the values at the places, without numpy's int64 copy of these."""
    found = np.empty(len(places), dtype=values.dtype)
    take(values, places, found)
    return found


def _numbers(
    system: System, slabs: Slabs, independent: BoolArray, code: IntArray, cells: int
) -> tuple[IntArray, IntArray | None]:
    """Return the independent coupling rows and which of them each cell belongs to; None where slabs disagree.

    -1 where a cell belongs to none; a cell of more than one coupling constraint is beyond this form.
    """
    if len(slabs.outside) > 1:
        return np.empty(0, dtype=np.int64), None
    number = np.full(cells, -1, dtype=np.int32)
    if not slabs.outside:
        return np.empty(0, dtype=np.int64), number.astype(np.int64)
    block = system.block(slabs.outside[0])
    kept = np.flatnonzero(independent[block])
    place = np.full(block.stop - block.start, -1, dtype=np.int32)
    place[kept] = np.arange(len(kept))
    own = _take(place, system.index[slabs.outside[0]])
    put(number, code, own)
    # a cell with another row in another slab
    if not np.array_equal(_take(number, code), own):
        return np.empty(0, dtype=np.int64), None
    return block.start + kept, number.astype(np.int64)


def _rows_by_slab(system: System, slabs: Slabs, k: int, code: IntArray, width: int) -> IntArray:
    found = np.full((slabs.count, width), -1, dtype=np.int32)
    found[slab_of_rows(system, slabs, k), code] = np.arange(system.offsets[k], system.offsets[k + 1])
    return found
