"""What Newton steps and certificates need, in numpy: sums over changes, and slabs eliminated side by side."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.newton import certificate, line_search
from purtensor.kernels.newton.arrowhead import NO_MASS, PIVOT_FLOOR
from purtensor.kernels.newton.bipartite import assemble_bipartite, substitute_bipartite
from purtensor.kernels.newton.dense import add_pairs
from purtensor.kernels.numpy_forms.sums import spread_range

_SLABS_AT_ONCE = 2048
"""So many slabs are eliminated side by side: their arrays stay in the cache."""


def excess(z: FloatArray) -> FloatArray:
    """Return exp(z) - 1 - z, by its series where that cancels."""
    small = np.abs(z) < 0.02
    near = np.where(small, z, 0.0)
    series = near * near * (0.5 + near * (1 / 6 + near * (1 / 24 + near * (1 / 120 + near * (1 / 720 + near / 5040)))))
    if small.all():
        return np.asarray(series)
    with np.errstate(over="ignore"):
        return np.where(small, series, np.expm1(z) - z)


def _unevenness(missed: FloatArray, targets: FloatArray) -> float:
    size = np.maximum(targets, np.abs(missed))
    return float((missed * (missed / np.where(size > 0.0, size, 1.0))).sum())


def _curvature(masses: FloatArray, direction: FloatArray, step: float) -> float:
    return float((masses * excess(step * direction)).sum())


def _bend(
    masses: FloatArray, index: IntArray, offsets: IntArray, direction: FloatArray, step: float, begin: int, end: int
) -> tuple[float, float]:
    change = spread_range(index, offsets, direction, begin, end)
    return _curvature(masses[begin:end], change, step), float(np.abs(change).max(initial=0.0))


def _add_pairs(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    number: IntArray,
    begin: int,
    end: int,
    matrix: FloatArray,
) -> None:
    own, size = masses[begin:end], len(matrix)
    places = [number[offsets[k] : offsets[k + 1]][index[k, begin:end]] for k in range(len(index))]
    for one, other in combinations_with_replacement(places, 2):
        kept = (one >= 0) & (other >= 0)
        pair = np.minimum(one, other)[kept].astype(np.int64) * size + np.maximum(one, other)[kept]
        matrix += np.bincount(pair, own[kept], size * size).reshape(size, size)


class _Slabs(NamedTuple):
    """Slabs side by side, their primary rows eliminated.

    Attributes
    ----------
    p, q, rest
        Shape (slabs, rows, columns): masses, shares of their row, and 1 - q as the sum of the other shares.
    inverse, right
        Shape (slabs, rows): 1 / sums of rows, and their right-hand side.
    inner
        Shape (slabs, used, used): what inverts the rows that are left of the other constraint.
    side, mask
        Shape (slabs, columns): the right-hand side of those, and 1 where there is one.
    """

    p: FloatArray
    q: FloatArray
    rest: FloatArray
    inverse: FloatArray
    right: FloatArray
    inner: FloatArray
    side: FloatArray
    mask: FloatArray


def _eliminate(
    masses: FloatArray,
    code: IntArray,
    slab_ptr: IntArray,
    primary: IntArray,
    other: IntArray,
    rhs: FloatArray,
    used: IntArray,
    shape: tuple[int, int],
    span: tuple[int, int],
    theta: FloatArray | None = None,
) -> _Slabs:
    """Return the slabs of a span eliminated; with `theta` their right-hand sides less what is known of the cells."""
    begin, end = span
    count, (rows, columns) = end - begin, shape
    cells = rows * columns
    own = slice(slab_ptr[begin], slab_ptr[end])
    slab = np.repeat(np.arange(count), np.diff(slab_ptr[begin : end + 1]))
    flat = np.bincount(slab * cells + code[own], masses[own], count * cells).astype(np.float64, copy=False)
    p = flat.reshape(count, rows, columns)
    sums = p.sum(axis=2)
    inverse = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > NO_MASS)
    q = p * inverse[:, :, None]
    rest = q @ (1.0 - np.eye(columns))
    first, second = primary[begin:end], other[begin:end]
    right = np.where(first >= 0, rhs[first], 0.0)
    mask = np.where(second >= 0, 1.0, 0.0)
    side = mask * rhs[second]
    if theta is not None:
        mean = (q * theta).sum(axis=2)
        side = side - (p * (theta - mean[:, :, None])).sum(axis=1)
    side = mask * (side - (q * right[:, :, None]).sum(axis=1))
    return _Slabs(p, q, rest, inverse, right, _inner_inverse(p, q, rest, mask, used), side, mask)


def _inner_inverse(p: FloatArray, q: FloatArray, rest: FloatArray, mask: FloatArray, used: IntArray) -> FloatArray:
    """Return the inverse of what the primary rows leave, shape (slabs, used, used); rounded pivots count as none."""
    own, present = p[:, :, used], mask[:, used]
    matrix = -(own.transpose(0, 2, 1) @ q[:, :, used])
    diagonal = (own * rest[:, :, used]).sum(axis=1)
    matrix *= present[:, :, None] * present[:, None, :]
    places = np.arange(len(used))
    matrix[:, places, places] = diagonal * present + (1.0 - present)
    floor = matrix[:, places, places] * PIVOT_FLOOR
    found = np.broadcast_to(np.eye(len(used)), matrix.shape).copy()
    # Gauss and Jordan, all slabs at once; a pivot that is rounding leaves its row at zero
    for k in range(len(used)):
        pivot = matrix[:, k, k]
        works = pivot > floor[:, k]
        scale = np.divide(1.0, pivot, out=np.zeros_like(pivot), where=works)
        row, inverse_row = matrix[:, k] * scale[:, None], found[:, k] * scale[:, None]
        factor = matrix[:, :, k].copy()
        factor[:, k] = 0.0
        matrix -= factor[:, :, None] * row[:, None, :]
        found -= factor[:, :, None] * inverse_row[:, None, :]
        matrix[:, k], found[:, k] = row, inverse_row
        found[~works, k] = 0.0
        found[~works, :, k] = 0.0
    return found


def _assemble_bipartite(
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
    rows, columns = cells // shape[1], cells % shape[1]
    for start in range(begin, end, _SLABS_AT_ONCE):
        span = start, min(start + _SLABS_AT_ONCE, end)
        s = _eliminate(masses, code, slab_ptr, primary, other, rhs, used, shape, span)
        own_p, own_q = s.p[:, rows, columns], s.q[:, rows, columns]
        coupled = -own_p[:, :, None] * s.q[:, rows][:, :, used] * s.mask[:, None, used]
        same, place = np.nonzero(columns[:, None] == used[None, :])
        coupled[:, same, place] = (own_p * s.rest[:, rows, columns])[:, same] * s.mask[:, used[place]]
        solved = coupled @ s.inner
        vector -= (own_q * s.right[:, rows]).sum(axis=0) + np.einsum("sca,sa->c", solved, s.side[:, used])
        if with_matrix:
            of_row = -(own_p.T @ own_q) * (rows[:, None] == rows[None, :])
            np.fill_diagonal(of_row, (own_p * s.rest[:, rows, columns]).sum(axis=0))
            matrix += np.triu(of_row - np.tensordot(solved, coupled, axes=([0, 2], [0, 2])))


def _substitute_bipartite(
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
    shape = theta.shape[0], theta.shape[1]
    for start in range(begin, end, _SLABS_AT_ONCE):
        span = start, min(start + _SLABS_AT_ONCE, end)
        s = _eliminate(masses, code, slab_ptr, primary, other, rhs, used, shape, span, theta)
        x = np.zeros((len(s.p), shape[1]))
        x[:, used] = (s.inner @ s.side[:, used, None])[:, :, 0]
        own = s.right * s.inverse - (s.q * (theta + x[:, None, :])).sum(axis=2)
        first, second = primary[span[0] : span[1]], other[span[0] : span[1]]
        out[first[first >= 0]] = own[first >= 0]
        out[second[second >= 0]] = x[second >= 0]


FORMS = {
    certificate.unevenness: _unevenness,
    line_search.curvature: _curvature,
    line_search.bend: _bend,
    add_pairs: _add_pairs,
    assemble_bipartite: _assemble_bipartite,
    substitute_bipartite: _substitute_bipartite,
}
