"""Marginals: sums over the attributes that are left out.

Those of a full table come right to the last bits, for many scopes in one pass: every number is split into a multiple of
a power of two, a multiple of a smaller one, and a rest. Multiples add up without rounding in float64, so the sums of
one scope serve all scopes that it contains.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from purtensor._threads import chunks_of, for_each_chunk
from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.kernels.reductions import group_sums
from purtensor.tables.coded import CodedTable, dense_table, encode, like
from purtensor.tables.domain import Domain, as_attributes
from purtensor.tables.grouping import codes_of_keys, group_profiles
from purtensor.tables.store.table import StoredTable, sum_stored


def marginal(table: Table | StoredTable, attributes: Attributes) -> Table:
    """Return the marginal over `attributes`: the sums over all other attributes, in the table's own units.

    The attributes stand in the order asked and the profiles in category order; profiles without support are left
    out in the sparse layout and 0 in the dense one. Sums are compensated: they are right to the last bits, however
    many terms they have. That of a stored table is sparse, and summed chunk by chunk.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        No attribute is named.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.marginal(counts, "age").values
    array([2., 1.])
    """
    if isinstance(table, StoredTable):
        return sum_stored(table, attributes)
    coded = encode(table, copy=False)
    scope = as_attributes(attributes, coded.domain)
    return Marginals(coded, [scope]).table(scope, table.name)


def marginalize(coded: CodedTable, attributes: Sequence[str]) -> tuple[Domain, tuple[IntArray, ...], FloatArray]:
    """Return the domain, codes and sums of a marginal of a table that is encoded already."""
    return Marginals(coded, [attributes]).sums_over(attributes)


_LARGE = 1 << 16
"""From so many cells on a pass over all of them is cheaper than codes of the profiles, if half of them have mass."""


class Marginals:
    """Some marginals of one table; if it has mass in every cell, or is large and mostly full, one pass serves all."""

    def __init__(self, coded: CodedTable, scopes: Sequence[Sequence[str]]) -> None:
        if not all(scopes):
            raise InvalidOptionError(
                "a marginal must be over at least one attribute, got none: for the total use float(table.sum())"
            )
        self._coded = coded
        self._dense: dict[tuple[str, ...], FloatArray] = {}
        cells = _cells(coded)
        if cells is not None:
            places = [[coded.domain.position(name) for name in scope] for scope in scopes]
            sums = dense_sums(cells, [tuple(sorted(place)) for place in places])
            for scope, place, one in zip(scopes, places, sums, strict=True):
                # sums have the axes in the table's order; argsort twice ranks them as the scope has them
                self._dense[tuple(scope)] = np.ascontiguousarray(one.transpose(np.argsort(np.argsort(place))))

    @property
    def of_cells(self) -> bool:
        """Whether they were summed over the cells of a dense table, in parts that add up without rounding."""
        return bool(self._dense)

    def sums_over(self, scope: Sequence[str]) -> tuple[Domain, tuple[IntArray, ...], FloatArray]:
        """Return the domain, codes and sums over one of the scopes."""
        domain = self._coded.domain.select(scope)
        if not self.of_cells:
            group, codes = group_profiles(self._coded.columns(scope), domain.sizes)
            return domain, codes, group_sums(self._coded.values, group, len(codes[0]))
        sums = self._dense[tuple(scope)].reshape(-1)
        present = np.flatnonzero(sums)  # masses are not negative: where there is one the sum is positive
        return domain, codes_of_keys(present, domain.sizes), sums if len(present) == len(sums) else sums[present]

    def table(self, scope: Sequence[str], name: Hashable = None) -> Table:
        """Return the sums over one of the scopes in the layout of the table."""
        if self.of_cells:
            return dense_table(self._coded.domain.select(scope), self._dense[tuple(scope)], name=name)
        return like(self._coded.template, *self.sums_over(scope), name=name)


def _cells(coded: CodedTable) -> FloatArray | None:
    """Return all cells of a table whose marginals are summed from its cells; None where profiles are grouped."""
    if coded.is_product:
        return coded.values.reshape(coded.domain.sizes)
    values, count = coded.template.values, len(coded.values)
    # zeros are summed too: up to half of the cells may have them
    is_full = coded.stored is None and values.size >= _LARGE and 2 * count >= values.size
    return values if is_full and values.dtype == np.float64 else None


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
