"""Newton's equations in arrowhead form: slabs are eliminated one by one, only the coupling rows meet.

The profiles lie slab by slab, within a slab group by group (a group: the profiles of one primary row). Each
profile has in `places` its positions in the slab's front: 0 .. n - 1 are the slab's other independent rows, n and
beyond the coupling rows that the slab touches; -1 is a dependent row, which has no position. Eliminating the
primary rows leaves, a group, the covariance of the positions under the group's masses; eliminating the n rows
after them leaves the slab's part of the coupling matrix (notes/newton.md, equations 3 to 6).
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.kernels._jit import compiled

PIVOT_FLOOR = 1e-14
"""A pivot below this share of its diagonal before elimination is rounding: the direction there is left at zero."""

NO_MASS = 1e-280
"""A row with less mass cannot be divided by; it is treated as empty, and its potential is left as it is."""


@compiled
def _front(
    masses: FloatArray,
    places: IntArray,
    group_ptr: IntArray,
    primary: IntArray,
    kept: BoolArray,
    rhs: FloatArray,
    ridge: FloatArray,
    first: int,
    last: int,
    size: int,
    front: FloatArray,
    side: FloatArray,
    weight: FloatArray,
    touched: IntArray,
) -> None:
    """Write the upper triangle of the front of the groups first .. last - 1, positions below `size`, into `front`.

    `side` gets the right-hand side that is left there. `weight` is all zero at entry and at return.
    """
    for k in range(size):
        # only the upper triangle that this slab needs: fronts share one array
        side[k] = 0.0
        for j in range(k, size):
            front[k, j] = 0.0
    width = places.shape[1]
    for g in range(first, last):
        count = 0
        total = ridge[primary[g]] if ridge.size else 0.0
        for i in range(group_ptr[g], group_ptr[g + 1]):
            mass = masses[i]
            # underflowed: it adds nothing, and would be listed as touched without a weight
            if mass == 0.0:
                continue
            total += mass
            for j in range(width):
                place = places[i, j]
                if place < 0 or place >= size:
                    continue
                # masses are positive, so a weight of 0 means that the place is new
                if weight[place] == 0.0:
                    touched[count] = place
                    count += 1
                weight[place] += mass
                front[place, place] += mass
                for before in range(j):
                    other = places[i, before]
                    if 0 <= other < size:
                        # a profile counts once for every pair of its positions, as C diag(p) C^T has it
                        front[min(place, other), max(place, other)] += mass
        # the primary row is a diagonal: eliminating it takes off the product of the means (notes/newton.md, equation 3)
        if kept[g] and total > NO_MASS:
            share = rhs[primary[g]] / total
            for k in range(count):
                place = touched[k]
                scaled = weight[place] / total
                side[place] -= weight[place] * share
                for m in range(count):
                    other = touched[m]
                    if other >= place:
                        front[place, other] -= scaled * weight[other]
        for k in range(count):
            # by the list: the array may be much longer than what a group touches
            weight[touched[k]] = 0.0


@compiled
def _eliminate(front: FloatArray, side: FloatArray, count: int, size: int, scale: FloatArray) -> None:
    """Eliminate the first `count` of `size` rows of a symmetric front (upper triangle), root-free.

    Row k is left as its pivot and its multipliers times the pivot; a pivot that is rounding becomes 0.
    """
    for k in range(count):
        pivot = front[k, k]
        # in this form NaN counts as rounding
        if not pivot > PIVOT_FLOOR * scale[k]:
            front[k, k] = 0.0
            continue
        for i in range(k + 1, size):
            factor = front[k, i] / pivot
            # fronts are sparse where slabs are small
            if factor == 0.0:
                continue
            side[i] -= factor * side[k]
            for j in range(i, size):
                front[i, j] -= factor * front[k, j]


@compiled
def assemble(
    masses: FloatArray,
    places: IntArray,
    group_ptr: IntArray,
    primary: IntArray,
    kept: BoolArray,
    slab_group_ptr: IntArray,
    local_ptr: IntArray,
    local_rows: IntArray,
    coupling_ptr: IntArray,
    coupling: IntArray,
    rhs: FloatArray,
    ridge: FloatArray,
    begin: int,
    end: int,
    matrix: FloatArray,
    vector: FloatArray,
) -> None:
    """Add the slabs begin .. end - 1 to the coupling matrix (upper triangle) and to its right-hand side."""
    largest = _largest_front(local_ptr, coupling_ptr, begin, end)
    front = np.zeros((largest, largest))
    side = np.zeros(largest)
    weight = np.zeros(largest)
    scale = np.zeros(largest)
    touched = np.zeros(largest, dtype=np.int64)
    for x in range(begin, end):
        count = local_ptr[x + 1] - local_ptr[x]
        at = coupling_ptr[x]
        size = count + coupling_ptr[x + 1] - at
        _front(
            masses,
            places,
            group_ptr,
            primary,
            kept,
            rhs,
            ridge,
            slab_group_ptr[x],
            slab_group_ptr[x + 1],
            size,
            front,
            side,
            weight,
            touched,
        )
        for k in range(count):
            side[k] += rhs[local_rows[local_ptr[x] + k]]
            if ridge.size:
                front[k, k] += ridge[local_rows[local_ptr[x] + k]]
            scale[k] = front[k, k]
        _eliminate(front, side, count, size, scale)
        for k in range(count, size):
            # numbers of coupling rows ascend within a slab, so the upper triangle stays one
            row = coupling[at + k - count]
            vector[row] += side[k]
            for j in range(k, size):
                matrix[row, coupling[at + j - count]] += front[k, j]


@compiled
def _largest_front(local_ptr: IntArray, coupling_ptr: IntArray, begin: int, end: int) -> int:
    largest = 1
    for x in range(begin, end):
        largest = max(largest, local_ptr[x + 1] - local_ptr[x] + coupling_ptr[x + 1] - coupling_ptr[x])
    return largest


@compiled
def substitute(
    masses: FloatArray,
    places: IntArray,
    group_ptr: IntArray,
    primary: IntArray,
    kept: BoolArray,
    slab_group_ptr: IntArray,
    local_ptr: IntArray,
    local_rows: IntArray,
    coupling_ptr: IntArray,
    coupling: IntArray,
    rhs: FloatArray,
    ridge: FloatArray,
    solved: FloatArray,
    begin: int,
    end: int,
    out: FloatArray,
) -> None:
    """Write the solution on the primary and local rows of the slabs begin .. end - 1, given that on the coupling.

    The small fronts are computed again rather than kept: that costs less than the memory that they would fill.
    """
    largest = _largest_front(local_ptr, coupling_ptr, begin, end)
    front = np.zeros((largest, largest))
    side = np.zeros(largest)
    weight = np.zeros(largest)
    scale = np.zeros(largest)
    here = np.zeros(largest)
    touched = np.zeros(largest, dtype=np.int64)
    for x in range(begin, end):
        count = local_ptr[x + 1] - local_ptr[x]
        at = coupling_ptr[x]
        for k in range(coupling_ptr[x + 1] - at):
            # local values come before the coupling ones, in the positions of the front
            here[count + k] = solved[coupling[at + k]]
        first, last = slab_group_ptr[x], slab_group_ptr[x + 1]
        _front(masses, places, group_ptr, primary, kept, rhs, ridge, first, last, count, front, side, weight, touched)
        for k in range(count):
            side[k] += rhs[local_rows[local_ptr[x] + k]]
            if ridge.size:
                front[k, k] += ridge[local_rows[local_ptr[x] + k]]
            scale[k] = front[k, k]
        _take_coupling(masses, places, group_ptr, primary, kept, ridge, first, last, count, here, side)
        _eliminate(front, side, count, count, scale)
        # back substitution: the rows below are known
        for k in range(count - 1, -1, -1):
            value = side[k]
            for j in range(k + 1, count):
                value -= front[k, j] * here[j]
            here[k] = value / front[k, k] if front[k, k] > 0.0 else 0.0
            out[local_rows[local_ptr[x] + k]] = here[k]
        _solve_primary(masses, places, group_ptr, primary, kept, rhs, ridge, first, last, here, out)


@compiled
def _take_coupling(
    masses: FloatArray,
    places: IntArray,
    group_ptr: IntArray,
    primary: IntArray,
    kept: BoolArray,
    ridge: FloatArray,
    first: int,
    last: int,
    count: int,
    here: FloatArray,
    side: FloatArray,
) -> None:
    """Subtract the known solution on the coupling rows from the right-hand side of the local rows."""
    width = places.shape[1]
    for g in range(first, last):
        total = ridge[primary[g]] if ridge.size else 0.0
        pull = 0.0
        for i in range(group_ptr[g], group_ptr[g + 1]):
            total += masses[i]
            for j in range(width):
                if places[i, j] >= count:
                    pull += masses[i] * here[places[i, j]]
        mean = pull / total if kept[g] and total > NO_MASS else 0.0
        for i in range(group_ptr[g], group_ptr[g + 1]):
            # what the coupling rows move of a profile, less the mean over its primary row
            own = -mean
            for j in range(width):
                if places[i, j] >= count:
                    own += here[places[i, j]]
            for j in range(width):
                if 0 <= places[i, j] < count:
                    side[places[i, j]] -= masses[i] * own


@compiled
def _solve_primary(
    masses: FloatArray,
    places: IntArray,
    group_ptr: IntArray,
    primary: IntArray,
    kept: BoolArray,
    rhs: FloatArray,
    ridge: FloatArray,
    first: int,
    last: int,
    here: FloatArray,
    out: FloatArray,
) -> None:
    width = places.shape[1]
    for g in range(first, last):
        if not kept[g]:
            continue
        total = ridge[primary[g]] if ridge.size else 0.0
        pull = 0.0
        for i in range(group_ptr[g], group_ptr[g + 1]):
            total += masses[i]
            for j in range(width):
                if places[i, j] >= 0:
                    pull += masses[i] * here[places[i, j]]
        out[primary[g]] = (rhs[primary[g]] - pull) / total if total > NO_MASS else 0.0
