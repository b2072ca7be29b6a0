"""C diag(p) C^T in arrowhead form: slabs eliminated one by one, a small dense matrix for what couples them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.slabs import Slabs, slab_of_rows
from purtensor.constraints.system import System
from purtensor.kernels.codes import list_touched_by_slab, place_in_lists
from purtensor.kernels.newton.arrowhead import assemble, substitute
from purtensor.solving.hessian.factored import NO_RIDGE, Eliminating


@dataclass(frozen=True, slots=True, eq=False)
class Arrowhead(Eliminating):
    """Newton's equations on slabs; see purtensor.kernels.newton.arrowhead for the arrays."""

    slabs: Slabs
    independent: BoolArray
    places: IntArray
    kept: BoolArray
    local_ptr: IntArray
    local_rows: IntArray
    coupling_ptr: IntArray
    coupling: IntArray
    coupling_rows: IntArray
    rows: int
    note: str

    def reduce(
        self, masses: FloatArray, rhs: FloatArray, ridge: FloatArray = NO_RIDGE, *, with_matrix: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return what the elimination of all slabs leaves over the coupling rows: matrix and right-hand side.

        The matrix is given by its upper triangle; it comes along, wanted or not. Both are sums over slabs, but for
        the rhs of the coupling rows.
        """
        count = len(self.coupling_rows)
        matrix = np.zeros((count, count))
        vector = np.ascontiguousarray(rhs[self.coupling_rows])
        assemble(
            masses,
            self.places,
            self.slabs.group_ptr,
            self.slabs.primary,
            self.kept,
            self.slabs.slab_group_ptr,
            self.local_ptr,
            self.local_rows,
            self.coupling_ptr,
            self.coupling,
            rhs,
            ridge,
            0,
            self.slabs.count,
            matrix,
            vector,
        )
        return matrix, vector

    def extend(
        self, masses: FloatArray, rhs: FloatArray, solved: FloatArray, ridge: FloatArray = NO_RIDGE
    ) -> FloatArray:
        """Return x on all rows, given it on the coupling rows."""
        out = np.zeros(self.rows)
        out[self.coupling_rows] = solved
        substitute(
            masses,
            self.places,
            self.slabs.group_ptr,
            self.slabs.primary,
            self.kept,
            self.slabs.slab_group_ptr,
            self.local_ptr,
            self.local_rows,
            self.coupling_ptr,
            self.coupling,
            rhs,
            ridge,
            solved,
            0,
            self.slabs.count,
            out,
        )
        return out


def build_arrowhead(system: System, slabs: Slabs, independent: BoolArray) -> Arrowhead:
    """Return the arrowhead form of a system whose profiles lie in slab order.

    `independent` marks, shape (D,), a maximal independent set of rows that contains a maximal independent set of
    the inside rows.
    """
    # the first inside constraint has the primary rows, eliminated by a division (notes/newton.md, equation 3)
    inner = slabs.inside[1:]
    # a slab's front: its own independent rows, then the coupling rows that it touches
    local_rows, local_ptr, place_of_row = _local_rows(system, slabs, independent)
    coupling_rows = _list_kept_rows(system, slabs.outside, independent)
    number = np.full(system.rows, -1, dtype=np.int64)
    number[coupling_rows] = np.arange(len(coupling_rows))
    members = np.empty((system.profiles, len(slabs.outside)), dtype=np.int32)
    for j, k in enumerate(slabs.outside):
        members[:, j] = number[system.block(k)][system.index[k]]
    coupling_ptr = np.zeros(slabs.count + 1, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int32)
    # once to count, once to write
    total = list_touched_by_slab(slabs.slab_ptr, members, len(coupling_rows), nothing, coupling_ptr, False)
    coupling = np.empty(total, dtype=np.int32)
    list_touched_by_slab(slabs.slab_ptr, members, len(coupling_rows), coupling, coupling_ptr, True)
    fronts = np.diff(local_ptr) + np.diff(coupling_ptr)
    # the narrowest type: places are read once per profile and step, and memory is what limits the pass
    kind = np.int8 if fronts.max(initial=0) < 128 else np.int16 if fronts.max() < 32768 else np.int32
    places = np.empty((system.profiles, len(inner) + len(slabs.outside)), dtype=kind)
    for j, k in enumerate(inner):
        places[:, j] = place_of_row[system.block(k)][system.index[k]]
    place_in_lists(
        slabs.slab_ptr, members, len(coupling_rows), coupling, coupling_ptr, np.diff(local_ptr), places, len(inner)
    )
    note = (
        f"arrowhead over {' x '.join(slabs.key)}: {slabs.count} slabs, fronts of at most {fronts.max(initial=0)}, "
        f"{len(coupling_rows)} coupling rows"
    )
    return Arrowhead(
        slabs,
        independent,
        places,
        independent[slabs.primary],
        local_ptr,
        local_rows,
        coupling_ptr,
        coupling,
        coupling_rows,
        system.rows,
        note,
    )


def _list_kept_rows(system: System, constraints: tuple[int, ...], independent: BoolArray) -> IntArray:
    chosen = np.zeros(system.rows, dtype=bool)
    for k in constraints:
        chosen[system.block(k)] = independent[system.block(k)]
    return np.flatnonzero(chosen)


def _local_rows(system: System, slabs: Slabs, independent: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the independent rows of the inner constraints by slab, where each slab's begin, and places of rows."""
    rows, where = [], []
    for k in slabs.inside[1:]:
        kept = np.flatnonzero(independent[system.block(k)])
        rows.append(int(system.offsets[k]) + kept)
        where.append(slab_of_rows(system, slabs, k)[kept])
    all_rows = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    slab = np.concatenate(where) if where else np.empty(0, dtype=np.int64)
    # stable, so that rows stay in the order of their constraints within a slab
    order = np.argsort(slab, kind="stable")
    counts = np.bincount(slab, minlength=slabs.count)
    local_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    local_rows = all_rows[order].astype(np.int64)
    place_of_row = np.full(system.rows, -1, dtype=np.int64)
    place_of_row[local_rows] = np.arange(len(local_rows)) - local_ptr[slab[order]]
    return local_rows, local_ptr, place_of_row
