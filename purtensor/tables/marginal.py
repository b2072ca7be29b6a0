"""Marginals: sums over the attributes that are left out."""

from __future__ import annotations

from collections.abc import Sequence

from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.kernels.sums import group_sums
from purtensor.tables.coded import CodedTable, encode, like
from purtensor.tables.domain import Domain, named_attributes
from purtensor.tables.grouping import group_profiles
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
    coded = encode(table)
    return like(table, *marginalize(coded, named_attributes(attributes, coded.domain)), name=table.name)


def marginalize(coded: CodedTable, attributes: Sequence[str]) -> tuple[Domain, tuple[IntArray, ...], FloatArray]:
    """Return the domain, codes and sums of a marginal of a table that is encoded already."""
    if not attributes:
        raise InvalidOptionError("a marginal over no attribute is the total: take float(table.sum())")
    domain = coded.domain.select(attributes)
    group, codes = group_profiles(coded.columns(attributes), domain.sizes)
    return domain, codes, group_sums(coded.values, group, len(codes[0]))
