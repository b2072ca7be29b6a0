"""What dense tables with mass in every cell need beside their sweeps: copies in blocks, masses, and linear sweeps.

Blocks are those of `purtensor.kernels.ipf.slab_sweeps`: eight slabs side by side, zeros in slabs that do not exist.
Masses are base * theta[i, j] * u[i] * v[j].
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.ipf.slab_sweeps import largest_of_octet, sum_octet
from purtensor.kernels.simd import WIDTH, distance, eight, larger, load, quotient, store

ROUND = 64
"""Sums over slabs are taken up after so many blocks: their rounding is that of some hundred additions."""


@compiled
def copy_blocks(
    flat: FloatArray,
    starts: IntArray,
    slabs: int,
    scale: float,
    begin: int,
    end: int,
    base: FloatArray,
    out: FloatArray,
) -> None:
    """Copy the slabs of blocks begin .. end - 1, times a scale; write their sum and their least entry to `out`.

    The slabs of cell (i, j) stand in `flat` from `starts[i, j]` on.
    """
    total, least = eight(0.0), eight(-np.inf)
    room, last = np.empty(WIDTH), np.inf
    for first in range(begin, end, WIDTH):
        # blocks of eight existing slabs are copied as octets, the last one number by number
        whole = min(min(first + WIDTH, end), slabs // WIDTH)
        for i in range(starts.shape[0]):
            for j in range(starts.shape[1]):
                row = flat[starts[i, j] : starts[i, j] + slabs]
                for x in range(first, whole):
                    octet = load(row[WIDTH * x :]) * scale
                    store(base[x, i, j], octet)
                    # the largest of the negatives: there is one kind of maximum only
                    least = larger(eight(0.0) - octet, least)
                    total = total + octet
                for x in range(whole, min(first + WIDTH, end)):
                    here = base[x, i, j]
                    here[:] = 0.0
                    for n in range(slabs - WIDTH * x):
                        here[n] = row[WIDTH * x + n] * scale
                        last = min(last, here[n])
                    total = total + load(here)
    out[0] = sum_octet(total, room)
    out[1] = min(-largest_of_octet(least, room), last)


@compiled
def leave_blocks(
    base: FloatArray, scale: float, begin: int, end: int, slabs: int, starts: IntArray, flat: FloatArray
) -> None:
    """Copy the blocks begin .. end - 1, times a scale, to where `copy_blocks` reads them."""
    for first in range(begin, end, WIDTH):
        whole = min(min(first + WIDTH, end), slabs // WIDTH)
        for i in range(starts.shape[0]):
            for j in range(starts.shape[1]):
                row = flat[starts[i, j] : starts[i, j] + slabs]
                for x in range(first, whole):
                    store(row[WIDTH * x :], load(base[x, i, j]) * scale)
                for x in range(whole, min(first + WIDTH, end)):
                    for n in range(slabs - WIDTH * x):
                        row[WIDTH * x + n] = base[x, i, j, n] * scale


@compiled
def take_up(inner: FloatArray, outer: FloatArray) -> None:
    """Add the inner sums of cells to the outer ones, and begin them anew."""
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            # two levels of sums: the rounding of some hundred additions, not of as many as there are slabs
            store(outer[i, j], load(outer[i, j]) + load(inner[i, j]))
            store(inner[i, j], eight(0.0))


@compiled
def add_lanes(outer: FloatArray, sums: FloatArray) -> None:
    """Write the sums of cells over the eight lanes."""
    for i in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            sums[i, j] = outer[i, j].sum()


@compiled
def write_masses(
    base: FloatArray,
    theta: FloatArray,
    u: FloatArray,
    v: FloatArray,
    targets_a: FloatArray,
    targets_b: FloatArray,
    begin: int,
    end: int,
    sums_a: FloatArray,
    sums_b: FloatArray,
    sums: FloatArray,
    out: FloatArray,
) -> None:
    """Multiply the base of the blocks begin .. end - 1 by its factors, and write the sums of rows and cells.

    `out`, shape (5,), gets the largest miss of A and of B, the L1 misses of both, and the smallest factor of a cell.
    """
    inner, outer = np.zeros((*theta.shape, WIDTH)), np.zeros((*theta.shape, WIDTH))
    largest_a, largest_b, all_a, all_b, low = eight(0.0), eight(0.0), eight(0.0), eight(0.0), eight(-np.inf)
    for x in range(begin, end):
        cells, of_b = base[x], sums_b[x]
        for j in range(theta.shape[1]):
            store(of_b[j], eight(0.0))
        for i in range(theta.shape[0]):
            factor = load(u[x, i])
            total = eight(0.0)
            for j in range(theta.shape[1]):
                # what becomes of a mass of the reference: where it is next to nothing, a zero may be forced
                ratio = factor * load(v[x, j]) * theta[i, j]
                mass = load(cells[i, j]) * ratio
                store(cells[i, j], mass)
                low = larger(eight(0.0) - ratio, low)
                total = total + mass
                store(of_b[j], load(of_b[j]) + mass)
                store(inner[i, j], load(inner[i, j]) + mass)
            store(sums_a[x, i], total)
            gap = distance(total, load(targets_a[x, i]))
            all_a = all_a + gap
            largest_a = larger(gap, largest_a)
        for j in range(theta.shape[1]):
            gap = distance(load(of_b[j]), load(targets_b[x, j]))
            all_b = all_b + gap
            largest_b = larger(gap, largest_b)
        if (x - begin) % ROUND == ROUND - 1:
            take_up(inner, outer)
    take_up(inner, outer)
    add_lanes(outer, sums)
    room = np.empty(WIDTH)
    out[0], out[1] = largest_of_octet(largest_a, room), largest_of_octet(largest_b, room)
    out[2], out[3] = sum_octet(all_a, room), sum_octet(all_b, room)
    out[4] = -largest_of_octet(low, room)


@compiled
def linear_sweep(
    masses: FloatArray,
    tilts: FloatArray,
    targets_a: FloatArray,
    targets_b: FloatArray,
    sums_a: FloatArray,
    sums_b: FloatArray,
    relaxation: float,
    tilts_a: FloatArray,
    tilts_b: FloatArray,
    begin: int,
    end: int,
    sums: FloatArray,
) -> float:
    """Solve for the tilts of A and then of B on the blocks begin .. end - 1, all others held; return what they missed.

    Tilts are m in p (1 + C^T m): a step of successive over-relaxation on C diag(p) C^T m = b - C p. `sums` gets what
    the cells are changed by, over all slabs.
    """
    inner, outer = np.zeros((*tilts.shape, WIDTH)), np.zeros((*tilts.shape, WIDTH))
    missed_a, missed_b = eight(0.0), eight(0.0)
    for x in range(begin, end):
        cells, of_a, of_b = masses[x], tilts_a[x], tilts_b[x]
        for i in range(tilts.shape[0]):
            row = load(sums_a[x, i])
            # what the targets exceed the masses by, less what the tilts of the others move
            left = load(targets_a[x, i]) - row
            for j in range(tilts.shape[1]):
                left = left - load(cells[i, j]) * (load(of_b[j]) + eight(tilts[i, j]))
            # empty rows, which pad the last block, get no tilt
            change = quotient(left, row, eight(0.0)) - load(of_a[i])
            missed_a = missed_a + row * distance(change, eight(0.0))
            store(of_a[i], load(of_a[i]) + change * relaxation)
        for j in range(tilts.shape[1]):
            column = load(sums_b[x, j])
            left = load(targets_b[x, j]) - column
            for i in range(tilts.shape[0]):
                left = left - load(cells[i, j]) * (load(of_a[i]) + eight(tilts[i, j]))
            change = quotient(left, column, eight(0.0)) - load(of_b[j])
            missed_b = missed_b + column * distance(change, eight(0.0))
            # Gauss and Seidel's order: B sees the tilts that A has just got
            tilt = load(of_b[j]) + change * relaxation
            store(of_b[j], tilt)
            for i in range(tilts.shape[0]):
                moved = load(cells[i, j]) * (load(of_a[i]) + tilt + eight(tilts[i, j]))
                store(inner[i, j], load(inner[i, j]) + moved)
        if (x - begin) % ROUND == ROUND - 1:
            take_up(inner, outer)
    take_up(inner, outer)
    add_lanes(outer, sums)
    room = np.empty(WIDTH)
    return float(max(sum_octet(missed_a, room), sum_octet(missed_b, room)))
