"""Newton's method on PUR tables of one union, table after table, each to its own certificate.

The equations are those of purtensor.solving.solvers.newton and purtensor.solving.certificate. A Newton direction m at p
is what the certificate of p is made of, so a table is solved by as many directions as it has steps, and one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.bipartite import assemble_bipartite, substitute_bipartite
from purtensor.kernels.certificate import certificate_sums, unevenness
from purtensor.kernels.exponential import fast_exp
from purtensor.kernels.newton import curvature, largest_absolute
from purtensor.kernels.pur_tables import (
    coupling_cells,
    factorize_scaled,
    first_response,
    set_pur_targets,
    solve_scaled,
    spread_pur,
    sum_pur_rows,
    sweep_pur,
)

CONVERGED, LIMIT, STALLED, NOT_FINITE, NOT_FULL = 0, 1, 2, 3, 4
"""How the solve of a table ends; NOT_FULL: a profile of the support lacks a response that another has."""

FACTS = 6
"""What is told of a table: ending, Newton steps, residual, residual in L1, bound, bound in total variation."""

_SUFFICIENT = 1e-4
_LARGEST_STEP = 40.0
_MOST_REFINEMENTS = 6
_UNIT = 2.0**-53
_NEGLIGIBLE = 64 * 2.0**-52


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


class Rule(NamedTuple):
    """Sweeps before the first step, steps at most, and the proved distance in total variation to reach."""

    warm_up: int
    most: int
    tolerance: float


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
    work: FloatArray


@compiled
def solve_pur_table(
    reference: FloatArray, data: FloatArray, profiles: Profiles, rule: Rule, room: Room, p: FloatArray, t: FloatArray,
    told: FloatArray,
) -> int:  # fmt: skip
    """Solve one table; return its ending and write its masses, potentials and facts but the first."""
    p[:] = np.nan
    t[:] = 0.0
    told[1] = 0.0
    told[2] = told[3] = np.nan
    told[4] = np.inf
    told[5] = 1.0
    first = first_response(reference)
    if first < 0:
        return NOT_FULL
    groups = room.theta.shape[0]
    total = set_pur_targets(data, profiles.protected, profiles.slab, groups, room.targets)
    room.free[:] = profiles.other
    room.free[:, first] = -1
    for y in range(1, p.shape[1]):
        room.used[y - 1] = y if y > first else y - 1
    cells = coupling_cells(reference, profiles.protected, profiles.slab, groups, first)
    p[:] = reference
    for _ in range(rule.warm_up):
        sweep_pur(p, room.targets, profiles.protected, profiles.slab, room.sums, t)
    slope = 0.0
    refined = 0
    while True:
        if refined == 0:
            _rebuild(reference, profiles, total, t, p)
            sum_pur_rows(p, profiles.protected, profiles.slab, room.sums)
            _judge(room.targets, room.sums, p.shape[0], room.free.size, total, told)
            if not np.isfinite(told[3]):
                return NOT_FINITE
            room.sums[:] = room.targets - room.sums
            room.direction[:] = 0.0
        _direct(p, profiles, cells, room)
        if refined == 0:
            slope = np.dot(room.sums, room.correction)
        room.direction[:] += room.correction
        _change(reference, profiles, room)
        left = _left_if_near(p, t, profiles, total, rule.tolerance, room, told)
        if left <= _NEGLIGIBLE and told[5] <= rule.tolerance:
            return CONVERGED
        refined += 1
        if np.isfinite(left) and refined <= _MOST_REFINEMENTS:
            continue
        refined = 0
        if told[1] == rule.most:
            return LIMIT
        length = _length(p, room.change, slope)
        if length == 0.0:
            return STALLED
        told[1] += 1.0
        t += length * room.direction


@compiled
def _rebuild(reference: FloatArray, profiles: Profiles, total: float, t: FloatArray, p: FloatArray) -> None:
    """Write reference * exp(C^T t), scaled to the total, into `p`; the scale goes into the potentials of (s, x)."""
    rows, responses = p.shape
    spread_pur(t, profiles.protected, profiles.slab, p)
    mass = 0.0
    for r in range(rows):
        for y in range(responses):
            p[r, y] = reference[r, y] * fast_exp(p[r, y]) if reference[r, y] > 0.0 else 0.0
        for y in range(responses):
            mass += p[r, y]
    factor = total / mass
    t[:rows] += np.log(factor)
    for r in range(rows):
        for y in range(responses):
            p[r, y] *= factor


@compiled
def _judge(targets: FloatArray, sums: FloatArray, rows: int, middle: int, total: float, told: FloatArray) -> None:
    """Write the largest miss, and the L1 miss of the worst constraint, as shares of the total."""
    largest = 0.0
    worst = 0.0
    begin = 0
    for size in (rows, middle, sums.size - rows - middle):
        miss = 0.0
        for n in range(begin, begin + size):
            here = abs(targets[n] - sums[n])
            largest = max(largest, here)
            miss += here
        worst = miss if not miss <= worst else worst
        begin += size
    told[2] = largest / total
    told[3] = worst / total


@compiled
def _direct(p: FloatArray, profiles: Profiles, cells: IntArray, room: Room) -> None:
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
        p.reshape(p.size), profiles.code, profiles.slab_ptr, profiles.primary, room.free, room.sums, room.used, cells,
        (groups, responses), 0, slabs, True, room.work, matrix, side,
    )  # fmt: skip
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
        p.reshape(p.size), profiles.code, profiles.slab_ptr, profiles.primary, room.free, room.sums, room.used,
        room.theta, 0, slabs, room.work, room.correction,
    )  # fmt: skip


@compiled
def _change(reference: FloatArray, profiles: Profiles, room: Room) -> None:
    """Write C^T direction into `change`, 0 where there is no profile."""
    change = room.change
    spread_pur(room.direction, profiles.protected, profiles.slab, change)
    for r in range(change.shape[0]):
        for y in range(change.shape[1]):
            if not reference[r, y] > 0.0:
                change[r, y] = 0.0


@compiled
def _left_if_near(
    p: FloatArray, t: FloatArray, profiles: Profiles, total: float, tolerance: float, room: Room, told: FloatArray
) -> float:
    """Write the bounds that the direction proves; return the share of the total that p (1 + change) misses.

    It is inf, and nothing is written, where p is further than the tolerance from any proof. What is missed stands in
    `sums`: where it is more than rounding, the direction is to be refined by it.
    """
    rounding = _UNIT * (4.0 + _weigh(p, t, profiles) / total)
    lowest, upper, gap, moved = certificate_sums(p.reshape(p.size), room.change.reshape(p.size))
    near = min(np.sqrt(max(upper, 0.0) / total / 2.0), moved / total / 2.0 + np.sqrt(max(gap, 0.0) / total / 2.0))
    if not (lowest >= -1.0 and near + rounding <= tolerance):
        return np.inf
    left = _left(p, profiles, room) / total
    if left <= _NEGLIGIBLE:
        tv = near + rounding + left
        upper = (np.sqrt(max(upper, 0.0)) + np.sqrt(unevenness(room.sums, room.targets))) ** 2
        told[4] = upper / total + 2.0 * tv * (rounding + left) + (rounding + left) ** 2
        told[5] = tv
    return left


@compiled
def _left(p: FloatArray, profiles: Profiles, room: Room) -> float:
    """Write what p (1 + change) misses of the targets into `sums`; return the L1 miss of all rows."""
    for r in range(p.shape[0]):
        for y in range(p.shape[1]):
            room.moved[r, y] = p[r, y] * (1.0 + room.change[r, y])
    sum_pur_rows(room.moved, profiles.protected, profiles.slab, room.sums)
    left = 0.0
    for n in range(room.sums.size):
        room.sums[n] = room.targets[n] - room.sums[n]
        left += abs(room.sums[n])
    return left


@compiled
def _weigh(p: FloatArray, t: FloatArray, profiles: Profiles) -> float:
    """Return the sum over the masses of the absolute potentials that they sum."""
    rows, responses = p.shape
    slabs = profiles.slab_ptr.size - 1
    total = 0.0
    for r in range(rows):
        at_x = rows + profiles.slab[r] * responses
        at_s = rows + (slabs + profiles.protected[r]) * responses
        own = abs(t[r])
        for y in range(responses):
            total += p[r, y] * (own + abs(t[at_x + y]) + abs(t[at_s + y]))
    return total


@compiled
def _length(p: FloatArray, change: FloatArray, slope: float) -> float:
    """Return the length of the step along a direction of which the dual gains enough; 0 where there is none."""
    flat = change.reshape(change.size)
    largest = largest_absolute(flat)
    if not (np.isfinite(slope) and slope > 0.0 and np.isfinite(largest) and largest > 0.0):
        return 0.0
    length = min(1.0, _LARGEST_STEP / largest)
    while length * largest > 2.0**-60:
        gain = length * slope - curvature(p.reshape(p.size), flat, length)
        if gain >= _SUFFICIENT * length * slope:
            return length
        length *= 0.5
    return 0.0
