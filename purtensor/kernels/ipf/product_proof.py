"""What proves the masses of dense products of slabs, and the terms that all proofs of dense tables are sums of.

Blocks are those of `purtensor.kernels.ipf.product_slabs`.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.ipf.product_slabs import ROUND, add_lanes, take_up
from purtensor.kernels.newton.proof import UNIT
from purtensor.kernels.simd import WIDTH, distance, eight, larger, load, quotient, store

SERIES = 1e-2
"""Relative changes up to here are bounded by the first terms of series."""


@compiled
def proof_terms(
    mass: FloatArray, one: FloatArray, other: FloatArray, third: FloatArray, apart: FloatArray, rounding: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return what octets of cells add to the sums of a certificate (notes/certificate.md, equations 8 and 9).

    With c = p m, m the sum of the three tilts, and w = (c + e) / p, |e| / p at most `apart`, these are a bound of |w|,
    of p phi(w) and of the gap, and c; they hold while |w| is below `SERIES`.
    """
    tilt = one + other + third
    bent = distance(tilt, eight(0.0)) * (1.0 + 4.0 * UNIT)
    w = bent + apart
    upper = mass * w * w * (w * (w * 0.1 + eight(1.0 / 6.0)) + eight(0.5))
    weights = distance(one, eight(0.0)) + distance(other, eight(0.0)) + distance(third, eight(0.0))
    near = (bent * 2.0 + weights * 3.0) * (4.0 * UNIT) + rounding
    away = (apart + w * w * 0.51) * 1.011 + near
    gap = mass * (w + eight(1.0)) * away * away * (away + eight(1.0)) * 0.5
    return w, upper, gap, mass * tilt


@compiled
def _miss_rows(
    cells: FloatArray,
    tilts: FloatArray,
    of_a: FloatArray,
    of_b: FloatArray,
    targets_a: FloatArray,
    targets_b: FloatArray,
    inner: FloatArray,
    rest_a: FloatArray,
    rest_b: FloatArray,
    lefts: FloatArray,
) -> None:
    """Write what p + c misses of a block's rows at most, with c = p C^T m; add the cells and the misses to sums."""
    rows, columns = tilts.shape
    for j in range(columns):
        store(rest_b[j], eight(0.0))
    for i in range(rows):
        total = eight(0.0)
        for j in range(columns):
            mass = load(cells[i, j])
            moved = mass + mass * (load(of_a[i]) + load(of_b[j]) + eight(tilts[i, j]))
            total = total + moved
            store(rest_b[j], load(rest_b[j]) + moved)
            store(inner[i, j], load(inner[i, j]) + moved)
        target = load(targets_a[i])
        gap = distance(total, target)
        store(lefts[0], load(lefts[0]) + gap)
        store(rest_a[i], gap + (total + target) * ((columns + 4.0) * UNIT))
    for j in range(columns):
        total, target = load(rest_b[j]), load(targets_b[j])
        gap = distance(total, target)
        store(lefts[1], load(lefts[1]) + gap)
        store(rest_b[j], gap + (total + target) * ((rows + 4.0) * UNIT))


@compiled
def prove_blocks(
    masses: FloatArray,
    tilts: FloatArray,
    tilts_a: FloatArray,
    tilts_b: FloatArray,
    targets_a: FloatArray,
    targets_b: FloatArray,
    closing: int,
    closes: bool,
    extra: FloatArray,
    rounding: float,
    begin: int,
    end: int,
    sums: FloatArray,
    rests: FloatArray,
    out: FloatArray,
) -> None:
    """Write the sums that prove a certificate over the blocks begin .. end - 1.

    With c = p C^T m, stars of profiles meet what p + c misses of the rows of each slab: the first row of cells takes
    the misses of B but the last, the last column those of A, and their corner makes up for it. `extra`, shape (I, J),
    is what the slab number `closing` takes beside, whose block is left out of all but `sums`, `rests` and the misses
    where it does not close yet. With w = (c + e) / p, e the rest, `out`, shape (8,), gets the
    largest |w|, bounds of sum p phi(w) and of the gap, sum |c|, sum c, sum |e|, and the misses of A and of B; they hold
    while the largest |w| is below `SERIES`. `sums` gets the cells of p + c, and `rests` those of |e| without `extra`.
    """
    rows, columns = tilts.shape
    inner, outer = np.zeros((rows, columns, WIDTH)), np.zeros((rows, columns, WIDTH))
    rest_a, rest_b, kept = np.empty((rows, WIDTH)), np.empty((columns, WIDTH)), np.zeros((rows, columns, WIDTH))
    lefts = np.zeros((2, WIDTH))
    largest, upper, gap = eight(0.0), eight(0.0), eight(0.0)
    size, moved, left = eight(0.0), eight(0.0), eight(0.0)
    lane = np.empty(WIDTH)
    for x in range(begin, end):
        cells, of_a, of_b = masses[x], tilts_a[x], tilts_b[x]
        if (x - begin) % ROUND == 0:
            take_up(inner, outer)
        _miss_rows(cells, tilts, of_a, of_b, targets_a[x], targets_b[x], inner, rest_a, rest_b, lefts)
        corner = load(rest_a[0])
        for j in range(columns - 1):
            corner = corner + load(rest_b[j])
        store(rest_a[0], corner)
        for j in range(columns - 1):
            store(kept[0, j], load(kept[0, j]) + load(rest_b[j]))
        for i in range(rows):
            store(kept[i, columns - 1], load(kept[i, columns - 1]) + load(rest_a[i]))
        if closing // WIDTH == x and not closes:
            continue
        for i in range(rows):
            for j in range(columns):
                rest = eight(0.0)
                if j == columns - 1:
                    rest = load(rest_a[i])
                elif i == 0:
                    rest = load(rest_b[j])
                if closing // WIDTH == x:
                    lane[:] = 0.0
                    lane[closing % WIDTH] = extra[i, j]
                    rest = rest + load(lane)
                mass = load(cells[i, j])
                apart = quotient(rest, mass, eight(0.0)) * (1.0 + 4.0 * UNIT)
                w, bend, away, change = proof_terms(
                    mass, load(of_a[i]), load(of_b[j]), eight(tilts[i, j]), apart, eight(rounding)
                )
                largest = larger(w, largest)
                upper = upper + bend
                gap = gap + away
                size = size + distance(change, eight(0.0))
                moved = moved + change
                left = left + rest
    take_up(inner, outer)
    add_lanes(outer, sums)
    add_lanes(kept, rests)
    store(lane, largest)
    out[0] = lane.max()
    store(lane, upper)
    out[1] = lane.sum()
    store(lane, gap)
    out[2] = lane.sum()
    store(lane, size)
    out[3] = lane.sum()
    store(lane, moved)
    out[4] = lane.sum()
    store(lane, left)
    out[5] = lane.sum()
    out[6], out[7] = lefts[0].sum(), lefts[1].sum()
