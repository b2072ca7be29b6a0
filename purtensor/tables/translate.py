"""Alignment by label: the codes of one domain in terms of another's, and the profiles of one table in another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.tables.coded import CodedTable, domain_of, read_codes
from purtensor.tables.domain import Domain, is_boolean
from purtensor.tables.grouping import group_profiles


def category_map(source: pd.Index[Any], onto: pd.Index[Any]) -> IntArray:
    """Return for each category of `source` its code in `onto`, -1 where it is unknown there."""
    # the usual case: both tables come from the same records
    if source is onto or (_is_plain(source) and source.dtype == onto.dtype and source.equals(onto)):
        return np.arange(len(source))
    # of one plain type, equal labels are one category, and pandas' own look-up is right
    if _is_plain(source) and source.dtype == onto.dtype:
        return np.asarray(onto.get_indexer(source))
    found: IntArray = np.asarray(onto.astype(object).get_indexer(source.astype(object)))
    known = np.flatnonzero(found >= 0)
    # 1 == True in Python, and so in pandas; as categories they differ
    confused = [i for i in known.tolist() if is_boolean(source[i]) != is_boolean(onto[int(found[i])])]
    found[confused] = -1
    return found


def _is_plain(index: pd.Index[Any]) -> bool:
    """Return whether labels of this type are equal only to themselves: numbers of one type, or nothing but booleans."""
    return isinstance(index.dtype, np.dtype) and index.dtype.kind in "biuf"


def translate_codes(coded: CodedTable, onto: Domain) -> tuple[IntArray, ...]:
    """Return the codes of `coded`, attributes in the order of `onto`, in its categories; -1 where unknown.

    Raises
    ------
    UnknownAttributeError
        `onto` has an attribute that `coded` lacks.
    """
    columns = []
    for name, categories in zip(onto.attributes, onto.categories, strict=True):
        position = coded.domain.position(name)
        table = category_map(coded.domain.categories[position], categories)
        columns.append(table[coded.codes[position]])
    return tuple(columns)


def find_profiles(known: Sequence[IntArray], wanted: Sequence[IntArray]) -> IntArray:
    """Return for each wanted profile where among the distinct known ones it stands, -1 where it does not.

    Both are in codes of the same categories; a wanted code of -1 is a category that is not known.
    """
    count = len(known[0])
    out = np.full(len(wanted[0]), -1, dtype=np.int64)
    candidates = np.flatnonzero(np.all([code >= 0 for code in wanted], axis=0))
    joint = [np.concatenate([old, new[candidates]]) for old, new in zip(known, wanted, strict=True)]
    group, _ = group_profiles(joint, [int(code.max(initial=-1)) + 1 for code in joint])
    # where a group stands among the known; -1 for groups of wanted profiles alone
    place = np.full(int(group.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[group[:count]] = np.arange(count)
    out[candidates] = place[group[count:]]
    return out


def find_rows(table: Table, domain: Domain) -> tuple[list[IntArray], FloatArray]:
    """Return the codes of a table's profiles in a domain, and their values; profiles that it does not know left out."""
    own = domain_of(table)
    flat = np.asarray(table.values, dtype=np.float64).reshape(-1)
    stored = read_codes(table, own)
    columns = []
    for name, categories in zip(domain.attributes, domain.categories, strict=True):
        position = own.position(name)
        columns.append(np.asarray(category_map(own.categories[position], categories)[stored[position]], np.int64))
    known = np.all([column >= 0 for column in columns], axis=0)
    return [column[known] for column in columns], flat[known]


def values_at(table: Table, domain: Domain, codes: Sequence[IntArray]) -> FloatArray:
    """Return the table's value at each profile of the domain given by codes, 0 where the table has none."""
    columns, flat = find_rows(table, domain)
    # -1, where the table has no such profile, reads the 0 at the end
    return np.append(flat, 0.0)[find_profiles(columns, codes)]
