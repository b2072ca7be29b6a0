"""A random walk from a point inside of a polytope to one of its vertices, on the mean where it began.

The polytope is that of fractions z of the profiles, 0 <= z <= 1, whose sums over given rows lie between bounds. It is
the walk of balanced sampling (J.-C. Deville and Y. Tille, Biometrika 91, 2004, 893-912) with the bases of the simplex
method: each profile in turn is moved, up or down at random, until something reaches a bound; those in the basis move
with it, so that every sum that has reached its bound stays there.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled

_TINY = 1e-9


@compiled
def _direction(inverse: FloatArray, rows: IntArray, move: FloatArray, where: IntArray) -> int:
    """Write how the basis answers a profile in these rows, its entries that are not zero; return their number."""
    count = 0
    for i in range(inverse.shape[0]):
        entry = 0.0
        for k in range(rows.size):
            # the column of a profile is a sum of unit vectors, one for each of its rows
            entry += inverse[i, rows[k]]
        if abs(entry) > _TINY:
            move[count] = entry
            where[count] = i
            count += 1
    return count


@compiled
def _reach(
    room: float, sign: float, count: int, move: FloatArray, where: IntArray, basic: FloatArray, upper: FloatArray
) -> tuple[float, int]:
    """Return how far a profile can move up (sign 1) or down (-1), and which entry stops it, -1 for its own bound."""
    stop = -1
    for entry in range(count):
        i = where[entry]
        slope = sign * move[entry]
        # a member of the basis falls where the slope is positive, and may not pass 0 or its bound
        free = basic[i] if slope > 0 else upper[i] - basic[i]
        reach = max(free, 0.0) / abs(slope)
        if reach < room - _TINY:
            room = reach
            stop = entry
        elif stop >= 0 and reach < room + _TINY and abs(slope) > abs(move[stop]):
            stop = entry  # of equals the largest: the steadiest to divide by
    return room, stop


@compiled
def _exchange(inverse: FloatArray, count: int, move: FloatArray, where: IntArray, stop: int, columns: IntArray) -> int:
    """Update the inverse of the basis for a profile that takes the place of entry `stop`; return the work done."""
    row = where[stop]
    filled = 0
    for c in range(inverse.shape[1]):
        # entries of the inverse are small whole numbers or fractions: less is rounding, which would fill it up
        if abs(inverse[row, c]) > 1e-12:
            inverse[row, c] /= move[stop]
            columns[filled] = c
            filled += 1
        else:
            inverse[row, c] = 0.0
    for entry in range(count):
        i = where[entry]
        if i != row:
            for f in range(filled):
                inverse[i, columns[f]] -= move[entry] * inverse[row, columns[f]]
    work: int = inverse.shape[0] + count * filled
    return work


@compiled
def walk_to_vertex(
    fraction: FloatArray,
    rows: IntArray,
    inverse: FloatArray,
    basic: FloatArray,
    upper: FloatArray,
    member: IntArray,
    chances: FloatArray,
    start: int,
    work: int,
) -> int:
    """Move the fractions towards a vertex, in place, beginning with profile `start`; return where to go on.

    Parameters
    ----------
    fraction
        The point, shape (M,); that of a profile in the basis stands in `basic`.
    rows
        The rows that each profile is in, shape (M, K).
    inverse, basic, upper, member
        The basis, one entry a row: the inverse of its columns; the value of each member and its upper bound (the
        lower is 0); which profile it is, or -1 for what the row's sum has above its lower bound.
    chances
        Uniform random numbers, one a profile.
    work
        After about so many operations the function returns.
    """
    count_rows = inverse.shape[0]
    move = np.empty(count_rows)
    where = np.empty(count_rows, dtype=np.int64)
    columns = np.empty(count_rows, dtype=np.int64)
    for j in range(start, fraction.size):
        if work <= 0:
            return j
        if fraction[j] <= _TINY or fraction[j] >= 1 - _TINY:
            continue
        count = _direction(inverse, rows[j], move, where)
        up, up_stop = _reach(1 - fraction[j], 1.0, count, move, where, basic, upper)
        down, down_stop = _reach(fraction[j], -1.0, count, move, where, basic, upper)
        # up with probability down / (up + down): the mean of the move is 0
        goes_up = chances[j] * (up + down) < down
        stop = up_stop if goes_up else down_stop
        step = up if goes_up else -down
        if up <= _TINY or down <= _TINY:  # held: it takes the place of what holds it, and stays where it is
            stop = up_stop if up <= _TINY else down_stop
            step = 0.0
        fraction[j] += step
        for entry in range(count):
            i = where[entry]
            value = basic[i] - step * move[entry]
            basic[i] = 0.0 if value < _TINY else upper[i] if value > upper[i] - _TINY else value
        work -= count_rows * rows.shape[1]
        if stop < 0:
            continue
        i = where[stop]
        # what leaves the basis stands at a bound for good; the excess of a row has no fraction
        if member[i] >= 0:
            fraction[member[i]] = basic[i]
        work -= _exchange(inverse, count, move, where, stop, columns)
        member[i] = j
        basic[i] = fraction[j]
        upper[i] = 1.0
    return fraction.size
