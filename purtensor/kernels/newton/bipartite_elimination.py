"""Slabs of two crossing constraints side by side: their masses load, their rows eliminated.

In such a slab every profile is a cell (i, j) of a small matrix: i is its row of the primary constraint, j its row
of the other. LANES slabs go through the same elimination side by side, in the last and contiguous axis of every
array, so that the compiler uses vector instructions; a dependent row is masked, not skipped. The arithmetic is that
of purtensor.kernels.newton.arrowhead.
"""

from __future__ import annotations

from typing import Any

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.newton.arrowhead import NO_MASS, PIVOT_FLOOR

LANES = 64


@compiled
def carve(work: FloatArray, at: int, rows: int, columns: int) -> tuple[FloatArray, int]:
    """Return a piece of the workspace of shape (rows, columns, LANES), and where the rest begins."""
    end = at + rows * columns * LANES
    return work[at:end].reshape(rows, columns, LANES), end


@compiled
def strip(work: FloatArray, at: int, rows: int) -> tuple[FloatArray, int]:
    """Return a piece of the workspace of shape (rows, LANES), and where the rest begins."""
    end = at + rows * LANES
    return work[at:end].reshape(rows, LANES), end


@compiled
def lay_out(work: FloatArray, rows: int, columns: int, count: int) -> tuple[Any, ...]:
    """Return the pieces of the workspace that loading and eliminating slabs fill, and where the rest begins.

    In the order of `load_slabs`: p, q, rest, inverse, right, mask and side; then m and pivot of `eliminate_slabs`.
    """
    p, at = carve(work, 0, rows, columns)
    q, at = carve(work, at, rows, columns)
    rest, at = carve(work, at, rows, columns)
    inverse, at = strip(work, at, rows)
    right, at = strip(work, at, rows)
    mask, at = strip(work, at, columns)
    side, at = strip(work, at, columns)
    m, at = carve(work, at, count, count)
    pivot, at = strip(work, at, count)
    return p, q, rest, inverse, right, mask, side, m, pivot, at


@compiled
def lanes_of(slabs: int) -> int:
    """Return how many lanes the loops run over: all of them but in the last round, whole vectors always.

    A variable, not the constant: the compiler would unroll the loops instead of vectorizing them.
    """
    return min(LANES, (slabs + 7) // 8 * 8)


@compiled
def load_slabs(
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
    lanes: int,
) -> None:
    """Fill the lanes with the slabs begin .. end - 1: masses p, shares q = p / sum_j p, rest = 1 - q, right sides."""
    rows, columns, _ = p.shape
    flat = p.reshape(rows * columns, LANES)
    p[:] = 0.0
    mask[:] = 0.0
    side[:] = 0.0
    right[:] = 0.0
    for w in range(end - begin):
        x = begin + w
        for n in range(slab_ptr[x], slab_ptr[x + 1]):
            # from the order of the profiles into lanes: the only access that is not contiguous
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
            # an empty row gets shares of 0, and so drops out of all that follows
            inverse[i, w] = 1.0 / inverse[i, w] if inverse[i, w] > NO_MASS else 0.0
        for j in range(columns):
            for w in range(lanes):
                q[i, j, w] = p[i, j, w] * inverse[i, w]
                rest[i, j, w] = 0.0
        for j in range(columns):
            for k in range(columns):
                if k != j:
                    for w in range(lanes):
                        # the sum of the others, not 1 - q, which cancels where one cell has nearly all
                        rest[i, j, w] += q[i, k, w]


@compiled
def eliminate_slabs(
    p: FloatArray,
    q: FloatArray,
    rest: FloatArray,
    right: FloatArray,
    mask: FloatArray,
    used: IntArray,
    side: FloatArray,
    m: FloatArray,
    pivot: FloatArray,
    lanes: int,
) -> None:
    """Eliminate the primary rows, then factorize what is left of the others as L D L^T.

    `m` gets L above its diagonal, `pivot` 1 / D (0 where the pivot is rounding), `side` the right-hand side after
    the primary rows. The diagonal is a sum of positive terms: 1 - q is taken as the other shares.
    """
    rows = p.shape[0]
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
            # a row that a slab lacks becomes a row of the identity: all lanes run the same code
            m[a, a, w] = pivot[a, w] * mask[j, w] + (1.0 - mask[j, w])
            # before any elimination: what its pivot is held against below
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
            # a pivot that is rounding leaves its direction at zero
            pivot[a, w] = 1.0 / m[a, a, w] if m[a, a, w] > pivot[a, w] else 0.0
        for b in range(a + 1, count):
            for w in range(lanes):
                # below the diagonal only until the row is done
                m[b, a, w] = m[a, b, w] * pivot[a, w]
        for b in range(a + 1, count):
            for c in range(b, count):
                for w in range(lanes):
                    m[b, c, w] -= m[b, a, w] * m[a, c, w]
        for b in range(a + 1, count):
            for w in range(lanes):
                m[a, b, w] = m[b, a, w]
