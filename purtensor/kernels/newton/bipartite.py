"""Newton's equations on slabs of two crossing constraints, many slabs at a time: assembled, then substituted back.

The coupling row of a profile depends on its cell of the slab alone. PUR is of this kind.
"""

from __future__ import annotations

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.newton.bipartite_elimination import (
    LANES,
    carve,
    eliminate_slabs,
    lanes_of,
    lay_out,
    load_slabs,
    strip,
)


def workspace_size(shape: tuple[int, int], count: int, coupled: int) -> int:
    """Return how many numbers `assemble_bipartite` and `substitute_bipartite` need to work in.

    Kept between calls: on small tables fresh memory would cost more than the arithmetic.
    """
    cells = shape[0] * shape[1]
    pairs = coupled * (coupled + 1) // 2
    return LANES * (
        3 * cells + 3 * shape[0] + 3 * shape[1] + count * count + 2 * count + (2 * count + 1) * coupled + pairs
    )


@compiled
def assemble_bipartite(
    masses: FloatArray,
    code: IntArray,
    slab_ptr: IntArray,
    primary: IntArray,
    other: IntArray,
    rhs: FloatArray,
    used: IntArray,
    cells: IntArray,
    shape: tuple[int, int],
    begin: int,
    end: int,
    with_matrix: bool,
    work: FloatArray,
    matrix: FloatArray,
    vector: FloatArray,
) -> None:
    """Add the slabs begin .. end - 1 to the coupling matrix over `cells` (upper triangle) and its right-hand side."""
    rows, columns = shape
    count, coupled = used.size, cells.size
    row_of, column_of = cells // columns, cells % columns
    p, q, rest, inverse, right, mask, side, m, pivot, at = lay_out(work, rows, columns, count)
    y, at = strip(work, at, count)
    u, at = carve(work, at, coupled, count)
    scaled, at = carve(work, at, coupled, count)
    lanes_vector, at = strip(work, at, coupled)
    lanes_matrix, at = strip(work, at, coupled * (coupled + 1) // 2)
    # sums over all rounds, lane by lane, which are added up once at the end
    lanes_vector[:] = 0.0
    lanes_matrix[:] = 0.0
    for start in range(begin, end, LANES):
        stop = min(start + LANES, end)
        lanes = lanes_of(stop - start)
        load_slabs(
            masses, code, slab_ptr, primary, other, rhs, start, stop, p, q, rest, inverse, right, mask, side, lanes
        )
        eliminate_slabs(p, q, rest, right, mask, used, side, m, pivot, lanes)
        for a in range(count):
            for w in range(lanes):
                # forward substitution with L, which has ones on its diagonal
                y[a, w] = side[used[a], w]
            for b in range(a):
                for w in range(lanes):
                    y[a, w] -= m[b, a, w] * y[b, w]
        _forward(p, q, rest, mask, used, row_of, column_of, m, pivot, u, scaled, lanes)
        for c in range(coupled):
            i, j = row_of[c], column_of[c]
            for w in range(lanes):
                # by the primary rows, then by the others (notes/newton.md, equations 4 and 5)
                lanes_vector[c, w] -= q[i, j, w] * right[i, w]
            for a in range(count):
                for w in range(lanes):
                    lanes_vector[c, w] -= scaled[c, a, w] * y[a, w]
        # for another right-hand side at the same masses the matrix is factorised already
        if with_matrix:
            _add_products(p, q, rest, u, scaled, row_of, column_of, lanes_matrix, lanes)
    place = 0
    for c in range(coupled):
        # over the lanes in their order: the bits do not depend on the chunks of others
        vector[c] += lanes_vector[c].sum()
        for d in range(c, coupled):
            matrix[c, d] += lanes_matrix[place].sum()
            place += 1


@compiled
def _forward(
    p: FloatArray,
    q: FloatArray,
    rest: FloatArray,
    mask: FloatArray,
    used: IntArray,
    row_of: IntArray,
    column_of: IntArray,
    m: FloatArray,
    pivot: FloatArray,
    u: FloatArray,
    scaled: FloatArray,
    lanes: int,
) -> None:
    """Write L^-1 times the covariance of each coupling cell with the other rows into `u`, and D^-1 u into `scaled`."""
    coupled, count, _ = u.shape
    for c in range(coupled):
        i, j = row_of[c], column_of[c]
        for a in range(count):
            k = used[a]
            if k == j:
                for w in range(lanes):
                    # p (1 - q), the variance, where the coupling cell lies in the column itself
                    u[c, a, w] = p[i, j, w] * rest[i, j, w] * mask[k, w]
            else:
                for w in range(lanes):
                    # a covariance of two cells of one row; cells of different rows have none
                    u[c, a, w] = -p[i, j, w] * q[i, k, w] * mask[k, w]
            for b in range(a):
                for w in range(lanes):
                    u[c, a, w] -= m[b, a, w] * u[c, b, w]
            for w in range(lanes):
                scaled[c, a, w] = u[c, a, w] * pivot[a, w]


@compiled
def _add_products(
    p: FloatArray,
    q: FloatArray,
    rest: FloatArray,
    u: FloatArray,
    scaled: FloatArray,
    row_of: IntArray,
    column_of: IntArray,
    lanes_matrix: FloatArray,
    lanes: int,
) -> None:
    """Add what the slabs in the lanes contribute to the coupling matrix: own covariance less what is eliminated.

    Four pivots are taken at a time, so that the sums are load and stored a quarter as often.
    """
    coupled, count, _ = u.shape
    fours = count - count % 4
    place = 0
    for c in range(coupled):
        i, j = row_of[c], column_of[c]
        for d in range(c, coupled):
            if d == c:
                for w in range(lanes):
                    lanes_matrix[place, w] += p[i, j, w] * rest[i, j, w]
            # coupling cells of different rows are independent given the primary rows
            elif row_of[d] == i:
                k = column_of[d]
                for w in range(lanes):
                    lanes_matrix[place, w] -= p[i, j, w] * q[i, k, w]
            for a in range(0, fours, 4):
                for w in range(lanes):
                    lanes_matrix[place, w] -= (
                        scaled[c, a, w] * u[d, a, w]
                        + scaled[c, a + 1, w] * u[d, a + 1, w]
                        + scaled[c, a + 2, w] * u[d, a + 2, w]
                        + scaled[c, a + 3, w] * u[d, a + 3, w]
                    )
            for a in range(fours, count):
                for w in range(lanes):
                    lanes_matrix[place, w] -= scaled[c, a, w] * u[d, a, w]
            place += 1


@compiled
def substitute_bipartite(
    masses: FloatArray,
    code: IntArray,
    slab_ptr: IntArray,
    primary: IntArray,
    other: IntArray,
    rhs: FloatArray,
    used: IntArray,
    theta: FloatArray,
    begin: int,
    end: int,
    work: FloatArray,
    out: FloatArray,
) -> None:
    """Write the solution on the rows of the slabs begin .. end - 1, given the coupling potentials of each cell."""
    rows, columns = theta.shape
    count = used.size
    p, q, rest, inverse, right, mask, side, m, pivot, at = lay_out(work, rows, columns, count)
    mean, at = strip(work, at, rows)
    x, at = strip(work, at, columns)
    for start in range(begin, end, LANES):
        stop = min(start + LANES, end)
        lanes = lanes_of(stop - start)
        load_slabs(
            masses, code, slab_ptr, primary, other, rhs, start, stop, p, q, rest, inverse, right, mask, side, lanes
        )
        mean[:] = 0.0
        for i in range(rows):
            for j in range(columns):
                for w in range(lanes):
                    # the mean of the coupling potentials over the row, which the primary row takes up
                    mean[i, w] += q[i, j, w] * theta[i, j]
            for j in range(columns):
                for w in range(lanes):
                    side[j, w] -= p[i, j, w] * (theta[i, j] - mean[i, w])
        eliminate_slabs(p, q, rest, right, mask, used, side, m, pivot, lanes)
        x[:] = 0.0
        for a in range(count):
            for w in range(lanes):
                x[used[a], w] = side[used[a], w]
            for b in range(a):
                for w in range(lanes):
                    x[used[a], w] -= m[b, a, w] * x[used[b], w]
        for a in range(count - 1, -1, -1):
            for w in range(lanes):
                # D^-1, then L^T from the last row up
                x[used[a], w] *= pivot[a, w]
            for b in range(a + 1, count):
                for w in range(lanes):
                    x[used[a], w] -= m[a, b, w] * x[used[b], w]
        for i in range(rows):
            for w in range(lanes):
                # from here on `mean` holds the solution on the primary rows
                mean[i, w] = right[i, w] * inverse[i, w] - mean[i, w]
            for j in range(columns):
                for w in range(lanes):
                    mean[i, w] -= q[i, j, w] * x[j, w]
        for w in range(stop - start):
            for i in range(rows):
                # -1 where the slab has no such row; lanes that only fill up the round are not read
                if primary[start + w, i] >= 0:
                    out[primary[start + w, i]] = mean[i, w]
            for j in range(columns):
                if other[start + w, j] >= 0:
                    out[other[start + w, j]] = x[j, w]
