"""Newton's direction of a small table on independent rows, with realism and without.

Rows and tables are as in purtensor.kernels.newton.pur_tables.
"""

from __future__ import annotations

from typing import NamedTuple

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.newton.bipartite import assemble_bipartite, substitute_bipartite
from purtensor.kernels.newton.pur_equations import assemble_apart, factorize_scaled, solve_scaled, substitute_apart


class Profiles(NamedTuple):
    """The union's predictor profiles and the rows that they belong to.

    `protected` and `slab` have s and x of every profile, x ascending; `code`, `slab_ptr` and `primary` are as
    `assemble_bipartite` takes them; `other` has the numbers of the (y, x) rows, shape (slabs, responses).
    """

    protected: IntArray
    slab: IntArray
    code: IntArray
    slab_ptr: IntArray
    primary: IntArray
    other: IntArray


class Room(NamedTuple):
    """Memory that is used again for every table: over rows, over cells (y, s), over masses, and of the elimination."""

    sums: FloatArray
    targets: FloatArray
    direction: FloatArray
    correction: FloatArray
    matrix: FloatArray
    scale: FloatArray
    vector: FloatArray
    theta: FloatArray
    change: FloatArray
    moved: FloatArray
    free: IntArray
    used: IntArray
    place: IntArray
    work: FloatArray


@compiled
def direct(p: FloatArray, profiles: Profiles, cells: IntArray, room: Room) -> None:
    """Write m with (C diag(p) C^T) m = sums on independent rows into `correction`."""
    groups, responses = room.theta.shape
    slabs = profiles.slab_ptr.size - 1
    at = room.sums.size - groups * responses
    count = cells.size
    matrix = room.matrix[: count * count].reshape(count, count)
    scale, side = room.scale[:count], room.vector[:count]
    side[:] = 0.0
    matrix[:] = 0.0
    assemble_bipartite(
        p.reshape(p.size),
        profiles.code,
        profiles.slab_ptr,
        profiles.primary,
        room.free,
        room.sums,
        room.used,
        cells,
        (groups, responses),
        0,
        slabs,
        True,
        room.work,
        matrix,
        side,
    )
    for n in range(count):
        side[n] += room.sums[at + cells[n]]
    factorize_scaled(matrix, scale)
    solve_scaled(matrix, scale, side)
    room.correction[:] = 0.0
    theta = room.theta.reshape(groups * responses)
    theta[:] = 0.0
    for n in range(count):
        theta[cells[n]] = side[n]
        room.correction[at + cells[n]] = side[n]
    substitute_bipartite(
        p.reshape(p.size),
        profiles.code,
        profiles.slab_ptr,
        profiles.primary,
        room.free,
        room.sums,
        room.used,
        room.theta,
        0,
        slabs,
        room.work,
        room.correction,
    )


@compiled
def direct_apart(p: FloatArray, profiles: Profiles, cells: IntArray, utility: bool, room: Room) -> None:
    """Write m with (C diag(p) C^T) m = sums on independent rows into `correction`, where realism is not stated."""
    at = room.sums.size - room.place.size
    count = cells.size
    matrix = room.matrix[: count * count].reshape(count, count)
    scale, side = room.scale[:count], room.vector[:count]
    assemble_apart(p, profiles.protected, profiles.slab, utility, room.sums, room.place, matrix, side)
    factorize_scaled(matrix, scale)
    solve_scaled(matrix, scale, side)
    room.correction[:] = 0.0
    for n in range(count):
        room.correction[at + cells[n]] = side[n]
    if utility:
        substitute_apart(p, profiles.protected, profiles.slab, room.sums, room.correction)
