"""Alignment by label: the codes of one domain in terms of another's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import IntArray
from purtensor.tables.coded import CodedTable
from purtensor.tables.domain import Domain, is_boolean


def category_map(source: pd.Index[Any], onto: pd.Index[Any]) -> IntArray:
    """Return for each category of `source` its code in `onto`, -1 where it is unknown there."""
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
