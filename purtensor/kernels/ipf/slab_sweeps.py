"""One pass over memory a sweep of iterative proportional fitting, on slabs of two crossing constraints.

In such a slab every profile lies in a cell (i, j): i is its row of constraint A, j its row of constraint B, and the
rows of all other constraints, the outside ones, depend on (i, j) alone. PUR is of this kind. Masses are never scaled
in memory: they are base * theta[i, j] * u[i] * v[j], and a step writes the factors of its rows afresh, such as
u = target / sum over j of base * theta * v. A pass reads each slab once, does both steps on it, and adds its cells to
a small table, on which the outside steps are done between the passes (notes/ipf.md, equation 5).

Eight slabs lie side by side in the last axis of every array; cells and rows that do not occur have mass and target 0.
Factors are kept of two sweeps, so that what the last one gained can be told without having been measured on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.elementary import scale_by_exp
from purtensor.kernels.simd import WIDTH, distance, eight, larger, load, quotient, store

BOTH = 0
ONLY_A = 1
ONLY_B = 2

_PROFILES_AT_ONCE = 1024


class Layout(NamedTuple):
    """Where rows and targets lie: B blocks of eight slabs of I x J cells, m outside constraints of R rows in all.

    Attributes
    ----------
    rows_a, rows_b
        Shapes (B, I, 8) and (B, J, 8): which of all rows, -1 where there is none.
    targets_a, targets_b
        Of the same shapes: 0 where there is no row.
    cell_rows
        Shape (m, I, J): which of the R rows each cell belongs to; any where the cell does not occur.
    outside_ptr, outside_rows, outside_targets
        Where the rows of each outside constraint begin among the R, shape (m + 1,); which of all rows they are, and
        their targets, shape (R,).
    """

    rows_a: IntArray
    rows_b: IntArray
    targets_a: FloatArray
    targets_b: FloatArray
    cell_rows: IntArray
    outside_ptr: IntArray
    outside_rows: IntArray
    outside_targets: FloatArray


class State(NamedTuple):
    """What a sweep changes; the factors of sweep n are in half n % 2.

    Attributes
    ----------
    t
        The potentials at the last fold.
    base
        Shape (B, I, J, 8): the masses at the last fold.
    theta
        Shape (I, J): the product of the outside factors of each cell.
    u, v, w
        Factors since the last fold, shapes (2, B, I, 8), (2, B, J, 8) and (2, R).
    table
        Shape (I, J): the masses of each cell, over all slabs.
    """

    t: FloatArray
    base: FloatArray
    theta: FloatArray
    u: FloatArray
    v: FloatArray
    w: FloatArray
    table: FloatArray


@compiled
def sum_octet(octet: FloatArray, room: FloatArray) -> float:
    """Return the sum of an octet; `room`, shape (8,), is overwritten."""
    store(room, octet)
    return float(room.sum())


@compiled
def largest_of_octet(octet: FloatArray, room: FloatArray) -> float:
    """Return the largest number of an octet; `room`, shape (8,), is overwritten."""
    store(room, octet)
    return float(room.max())


@compiled
def place_masses(
    reference: FloatArray,
    index: IntArray,
    offsets: IntArray,
    t: FloatArray,
    slab_ptr: IntArray,
    a: int,
    local_a: IntArray,
    b: int,
    local_b: IntArray,
    begin: int,
    end: int,
    base: FloatArray,
) -> None:
    """Write reference * exp(C^T t) into the cells of the blocks begin .. end - 1."""
    # cells that do not occur have mass 0
    base[begin:end] = 0.0
    exponents = np.empty(_PROFILES_AT_ONCE)
    x = begin * WIDTH
    last = slab_ptr[min(end * WIDTH, slab_ptr.size - 1)]
    for start in range(slab_ptr[x], last, _PROFILES_AT_ONCE):
        count = min(_PROFILES_AT_ONCE, last - start)
        exponents[:count] = 0.0
        for k in range(index.shape[0]):
            part = t[offsets[k] : offsets[k + 1]]
            row = index[k, start : start + count]
            for n in range(count):
                exponents[n] += part[row[n]]
        scale_by_exp(reference[start : start + count], exponents[:count])
        for n in range(count):
            # profiles lie slab by slab, so the slab only ever grows; empty slabs are passed
            while start + n >= slab_ptr[x + 1]:
                x += 1
            i, j = local_a[index[a, start + n]], local_b[index[b, start + n]]
            # added: several profiles may share a cell
            base[x // WIDTH, i, j, x % WIDTH] += exponents[n]


@compiled
def _fit_a(base: FloatArray, theta: FloatArray, v: FloatArray, targets: FloatArray, u: FloatArray) -> None:
    """Write the factors that make a block meet its targets of constraint A, 1 for rows without mass."""
    for i in range(theta.shape[0]):
        cells, factors = base[i], theta[i]
        total = eight(0.0)
        for j in range(theta.shape[1]):
            # along a row of cells: eight slabs a step, their sums in one register
            total = total + load(cells[j]) * factors[j] * load(v[j])
        store(u[i], quotient(load(targets[i]), total, eight(1.0)))


@compiled
def _fit_b(base: FloatArray, theta: FloatArray, u: FloatArray, targets: FloatArray, v: FloatArray) -> None:
    """Write the factors that make a block meet its targets of constraint B, 1 for rows without mass."""
    for j in range(theta.shape[1]):
        total = eight(0.0)
        for i in range(theta.shape[0]):
            total = total + load(base[i, j]) * theta[i, j] * load(u[i])
        store(v[j], quotient(load(targets[j]), total, eight(1.0)))


@compiled
def _add_cells(base: FloatArray, u: FloatArray, v: FloatArray, sums: FloatArray) -> None:
    """Add the cells of a block, without theta, to sums of shape (I, J, 8)."""
    for i in range(sums.shape[0]):
        cells, row = base[i], sums[i]
        factor = load(u[i])
        for j in range(sums.shape[1]):
            store(row[j], load(row[j]) + load(cells[j]) * factor * load(v[j]))


@compiled
def pass_over(layout: Layout, state: State, now: int, steps: int, begin: int, end: int, table: FloatArray) -> None:
    """Do the steps of A, of B, or of A and then B on the blocks begin .. end - 1; write the sums of the cells.

    The factors of the half `now` are written, from those of the other where they have not been written yet. Without
    a step of B the table is left as it is.
    """
    before = 1 - now
    theta = state.theta
    sums = np.zeros((table.shape[0], table.shape[1], WIDTH))
    outside = layout.cell_rows.shape[0] > 0
    for x in range(begin, end):
        base = state.base[x]
        u, v = state.u[now, x], state.v[now, x]
        if steps == BOTH:
            # A reads the factors of B from the sweep before, whose half is not written in this one
            _fit_a(base, theta, state.v[before, x], layout.targets_a[x], u)
        elif steps == ONLY_A:
            _fit_a(base, theta, v, layout.targets_a[x], u)
        else:
            # B first: the step of A comes after the outside ones
            u = state.u[before, x]
        if steps != ONLY_A:
            _fit_b(base, theta, u, layout.targets_b[x], v)
            if outside:
                _add_cells(base, u, v, sums)
    if steps != ONLY_A:
        _close_table(theta, sums, table)


@compiled
def _close_table(theta: FloatArray, sums: FloatArray, table: FloatArray) -> None:
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            # theta once a cell rather than once a profile
            table[i, j] = theta[i, j] * sums[i, j].sum()


@compiled
def outside_step(layout: Layout, state: State, now: int, k: int) -> None:
    """Do the step of outside constraint k on the table, and take its factors into `w` and `theta`."""
    begin, end = layout.outside_ptr[k], layout.outside_ptr[k + 1]
    rows = layout.cell_rows[k]
    table, theta, w = state.table, state.theta, state.w[now]
    # the sums of the rows, then in their place the factors
    factor = np.zeros(end - begin)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            factor[rows[i, j] - begin] += table[i, j]
    for r in range(begin, end):
        total = factor[r - begin]
        factor[r - begin] = layout.outside_targets[r] / total if total > 0.0 else 1.0
        w[r] *= factor[r - begin]
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            table[i, j] *= factor[rows[i, j] - begin]
            # multiplied afresh from `w`: scaled in place it would drift off the potentials
            theta[i, j] = 1.0
            for m in range(layout.cell_rows.shape[0]):
                theta[i, j] *= w[layout.cell_rows[m, i, j]]


@compiled
def outside_misses(layout: Layout, table: FloatArray) -> tuple[float, float]:
    """Return the largest miss of an outside target and the L1 miss of the worst outside constraint; NaN passes on."""
    largest = 0.0
    worst = 0.0
    for k in range(layout.cell_rows.shape[0]):
        begin, end = layout.outside_ptr[k], layout.outside_ptr[k + 1]
        rows = layout.cell_rows[k]
        # the sums are added to minus the targets, which leaves the misses
        gaps = -layout.outside_targets[begin:end]
        for i in range(rows.shape[0]):
            for j in range(rows.shape[1]):
                gaps[rows[i, j] - begin] += table[i, j]
        total = 0.0
        for gap in gaps:
            largest = max(largest, abs(gap))
            total += abs(gap)
        if not np.isfinite(total):
            return np.nan, np.nan
        worst = max(worst, total)
    return largest, worst


@compiled
def measure_blocks(
    layout: Layout, state: State, now: int, begin: int, end: int, table: FloatArray, misses: FloatArray
) -> None:
    """Write the sums of the cells over the blocks begin .. end - 1, and how far A and B are from their targets there.

    `misses` gets the largest miss of A and of B, and the L1 misses of both.
    """
    theta = state.theta
    sums = np.zeros((table.shape[0], table.shape[1], WIDTH))
    largest_a, largest_b, sum_a, sum_b = eight(0.0), eight(0.0), eight(0.0), eight(0.0)
    for x in range(begin, end):
        base, u, v = state.base[x], state.u[now, x], state.v[now, x]
        for i in range(theta.shape[0]):
            factor = load(u[i])
            total = eight(0.0)
            for j in range(theta.shape[1]):
                cell = load(base[i, j]) * factor * load(v[j])
                store(sums[i, j], load(sums[i, j]) + cell)
                total = total + cell * theta[i, j]
            gap = distance(total, load(layout.targets_a[x, i]))
            sum_a = sum_a + gap
            largest_a = larger(gap, largest_a)
        for j in range(theta.shape[1]):
            total = eight(0.0)
            for i in range(theta.shape[0]):
                # as `_fit_b` sums, so that a block just fitted misses nothing but the rounding of one product
                total = total + load(base[i, j]) * theta[i, j] * load(u[i])
            gap = distance(total * load(v[j]), load(layout.targets_b[x, j]))
            sum_b = sum_b + gap
            largest_b = larger(gap, largest_b)
    _close_table(theta, sums, table)
    room = np.empty(WIDTH)
    misses[0] = largest_of_octet(largest_a, room)
    misses[1] = largest_of_octet(largest_b, room)
    misses[2] = sum_octet(sum_a, room)
    misses[3] = sum_octet(sum_b, room)
