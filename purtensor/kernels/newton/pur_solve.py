"""Newton's method on P, PU and PUR tables of one union, table after table, each to its own certificate.

The equations are those of purtensor.solving.solvers.newton and purtensor.solving.certificate. A Newton direction m at p
is what the certificate of p is made of, so a table is solved by as many directions as it has steps, and one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.exponential import fast_exp
from purtensor.kernels.newton.certificate import certificate_sums, unevenness
from purtensor.kernels.newton.line_search import LARGEST_CHANGE, SUFFICIENT, curvature, largest_absolute
from purtensor.kernels.newton.pur_direction import Profiles, Room, direct, direct_apart
from purtensor.kernels.newton.pur_tables import (
    coupling_cells,
    first_response,
    leave_unstated,
    set_pur_targets,
    spread_pur,
    sum_pur_rows,
    sweep_pur,
)

CONVERGED, LIMIT, STALLED, NOT_FINITE, NOT_FULL = 0, 1, 2, 3, 4
"""How the solve of a table ends; NOT_FULL: a profile of the support lacks a response that another has."""

FACTS = 6
"""What is told of a table: ending, Newton steps, residual, residual in L1, bound, bound in total variation."""

_MOST_REFINEMENTS = 6
_UNIT = 2.0**-53
_NEGLIGIBLE = 64 * 2.0**-52


class Rule(NamedTuple):
    """Sweeps before the first step, steps at most, and the proved distance in total variation to reach.

    `utility` and `realism` say what is stated beside parity; realism only with utility.
    """

    warm_up: int
    most: int
    tolerance: float
    utility: bool
    realism: bool


@compiled
def solve_pur_table(
    reference: FloatArray,
    data: FloatArray,
    profiles: Profiles,
    rule: Rule,
    room: Room,
    p: FloatArray,
    t: FloatArray,
    told: FloatArray,
) -> int:
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
    cells = coupling_cells(reference, profiles.protected, profiles.slab, groups, first, rule.utility, rule.realism)
    room.place[:] = -1
    for n in range(cells.size):
        room.place[cells[n]] = n
    p[:] = reference
    for _ in range(rule.warm_up):
        sweep_pur(p, room.targets, profiles.protected, profiles.slab, rule.utility, rule.realism, room.sums, t)
    slope = 0.0
    refined = 0
    while True:
        if refined == 0:
            _rebuild(reference, profiles, total, rule.realism, t, p)
            _sum(p, profiles, rule, room)
            _judge(room.targets, room.sums, p.shape[0], room.free.size, total, told)
            if not np.isfinite(told[3]):
                return NOT_FINITE
            room.sums[:] = room.targets - room.sums
            room.direction[:] = 0.0
        if rule.realism:
            direct(p, profiles, cells, room)
        else:
            direct_apart(p, profiles, cells, rule.utility, room)
        if refined == 0:
            slope = np.dot(room.sums, room.correction)
        room.direction[:] += room.correction
        _change(reference, profiles, room)
        left = _left_if_near(p, t, profiles, total, rule, room, told)
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
def _sum(masses: FloatArray, profiles: Profiles, rule: Rule, room: Room) -> None:
    """Write the sums of the masses over all rows that are stated into `sums`, and the targets of the others."""
    sum_pur_rows(masses, profiles.protected, profiles.slab, room.sums)
    leave_unstated(room.sums, room.targets, masses.shape[0], room.free.size, rule.utility, rule.realism)


@compiled
def _rebuild(
    reference: FloatArray, profiles: Profiles, total: float, realism: bool, t: FloatArray, p: FloatArray
) -> None:
    """Write reference * exp(C^T t), scaled to the total, into `p`.

    The scale goes into the potentials of (s, x), or of (y, s) where there is no realism.
    """
    rows, responses = p.shape
    spread_pur(t, profiles.protected, profiles.slab, p)
    mass = 0.0
    for r in range(rows):
        for y in range(responses):
            p[r, y] = reference[r, y] * fast_exp(p[r, y]) if reference[r, y] > 0.0 else 0.0
        for y in range(responses):
            mass += p[r, y]
    factor = total / mass
    if realism:
        t[:rows] += np.log(factor)
    else:
        t[rows + profiles.other.size :] += np.log(factor)
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
    p: FloatArray, t: FloatArray, profiles: Profiles, total: float, rule: Rule, room: Room, told: FloatArray
) -> float:
    """Write the bounds that the direction proves; return the share of the total that p (1 + change) misses.

    It is inf, and nothing is written, where p is further than the tolerance from any proof. What is missed stands in
    `sums`: where it is more than rounding, the direction is to be refined by it.
    """
    rounding = _UNIT * (4.0 + _weigh(p, t, profiles) / total)
    lowest, upper, gap, moved = certificate_sums(p.reshape(p.size), room.change.reshape(p.size))
    near = min(np.sqrt(max(upper, 0.0) / total / 2.0), moved / total / 2.0 + np.sqrt(max(gap, 0.0) / total / 2.0))
    if not (lowest >= -1.0 and near + rounding <= rule.tolerance):
        return np.inf
    left = _left(p, profiles, rule, room) / total
    if left <= _NEGLIGIBLE:
        tv = near + rounding + left
        upper = (np.sqrt(max(upper, 0.0)) + np.sqrt(unevenness(room.sums, room.targets))) ** 2
        told[4] = upper / total + 2.0 * tv * (rounding + left) + (rounding + left) ** 2
        told[5] = tv
    return left


@compiled
def _left(p: FloatArray, profiles: Profiles, rule: Rule, room: Room) -> float:
    """Write what p (1 + change) misses of the targets into `sums`; return the L1 miss of all rows."""
    for r in range(p.shape[0]):
        for y in range(p.shape[1]):
            room.moved[r, y] = p[r, y] * (1.0 + room.change[r, y])
    _sum(room.moved, profiles, rule, room)
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
    length = min(1.0, LARGEST_CHANGE / largest)
    while length * largest > 2.0**-60:
        gain = length * slope - curvature(p.reshape(p.size), flat, length)
        if gain >= SUFFICIENT * length * slope:
            return length
        length *= 0.5
    return 0.0
