"""Sums of a dense table over some of its axes, right to the last bits, for many scopes in one pass.

Every number is split into a multiple of a power of two, a multiple of a smaller one, and a rest. Multiples add up
without rounding in float64, so the sums of one scope serve all scopes that it contains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from purtensor._threads import chunks_of, for_each_chunk
from purtensor._typing import FloatArray

Axes = tuple[int, ...]

_LEVELS = 3
_BLOCK = 1 << 15
"""So many numbers of a block stay in the cache while they are split and added up."""

_CHUNK = 1 << 19
"""So many numbers are one thread's at a time."""

_LARGEST_POWER = 1000


def dense_sums(values: FloatArray, scopes: Sequence[Axes]) -> list[FloatArray]:
    """Return the sums over all axes but those of each scope, whose axes ascend; the values are not negative."""
    widest = _widest(scopes)
    with np.errstate(under="ignore"):
        levels = dict(zip(widest, _level_sums(values, widest), strict=True))
        return [_combine(levels, scope) for scope in scopes]


def _widest(scopes: Sequence[Axes]) -> list[Axes]:
    """Return the scopes that no other contains."""
    distinct = list(dict.fromkeys(scopes))
    return [one for one in distinct if not any(set(one) < set(other) for other in distinct)]


def _combine(levels: dict[Axes, FloatArray], scope: Axes) -> FloatArray:
    """Return the sums of a scope from the levels of one that contains it."""
    wide = next(axes for axes in levels if set(scope) <= set(axes))
    gone = tuple(1 + place for place, axis in enumerate(wide) if axis not in scope)
    high, low, rest = levels[wide].sum(axis=gone) if gone else levels[wide]
    total = high + low
    # what high + low lost is recovered (Dekker 1971), as low is the smaller
    return np.asarray(total + (((high - total) + low) + rest))


def _level_sums(values: FloatArray, scopes: Sequence[Axes]) -> list[FloatArray]:
    """Return for each scope an array of its levels' sums, shape (3, ...)."""
    largest = float(values.max())
    if largest == 0.0:
        return [np.zeros((_LEVELS, *(values.shape[axis] for axis in scope))) for scope in scopes]
    # 2^bits terms below 2^(power - bits), all multiples of 2^(power - 52), add up without rounding
    bits = max(24, values.size.bit_length())
    power = math.frexp(largest)[1] + bits
    beyond = max(0, power - _LARGEST_POWER)
    if beyond:  # the numbers that split others would overflow
        return [np.ldexp(one, beyond) for one in _level_sums(np.ldexp(values, -beyond), scopes)]
    splitters = [math.ldexp(1.5, power), math.ldexp(1.5, power + bits - 52)]
    along = int(np.argmax(values.shape))
    thickness = values.size // values.shape[along]
    chunks = chunks_of(values.shape[along], max(1, _CHUNK // thickness))
    sums = [
        # threads write to places of their own in a scope with the axis; in others each chunk has its own sums
        np.zeros((1 if along in scope else len(chunks), _LEVELS, *(values.shape[axis] for axis in scope)))
        for scope in scopes
    ]

    def work(number: int, begin: int, end: int) -> None:
        step = max(1, _BLOCK // thickness)
        for first in range(begin, end, step):
            part = slice(first, min(first + step, end))
            _add_block(values, along, part, splitters, scopes, [one[0 if len(one) == 1 else number] for one in sums])

    for_each_chunk(work, chunks)
    return [one[0] if len(one) == 1 else one.sum(axis=0) for one in sums]


def _add_block(
    values: FloatArray,
    along: int,
    part: slice,
    splitters: Sequence[float],
    scopes: Sequence[Axes],
    sums: Sequence[FloatArray],
) -> None:
    """Add the sums of the cells at `part` of one axis, which is laid last: short last axes are slow to sum over."""
    order = [axis for axis in range(values.ndim) if axis != along] + [along]
    rest = np.array(values.transpose(order)[..., part], order="C")  # a copy, which is split in place
    gone = [tuple(place for place, axis in enumerate(order) if axis not in scope) for scope in scopes]
    outs = [_laid_last(one, scope, along, part) for one, scope in zip(sums, scopes, strict=True)]
    for level in range(_LEVELS):
        share = rest
        if level < len(splitters):
            share = rest + splitters[level]
            share -= splitters[level]
            rest -= share
        for axes, out in zip(gone, outs, strict=True):
            out[level] += share.sum(axis=axes)


def _laid_last(sums: FloatArray, scope: Axes, along: int, part: slice) -> FloatArray:
    """Return the part of the sums that a block adds to, with the axis of the blocks last."""
    return np.moveaxis(sums, 1 + scope.index(along), -1)[..., part] if along in scope else sums
