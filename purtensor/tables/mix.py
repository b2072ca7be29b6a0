"""Weighted sums of tables over the union of their supports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import items_of
from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownAttributeError
from purtensor.kernels.reductions import group_sums
from purtensor.tables.coded import CodedTable, encode, like
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.translate import category_map, translate_codes


def mix(tables: Iterable[Table], weights: Iterable[float]) -> Table:
    """Return the weighted sum of tables over the union of their supports, in the layout of the first.

    Plain addition in xarray keeps only the profiles that all tables have, and loses the mass of the others without a
    word. Here a profile that a table lacks counts as 0 in it, and a category that the first table lacks comes after
    its own. Attributes of the DataArrays that belong to one table alone, such as `washed_out_share`, are dropped.

    Parameters
    ----------
    tables
        One or more tables over the same attributes, in counts or probabilities.
    weights
        A finite number that is not negative for each table; it multiplies the masses, whose totals stay as they are:
        weights 1 and 1 add counts, and weights that sum to 1 mix distributions.

    Raises
    ------
    InvalidOptionError
        No table, another number of weights than of tables, or a weight that is negative, not finite, or 0 in all.
    UnknownAttributeError
        Tables over different attributes.
    InvalidTableError
        Labels of different types in one attribute, or sums beyond float64.

    Examples
    --------
    >>> import purtensor as pt
    >>> spring, autumn = pt.tabulate({"a": ["x", "x", "y"]}), pt.tabulate({"a": ["y", "z"]})
    >>> pt.mix([spring, autumn], [1, 1]).to_series().to_dict()
    {('x',): 2.0, ('y',): 2.0, ('z',): 1.0}
    """
    given = items_of(tables)
    if not given:
        raise InvalidOptionError("tables must be a list of one or more tables, got none")
    factors = _factors(weights, len(given))
    coded = [encode(table) for table in given]
    domain = _union(coded)
    columns = [translate_codes(table, domain) for table in coded]
    group, codes = group_profiles([np.concatenate(parts) for parts in zip(*columns, strict=True)], domain.sizes)
    # an overflow is refused below, in words
    with np.errstate(over="ignore"):
        masses = np.concatenate([factor * table.values for factor, table in zip(factors, coded, strict=True)])
        values = group_sums(masses, group, len(codes[0]))
    if not np.isfinite(values).all():
        raise InvalidTableError("the weighted masses sum to more than float64 can hold: divide the weights by a number")
    return like(given[0], domain, codes, values, name=given[0].name)


def _factors(weights: Iterable[float], tables: int) -> FloatArray:
    """Return the weights as numbers, one for each table."""
    given = items_of(weights)
    if given is None or len(given) != tables:
        raise InvalidOptionError(
            f"weights must be one number per table, got {'none' if given is None else len(given)} for {tables} tables"
        )
    try:
        found = np.array([float(weight) for weight in given])
    except (TypeError, ValueError):
        raise InvalidOptionError(f"weights must be numbers, got {given!r}") from None
    if not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise InvalidOptionError(f"weights must be finite, not negative and not all 0, got {given!r}")
    return found


def _union(tables: Sequence[CodedTable]) -> Domain:
    """Return the domain with the categories of all tables: the first table's, then those that others add."""
    first = tables[0].domain
    for number, table in enumerate(tables[1:], start=1):
        if set(table.domain.attributes) != set(first.attributes):
            odd = sorted(set(table.domain.attributes) ^ set(first.attributes))[0]
            lacks, there = (number, first) if odd in first.attributes else (0, table.domain)
            raise UnknownAttributeError(
                f"no attribute {odd!r} in table {lacks} (counted from 0), while another has "
                f"{', '.join(there.attributes)}; tables to mix must have the same attributes"
            )
    domains = [table.domain for table in tables]
    return Domain(first.attributes, tuple(_categories(name, domains) for name in first.attributes))


def _categories(name: str, domains: Sequence[Domain]) -> pd.Index[Any]:
    """Return the categories of one attribute in all domains; labels of two types are not one attribute."""
    union, *others = (domain.categories[domain.position(name)] for domain in domains)
    kind = pd.api.types.infer_dtype(union, skipna=False)
    for other in others:
        found = pd.api.types.infer_dtype(other, skipna=False)
        if found != kind:
            raise InvalidTableError(
                f"attribute {name!r} has labels of type {kind} in one table ({union[0]!r}) and {found} in another "
                f"({other[0]!r}); convert one of them, so that equal categories have equal labels"
            )
        # labels of one type: True and 1, which pandas takes for equal, cannot meet in an index
        new = other[category_map(other, union) < 0]
        union = union.append(new) if len(new) else union
    return union
