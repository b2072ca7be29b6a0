"""Newton's equations on slabs of two crossing constraints, many slabs at a time.

In such a slab every profile is a cell (i, j) of a small matrix: i is its row of the primary constraint, j its row
of the other, and the coupling row depends on (i, j) alone. PUR is of this kind. LANES slabs go through the same
elimination side by side, in the last and contiguous axis of every array, so that the compiler uses vector
instructions; a dependent row is masked, not skipped. The arithmetic is that of purtensor.kernels.arrowhead.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.arrowhead import PIVOT_FLOOR

LANES = 64


@compiled
def _load(
    masses: FloatArray,
    code: IntArray,
    slab_ptr: IntArray,
    primary: IntArray,
    other: IntArray,
    rhs: FloatArray,
    begin: int,
    end: int,
    p: FloatArray,
    q: FloatArray,
    rest: FloatArray,
    inverse: FloatArray,
    right: FloatArray,
    mask: FloatArray,
    side: FloatArray,
) -> None:
    """Fill the lanes with the slabs begin .. end - 1: masses p, shares q = p / sum_j p, rest = 1 - q, right sides."""
    rows, columns, lanes = p.shape
    flat = p.reshape(rows * columns, lanes)
    p[:] = 0.0
    mask[:] = 0.0
    side[:] = 0.0
    right[:] = 0.0
    for w in range(end - begin):
        x = begin + w
        for n in range(slab_ptr[x], slab_ptr[x + 1]):
            flat[code[n], w] += masses[n]
        for i in range(rows):
            row = primary[x, i]
            if row >= 0:
                right[i, w] = rhs[row]
        for j in range(columns):
            row = other[x, j]
            if row >= 0:
                mask[j, w] = 1.0
                side[j, w] = rhs[row]
    for i in range(rows):
        for w in range(lanes):
            inverse[i, w] = 0.0
        for j in range(columns):
            for w in range(lanes):
                inverse[i, w] += p[i, j, w]
        for w in range(lanes):
            inverse[i, w] = 1.0 / inverse[i, w] if inverse[i, w] > 0.0 else 0.0
        for j in range(columns):
            for w in range(lanes):
                q[i, j, w] = p[i, j, w] * inverse[i, w]
                rest[i, j, w] = 0.0
        for j in range(columns):
            for k in range(columns):
                if k != j:
                    for w in range(lanes):
                        rest[i, j, w] += q[i, k, w]


@compiled
def _factorize(
    p: FloatArray,
    q: FloatArray,
    rest: FloatArray,
    right: FloatArray,
    mask: FloatArray,
    used: IntArray,
    side: FloatArray,
    m: FloatArray,
    pivot: FloatArray,
) -> None:
    """Eliminate the primary rows, then factorize what is left of the others as L D L^T.

    `m` gets L above its diagonal, `pivot` 1 / D (0 where the pivot is rounding), `side` the right-hand side after
    the primary rows. The diagonal is a sum of positive terms: 1 - q is taken as the other shares.
    """
    rows, _, lanes = p.shape
    count = used.size
    for a in range(count):
        j = used[a]
        for w in range(lanes):
            pivot[a, w] = 0.0
        for i in range(rows):
            for w in range(lanes):
                side[j, w] -= q[i, j, w] * right[i, w]
                pivot[a, w] += p[i, j, w] * rest[i, j, w]
        for w in range(lanes):
            side[j, w] *= mask[j, w]
            m[a, a, w] = pivot[a, w] * mask[j, w] + (1.0 - mask[j, w])
            pivot[a, w] = m[a, a, w] * PIVOT_FLOOR
        for b in range(a + 1, count):
            k = used[b]
            for w in range(lanes):
                m[a, b, w] = 0.0
            for i in range(rows):
                for w in range(lanes):
                    m[a, b, w] -= p[i, j, w] * q[i, k, w]
            for w in range(lanes):
                m[a, b, w] *= mask[j, w] * mask[k, w]
    for a in range(count):
        for w in range(lanes):
            pivot[a, w] = 1.0 / m[a, a, w] if m[a, a, w] > pivot[a, w] else 0.0
        for b in range(a + 1, count):
            for w in range(lanes):
                m[b, a, w] = m[a, b, w] * pivot[a, w]
        for b in range(a + 1, count):
            for c in range(b, count):
                for w in range(lanes):
                    m[b, c, w] -= m[b, a, w] * m[a, c, w]
        for b in range(a + 1, count):
            for w in range(lanes):
                m[a, b, w] = m[b, a, w]


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
    matrix: FloatArray,
    vector: FloatArray,
) -> None:
    """Add the slabs begin .. end - 1 to the coupling matrix over `cells` (upper triangle) and its right-hand side."""
    rows, columns = shape
    count, coupled = used.size, cells.size
    row_of, column_of = cells // columns, cells % columns
    p = np.empty((rows, columns, LANES))
    q = np.empty((rows, columns, LANES))
    rest = np.empty((rows, columns, LANES))
    inverse = np.empty((rows, LANES))
    right = np.empty((rows, LANES))
    mask = np.empty((columns, LANES))
    side = np.empty((columns, LANES))
    m = np.empty((count, count, LANES))
    pivot = np.empty((count, LANES))
    y = np.empty((count, LANES))
    u = np.empty((coupled, count, LANES))
    lanes_matrix = np.zeros((coupled, coupled, LANES))
    lanes_vector = np.zeros((coupled, LANES))
    for start in range(begin, end, LANES):
        _load(masses, code, slab_ptr, primary, other, rhs, start, min(start + LANES, end), p, q, rest, inverse, right,
              mask, side)  # fmt: skip
        _factorize(p, q, rest, right, mask, used, side, m, pivot)
        for a in range(count):
            for w in range(LANES):
                y[a, w] = side[used[a], w]
            for b in range(a):
                for w in range(LANES):
                    y[a, w] -= m[b, a, w] * y[b, w]
        for c in range(coupled):
            i, j = row_of[c], column_of[c]
            for a in range(count):
                k = used[a]
                for w in range(LANES):
                    own = rest[i, j, w] if k == j else -q[i, k, w]
                    u[c, a, w] = p[i, j, w] * own * mask[k, w]
                for b in range(a):
                    for w in range(LANES):
                        u[c, a, w] -= m[b, a, w] * u[c, b, w]
            for w in range(LANES):
                lanes_vector[c, w] -= q[i, j, w] * right[i, w]
            for a in range(count):
                for w in range(LANES):
                    lanes_vector[c, w] -= u[c, a, w] * pivot[a, w] * y[a, w]
        if with_matrix:
            _add_products(p, q, rest, u, pivot, row_of, column_of, lanes_matrix)
    for c in range(coupled):
        vector[c] += lanes_vector[c].sum()
        for d in range(c, coupled):
            matrix[c, d] += lanes_matrix[c, d].sum()


@compiled
def _add_products(
    p: FloatArray,
    q: FloatArray,
    rest: FloatArray,
    u: FloatArray,
    pivot: FloatArray,
    row_of: IntArray,
    column_of: IntArray,
    lanes_matrix: FloatArray,
) -> None:
    """Add what the slabs in the lanes contribute to the coupling matrix: own covariance less what is eliminated.

    Four pivots are taken at a time, so that the sums are loaded and stored a quarter as often.
    """
    coupled, count, lanes = u.shape
    scaled = np.empty((count, lanes))
    fours = count - count % 4
    for c in range(coupled):
        i, j = row_of[c], column_of[c]
        for a in range(count):
            for w in range(lanes):
                scaled[a, w] = u[c, a, w] * pivot[a, w]
        for w in range(lanes):
            lanes_matrix[c, c, w] += p[i, j, w] * rest[i, j, w]
        for d in range(c + 1, coupled):
            if row_of[d] == i:
                for w in range(lanes):
                    lanes_matrix[c, d, w] -= p[i, j, w] * q[i, column_of[d], w]
        for d in range(c, coupled):
            total = lanes_matrix[c, d]
            for a in range(0, fours, 4):
                s0, s1, s2, s3 = scaled[a], scaled[a + 1], scaled[a + 2], scaled[a + 3]
                u0, u1, u2, u3 = u[d, a], u[d, a + 1], u[d, a + 2], u[d, a + 3]
                for w in range(lanes):
                    total[w] -= (s0[w] * u0[w] + s1[w] * u1[w]) + (s2[w] * u2[w] + s3[w] * u3[w])
            for a in range(fours, count):
                s0, u0 = scaled[a], u[d, a]
                for w in range(lanes):
                    total[w] -= s0[w] * u0[w]


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
    out: FloatArray,
) -> None:
    """Write the solution on the rows of the slabs begin .. end - 1, given the coupling potentials of each cell."""
    rows, columns = theta.shape
    count = used.size
    p = np.empty((rows, columns, LANES))
    q = np.empty((rows, columns, LANES))
    rest = np.empty((rows, columns, LANES))
    inverse = np.empty((rows, LANES))
    right = np.empty((rows, LANES))
    mask = np.empty((columns, LANES))
    side = np.empty((columns, LANES))
    m = np.empty((count, count, LANES))
    pivot = np.empty((count, LANES))
    mean = np.empty((rows, LANES))
    x = np.empty((columns, LANES))
    for start in range(begin, end, LANES):
        stop = min(start + LANES, end)
        _load(masses, code, slab_ptr, primary, other, rhs, start, stop, p, q, rest, inverse, right, mask, side)
        mean[:] = 0.0
        for i in range(rows):
            for j in range(columns):
                for w in range(LANES):
                    mean[i, w] += q[i, j, w] * theta[i, j]
            for j in range(columns):
                for w in range(LANES):
                    side[j, w] -= p[i, j, w] * (theta[i, j] - mean[i, w])
        _factorize(p, q, rest, right, mask, used, side, m, pivot)
        x[:] = 0.0
        for a in range(count):
            for w in range(LANES):
                x[used[a], w] = side[used[a], w]
            for b in range(a):
                for w in range(LANES):
                    x[used[a], w] -= m[b, a, w] * x[used[b], w]
        for a in range(count - 1, -1, -1):
            for w in range(LANES):
                x[used[a], w] *= pivot[a, w]
            for b in range(a + 1, count):
                for w in range(LANES):
                    x[used[a], w] -= m[a, b, w] * x[used[b], w]
        for i in range(rows):
            for w in range(LANES):
                mean[i, w] = right[i, w] * inverse[i, w] - mean[i, w]
            for j in range(columns):
                for w in range(LANES):
                    mean[i, w] -= q[i, j, w] * x[j, w]
        for w in range(stop - start):
            for i in range(rows):
                if primary[start + w, i] >= 0:
                    out[primary[start + w, i]] = mean[i, w]
            for j in range(columns):
                if other[start + w, j] >= 0:
                    out[other[start + w, j]] = x[j, w]
