"""What one pass over the parts does to prove a bound: on a forest in each part, and profiles that close its cycles.

The forest is that of the constraints within the parts; the rows that couple parts are met by profiles anywhere, one for
each row (notes/certificate.md, equations 6 to 9).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.kernels.newton.proof import UNIT, add_misses, add_moves, add_proof
from purtensor.kernels.rank.forest import cycle_vectors
from purtensor.kernels.rank.heaviest_forest import heaviest_edges, list_leaves, tree_parents
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.coupling_rank import structure_of
from purtensor.outofcore.part import Part
from purtensor.outofcore.part_forests import BASIS, MOVES, At, Closings, Forest, Grown, Met, build_graph
from purtensor.outofcore.passes import open_part
from purtensor.outofcore.restrict import mark_touched_rows
from purtensor.solving.basis import MOST_CLOSING, UPWARD, find_pivots


def grow(number: int, at: At, most: int) -> Grown:
    """Write a part's heaviest forest; return profiles beside it.

    Of the `most` heaviest those are returned that elimination takes first, as many as there are rows to meet.
    """
    part, potentials = open_part(at.store, number, at.token, at.outer)
    masses = at.scale * part.masses(potentials)
    first, second, first_rows, nodes = build_graph(part, at.pair)
    inside, edges, leader = np.zeros(len(masses), dtype=bool), np.empty(len(masses), dtype=np.int64), np.arange(nodes)
    count = heaviest_edges(masses, first, second, first_rows, part.form.slabs.slab_ptr, leader, inside, edges)
    is_root: BoolArray = leader == np.arange(nodes)
    # all rows of a single constraint hang on the one node that is no row: it alone is a root
    if len(at.pair) == 1:
        is_root = np.arange(nodes) == nodes - 1
    degree, links = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    edge, leaf, other = (np.zeros(count, dtype=np.int64) for _ in range(3))
    list_leaves(first, second, first_rows, edges[:count], is_root, degree, links, edge, leaf, other)
    at.store.write_state(BASIS, number, {"edge": edge, "leaf": leaf, "other": other})
    beside = [np.arange(part.block(k).start, part.block(k).stop) for k in at.others]
    rows = np.concatenate([*beside, part.outer_rows()[at.store.kept]])
    # profiles of the forest close no cycle, and are not to be chosen twice
    weight = np.where(inside, 0.0, masses)
    left, within = int(np.count_nonzero(weight)), sum(map(len, beside))
    # more rows than can be met in all: the driver gives up, and nothing need be tried
    tried = min(left, most) if within <= MOST_CLOSING else 0
    if not len(rows) or not tried:
        extras = rows[: within if left else 0]  # where all profiles are in the forest, no further row is free
        columns = len(extras) + len(rows) - within
        return Grown(extras, np.empty(0), rows[:0], np.empty((0, columns), dtype=np.int32), True)
    # argpartition returns them in any order
    profiles = np.sort(np.argpartition(-weight, tried - 1)[:tried])
    parent, via, depth = (np.zeros(nodes, dtype=np.int64) for _ in range(3))
    tree_parents(edge, leaf, other, parent, via, depth)
    places = np.full(len(part.targets), -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    vectors = np.empty((tried, len(rows)), dtype=np.int32)
    met = [*at.others, *part.outside]
    cycle_vectors(
        profiles, first, second, first_rows, parent, via, depth, places, part.index[met], part.offsets[met], vectors
    )
    extras = _extra_rows(part, vectors[:, :within], count)
    vectors = np.concatenate([vectors[:, extras], vectors[:, within:]], axis=1)
    if tried > vectors.shape[1]:
        chosen = find_pivots(np.asarray(vectors * weight[profiles][:, None], dtype=np.float64))
        profiles, vectors = profiles[chosen], vectors[chosen]
    return Grown(rows[extras], weight[profiles], profiles, vectors, tried == left)


def _extra_rows(part: Part, vectors: IntArray, edges: int) -> IntArray:
    """Return which of the rows beside a forest are to be met: as many as the exact rank has beside the forest's.

    That they are independent is proved later, by the inverse.
    """
    if not vectors.shape[1]:
        return np.empty(0, dtype=np.int64)
    slab_ptr = part.form.slabs.slab_ptr
    independent = structure_of(part.index, part.offsets, part.inside, part.outside, slab_ptr)[0]
    independent[part.outer_rows()] = False
    # QR orders the rows only; how many there are is known exactly
    wanted = int(np.count_nonzero(independent)) - edges
    return np.sort(scipy.linalg.qr(vectors.astype(np.float64), mode="r", pivoting=True)[1][:wanted]).astype(np.int64)


def name_rows(number: int, at: At) -> None:
    """Write beside a part's witness which of its rows are met: all but roots and what follows from others."""
    part, _ = open_part(at.store, number, at.token, at.outer)
    forest = Forest.read(at, number, part)
    nodes = np.concatenate([np.arange(part.block(k).start, part.block(k).stop) for k in at.pair])
    named = np.zeros(len(part.targets), dtype=bool)
    # of a single constraint no leaf is the node beyond all rows, on which they hang
    named[nodes[forest.leaf]] = True
    named[at.extras[number][1]] = True
    named[part.outer_rows()[at.store.kept]] = True
    write_packed(at.store.rows_met(at.token, number), {"named": named})


def move(number: int, at: At, values: FloatArray | None, closings: Closings) -> Met:
    """Move the masses of a part by the change, or correct their misses, and return the remaining misses.

    `values` are those of the profiles that close cycles.
    """
    part, potentials = open_part(at.store, number, at.token, at.outer)
    masses = at.scale * part.masses(potentials)
    forest = Forest.read(at, number, part)
    # the first time the change p C^T m itself, then what the basis answers to the misses that it left
    if values is None:
        moves = np.zeros_like(masses)
        made = read_packed(at.store.state(at.change, number)).arrays["made"]
        add_moves(masses, part.index, part.offsets, made, 0, len(masses), moves, np.empty(2))
    else:
        before = read_packed(at.store.state(MOVES, number)).arrays
        nodes = forest.gather_misses(part, at.pair, before["missed"])
        profiles, own = _closing(number, closings, values)
        for ends in forest.ends(profiles):
            np.subtract.at(nodes, ends, own)
        found = forest.route_misses(nodes)
        found[profiles] += own
        # no mass becomes negative; what this takes shows in the misses, and is met by the next round
        moves = np.maximum(before["moves"] + found, -masses)
    high, low, unsure = _sum_misses(part, masses, moves)
    # rows that lost profiles to a face may owe those this mass (notes/certificate.md, equation 11)
    if at.store.face_mass > 0.0:
        unsure[mark_touched_rows(at.store, number, part)] += at.store.face_mass
    missed = high + low
    sizes = np.abs(missed) + unsure + 2.0 * UNIT * np.abs(missed)
    at.store.write_state(MOVES, number, {"moves": moves, "missed": missed, "sizes": sizes})
    l1 = np.zeros(len(part.offsets) - 1)
    for k in part.inside:
        l1[k] = np.abs(missed[part.block(k)]).sum()
    following = part.sums(forest.route_misses(forest.gather_misses(part, at.pair, missed)))
    reached = part.sums(forest.bound_changes(forest.gather_misses(part, at.pair, sizes))) * UPWARD
    high, low, unsure, following, reached = (
        at.select_coupled(number, part, rows) for rows in (high, low, unsure, following, reached)
    )
    return Met(l1, high, low, unsure, following, reached, float(moves.sum()), float(masses.sum()))


def _sum_misses(part: Part, masses: FloatArray, moves: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return targets - C (masses + moves) in twice the digits and by how much it can be off; outside for targets 0."""
    high, rows = part.targets.copy(), len(part.targets)
    # their targets belong to all parts together, and are taken in once, by the driver
    high[part.outer_rows()] = 0.0
    low, size, count = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    for k, own in enumerate(part.index):
        block = part.block(k)
        add_misses(masses, moves, own, high[block], low[block], size[block], count[block])
    # 2 by the bound of `add_misses`, the rest for the rounding of this product
    return high, low, UNIT * 2.1 * count * size


def prove(number: int, at: At, bounds: FloatArray, closings: Closings, away: float) -> FloatArray:
    """Return a part's share of the sums that prove the distances; see `purtensor.kernels.newton.proof.add_proof`.

    The last of the seven is 1 where a mass is 0.
    `bounds` are no less than the sizes of what the profiles that close cycles take of all that is still missed.
    """
    part, potentials = open_part(at.store, number, at.token, at.outer)
    masses = at.scale * part.masses(potentials)
    forest = Forest.read(at, number, part)
    moved = read_packed(at.store.state(MOVES, number)).arrays
    nodes = forest.gather_misses(part, at.pair, moved["sizes"])
    profiles, own = _closing(number, closings, bounds)
    for ends in forest.ends(profiles):
        np.add.at(nodes, ends, own)
    rest = forest.bound_changes(nodes)
    rest[profiles] += own
    made = read_packed(at.store.state(at.change, number)).arrays["made"]
    # six sums of the kernel, and whether a mass is 0
    found = np.zeros(7)
    add_proof(
        masses,
        moved["moves"],
        rest * UPWARD,
        part.index,
        part.offsets,
        made,
        np.abs(made),
        (len(part.index) - 1.0) * np.abs(potentials),  # what adding up the potentials rounds, in units
        away,
        0,
        len(masses),
        found[:6],
    )
    lost = np.flatnonzero(masses == 0.0)
    if len(lost):  # underflowed: below 2^-1074 each, until the potentials of the change raise them
        tilt = sum(made[part.block(k)][own[lost]] for k, own in enumerate(part.index))
        with np.errstate(over="ignore", under="ignore"):
            # exp(-744) > 2^-1074: no less than what the tilted profile may have
            found[1] += np.exp(tilt - 744.0).sum()
        found[6] = 1.0
    return found


def _closing(number: int, closings: Closings, values: FloatArray) -> tuple[IntArray, FloatArray]:
    none = np.empty(0, dtype=np.int64)
    profiles, places = closings.get(number, (none, none))
    return profiles, values[places]
