"""Marginals: sums over the attributes that are left out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.kernels.sums import group_sums
from purtensor.tables.coded import CodedTable, dense_table, encode, like
from purtensor.tables.dense_sums import dense_sums
from purtensor.tables.domain import Domain, named_attributes
from purtensor.tables.grouping import codes_of_keys, group_profiles
from purtensor.tables.store.open_store import StoredTable, stored_marginal


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
        return stored_marginal(table, attributes)
    coded = encode(table, copy=False)
    scope = named_attributes(attributes, coded.domain)
    return Marginals(coded, [scope]).table(scope, table.name)


def marginalize(coded: CodedTable, attributes: Sequence[str]) -> tuple[Domain, tuple[IntArray, ...], FloatArray]:
    """Return the domain, codes and sums of a marginal of a table that is encoded already."""
    return Marginals(coded, [attributes]).coded(attributes)


class Marginals:
    """Some marginals of one table; where it has mass in every cell, one pass over it serves all."""

    def __init__(self, coded: CodedTable, scopes: Sequence[Sequence[str]]) -> None:
        if not all(scopes):
            raise InvalidOptionError(
                "a marginal must be over at least one attribute, got none: for the total use float(table.sum())"
            )
        self._coded = coded
        self._dense: dict[tuple[str, ...], FloatArray] = {}
        if coded.is_product:
            places = [[coded.domain.position(name) for name in scope] for scope in scopes]
            sums = dense_sums(coded.values.reshape(coded.domain.sizes), [tuple(sorted(place)) for place in places])
            for scope, place, one in zip(scopes, places, sums, strict=True):
                # sums have the axes in the table's order; argsort twice ranks them as the scope has them
                self._dense[tuple(scope)] = np.ascontiguousarray(one.transpose(np.argsort(np.argsort(place))))

    def coded(self, scope: Sequence[str]) -> tuple[Domain, tuple[IntArray, ...], FloatArray]:
        """Return the domain, codes and sums over one of the scopes."""
        domain = self._coded.domain.select(scope)
        if not self._coded.is_product:
            group, codes = group_profiles(self._coded.columns(scope), domain.sizes)
            return domain, codes, group_sums(self._coded.values, group, len(codes[0]))
        sums = self._dense[tuple(scope)].reshape(-1)
        return domain, codes_of_keys(np.arange(len(sums)), domain.sizes), sums

    def table(self, scope: Sequence[str], name: Hashable = None) -> Table:
        """Return the sums over one of the scopes in the layout of the table."""
        if self._coded.is_product:
            return dense_table(self._coded.domain.select(scope), self._dense[tuple(scope)], name=name)
        return like(self._coded.template, *self.coded(scope), name=name)
