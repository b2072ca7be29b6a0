"""Sweeps over a dense two-way table: factors of rows and columns over a base that is read once a sweep, not written.

Rows are padded with zeros to whole octets.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.simd import WIDTH, eight, larger, load, store


@compiled
def row_sum(row: FloatArray, v: FloatArray, lanes: FloatArray) -> float:
    """Return the inner product of a row and the factors of the columns; `lanes`, shape (8,), is room for sums."""
    whole = row.size - row.size % (4 * WIDTH)
    a, b, c, d = eight(0.0), eight(0.0), eight(0.0), eight(0.0)
    for j in range(0, whole, 4 * WIDTH):  # one sum would wait for each addition
        a = a + load(row[j:]) * load(v[j:])
        b = b + load(row[j + WIDTH :]) * load(v[j + WIDTH :])
        c = c + load(row[j + 2 * WIDTH :]) * load(v[j + 2 * WIDTH :])
        d = d + load(row[j + 3 * WIDTH :]) * load(v[j + 3 * WIDTH :])
    for j in range(whole, row.size, WIDTH):
        # what is left of the row is added to one of the four sums
        a = a + load(row[j:]) * load(v[j:])
    store(lanes, (a + b) + (c + d))
    return float(((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])))


@compiled
def row_sums(base: FloatArray, v: FloatArray, begin: int, end: int, out: FloatArray) -> None:
    """Write the `row_sum` of the rows begin .. end - 1."""
    lanes = np.empty(WIDTH)
    for i in range(begin, end):
        out[i] = row_sum(base[i], v, lanes)


@compiled
def write_masses(
    base: FloatArray,
    u: FloatArray,
    v: FloatArray,
    columns: int,
    begin: int,
    end: int,
    masses: FloatArray,
    of_rows: FloatArray,
    of_columns: FloatArray,
) -> float:
    """Write the base times its factors in the rows begin .. end - 1, and their sums; return the least number met."""
    least = np.inf
    lanes, ones = np.empty(WIDTH), np.ones(base.shape[1])
    of_columns[:] = 0.0
    for i in range(begin, end):
        factor, row, lowest = eight(u[i]), masses[i], eight(-np.inf)
        for j in range(0, row.size, WIDTH):
            # the least is taken of products on the way, too: one that underflowed has lost its digits
            half = load(base[i, j:]) * factor
            octet = half * load(v[j:])
            store(row[j:], octet)
            store(of_columns[j:], load(of_columns[j:]) + octet)
            if j + WIDTH <= columns:
                lowest = larger(eight(0.0) - octet, larger(eight(0.0) - half, lowest))
            else:  # columns that pad the table do not count
                for n in range(j, columns):
                    least = min(least, min(row[n], base[i, n] * u[i]))
        store(lanes, lowest)
        least = min(least, -lanes.max())
        of_rows[i] = row_sum(row, ones, lanes)
    return least


@compiled
def gram_product(
    base: FloatArray, v: FloatArray, scale: FloatArray, begin: int, end: int, rows: FloatArray, sums: FloatArray
) -> None:
    """Write the inner products of the rows begin .. end - 1 with v, over a scale, and what these times the rows add to.

    So `sums` is base^T diag(1 / scale) base v, in one pass.
    """
    lanes = np.empty(WIDTH)
    sums[:] = 0.0
    # four rows at a time: the sums of the columns are loaded and stored a quarter as often
    fours = begin + (end - begin) // 4 * 4
    for i in range(begin, end):
        # the row is still in the fastest cache when it is added to the columns
        rows[i] = row_sum(base[i], v, lanes) / scale[i]
        if i >= fours:
            _add_one(base[i], rows[i], sums)
        elif (i - begin) % 4 == 3:
            _add_four(base[i - 3 : i + 1], rows[i - 3 : i + 1], sums)


@compiled
def fit_rows_of_base(
    base: FloatArray,
    targets: FloatArray,
    v: FloatArray,
    begin: int,
    end: int,
    u: FloatArray,
    missed: FloatArray,
    sums: FloatArray,
) -> None:
    """Fit the rows begin .. end - 1 to their targets, and write what their base times u sums to in the columns.

    `missed` gets by how much the rows missed their targets before.
    """
    lanes = np.empty(WIDTH)
    sums[:] = 0.0
    fours = begin + (end - begin) // 4 * 4
    for i in range(begin, end):
        found = row_sum(base[i], v, lanes)
        # with the factor before this step: what the sweep before had left
        missed[i] = abs(found * u[i] - targets[i])
        u[i] = targets[i] / found
        if i >= fours:
            _add_one(base[i], u[i], sums)
        elif (i - begin) % 4 == 3:
            _add_four(base[i - 3 : i + 1], u[i - 3 : i + 1], sums)


@compiled
def _add_one(row: FloatArray, u: float, sums: FloatArray) -> None:
    """Add a row times its factor to the sums."""
    factor = eight(u)
    for j in range(0, sums.size, WIDTH):
        store(sums[j:], load(sums[j:]) + load(row[j:]) * factor)


@compiled
def _add_four(rows: FloatArray, u: FloatArray, sums: FloatArray) -> None:
    """Add four rows times their factors to the sums, which are read and written once."""
    a, b, c, d = eight(u[0]), eight(u[1]), eight(u[2]), eight(u[3])
    for j in range(0, sums.size, WIDTH):
        pairs = load(rows[0, j:]) * a + load(rows[1, j:]) * b, load(rows[2, j:]) * c + load(rows[3, j:]) * d
        store(sums[j:], load(sums[j:]) + (pairs[0] + pairs[1]))
