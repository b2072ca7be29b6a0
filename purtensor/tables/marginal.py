"""Marginals: sums over the attributes that are left out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.kernels.reductions import group_sums
from purtensor.tables.coded import CodedTable, dense_table, encode, like
from purtensor.tables.dense_sums import dense_sums
from purtensor.tables.domain import Domain, as_attributes
from purtensor.tables.grouping import codes_of_keys, group_profiles
from purtensor.tables.store.open_store import StoredTable, sum_stored


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
    is_full = coded.stored is None and values.size >= _LARGE and 2 * count >= values.size
    return values if is_full and values.dtype == np.float64 else None
