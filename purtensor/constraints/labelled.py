"""Numbers by label: written as a number, a mapping, a Series or a table, read into codes and float64 of any sign."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import is_number
from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.tables.coded import domain_of, profile_refusal, read_codes
from purtensor.tables.domain import Domain, describe_profile, is_boolean, join_some
from purtensor.tables.factorize import plain_index
from purtensor.tables.grouping import group_profiles
from purtensor.tables.masses import as_float64
from purtensor.tables.translate import category_map


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """One number for each listed profile of some attributes; `codes` are into the categories of `domain`."""

    domain: Domain
    codes: tuple[IntArray, ...]
    values: FloatArray

    def label(self, position: int) -> str:
        """Return a profile in words, such as 'sex=f, age=old'."""
        return describe_profile(self.domain, [code[position] for code in self.codes])

    def in_order(self, attributes: Sequence[str]) -> Labelled:
        """Return the same numbers with the attributes in another order."""
        places = [self.domain.position(name) for name in attributes]
        return Labelled(self.domain.select(attributes), tuple(self.codes[place] for place in places), self.values)

    def onto(self, domain: Domain) -> tuple[IntArray, ...]:
        """Return the codes in the categories of another domain over the same attributes; -1 where unknown there."""
        return tuple(
            category_map(own, other)[code]
            for own, other, code in zip(self.domain.categories, domain.categories, self.codes, strict=True)
        )


def require_numbers(option: str, value: Any) -> None:
    """Refuse what is neither a number nor numbers by label, before there are labels to read it with.

    Raises
    ------
    InvalidOptionError
        Another type.
    """
    if not (is_number(value) or isinstance(value, Mapping | pd.Series | Table)):
        raise InvalidOptionError(f"{option} must be a number, or numbers by the labels of the rows, got {value!r:.60}")


def read_labelled(value: Any, attributes: Sequence[str] | None, what: str) -> float | Labelled:
    """Return one number, or numbers by label over exactly these attributes (over its own where None).

    Parameters
    ----------
    value
        A number; a mapping of labels to numbers, of tuples of labels where the attributes are several; a pandas
        Series whose index has their names; or a table in either layout.
    attributes
        What the labels are of; any for a table where None.
    what
        The name of the numbers in errors, such as "the target of total of income".

    Raises
    ------
    InvalidTableError
        Another type, NaN, other attributes than asked, or a label that is given twice.
    """
    if is_number(value):
        return float(value)
    # a Series becomes a mapping, once its index names the attributes
    if isinstance(value, pd.Series):
        value = dict(zip(_keys_of_series(value, attributes, what), value.tolist(), strict=True))
    if isinstance(value, Mapping):
        if attributes is None:
            raise InvalidTableError(
                f"{what} is a mapping, which does not name the attribute of its labels; give a table"
            )
        return _of_mapping(value, tuple(attributes), what)
    if not isinstance(value, Table):
        raise InvalidTableError(
            f"{what} must be a number, a mapping of labels to numbers, or a table, got {type(value).__qualname__} "
            f"{value!r:.40}"
        )
    # a table over no attribute is one number
    if value.ndim == 0:
        return read_labelled(value.item(), attributes, what)
    found = read_table(value, what)
    if attributes is None:
        return found
    if set(found.domain.attributes) != set(attributes):
        wanted = join_some(attributes) or "no attribute (a single number)"
        raise InvalidTableError(f"{what} must be over {wanted}, got one over {join_some(found.domain.attributes)}")
    return found.in_order(attributes)


def read_table(table: Table, what: str) -> Labelled:
    """Return the numbers of a table of either layout, zeros and negative ones included.

    Raises
    ------
    InvalidTableError
        No table, NaN, or a profile that is stored twice.
    """
    domain = domain_of(table)
    codes, fail = read_codes(table, domain), profile_refusal(table, f"{what} at")
    values = as_float64(np.asarray(table.values).reshape(-1), fail)
    unknown = np.flatnonzero(np.isnan(values))
    if len(unknown):
        fail(int(unknown[0]), "is NaN; give it a number, or remove the label")
    return Labelled(domain, codes, values)


def _keys_of_series(series: pd.Series[Any], attributes: Sequence[str] | None, what: str) -> list[Hashable]:
    """Return the labels of a Series as keys in the order of the attributes."""
    names = list(series.index.names)
    if attributes is None or set(names) != set(attributes):
        raise InvalidTableError(
            f"{what} is a Series whose index is named {join_some(map(repr, names))}; name its levels after "
            f"{join_some(attributes or ['the attributes'])}"
        )
    if len(names) == 1:
        return list(series.index)
    return list(zip(*(series.index.get_level_values(name) for name in attributes), strict=True))


def _of_mapping(mapping: Mapping[Any, Any], attributes: tuple[str, ...], what: str) -> Labelled:
    if not attributes:
        raise InvalidTableError(f"{what} is a mapping, but the rows have no labels; give a number, or by=")
    # a label of one attribute may be a tuple itself, so it is wrapped whatever it is
    keys = [(key,) if len(attributes) == 1 else key for key in mapping]
    for key, value in zip(keys, mapping.values(), strict=True):
        if not isinstance(key, tuple) or len(key) != len(attributes):
            raise InvalidTableError(f"{what} has the label {key!r}; labels must be of ({', '.join(attributes)})")
        if not is_number(value):
            raise InvalidTableError(f"{what} at {join_some(key)} must be a number, got {value!r}")
    if not keys:
        raise InvalidTableError(f"{what} is an empty mapping; give one number per label")
    columns = list(zip(*keys, strict=True))
    # each label once, in order of appearance
    categories = tuple(plain_index(dict.fromkeys(column)) for column in columns)
    codes = tuple(index.get_indexer(pd.Index(column)) for index, column in zip(categories, columns, strict=True))
    return Labelled(Domain(attributes, categories), codes, np.array([float(value) for value in mapping.values()]))


def join_profiles(parts: Sequence[Labelled]) -> tuple[Domain, tuple[IntArray, ...], list[IntArray]]:
    """Return the union of the profiles of several parts, and where each part's profiles are in it."""
    attributes = parts[0].domain.attributes
    categories, together = [], []
    for k in range(len(attributes)):
        labels, maps = _unite([part.domain.categories[k] for part in parts])
        categories.append(labels)
        own = [part.codes[k] for part in parts]
        together.append(np.concatenate([code if m is None else m[code] for code, m in zip(own, maps, strict=True)]))
    domain = Domain(attributes, tuple(categories))
    group, codes = group_profiles(together, domain.sizes)
    ends = np.cumsum([len(part.values) for part in parts])[:-1]
    return domain, codes, np.split(group, ends)


def _unite(indices: Sequence[pd.Index[Any]]) -> tuple[pd.Index[Any], list[IntArray | None]]:
    """Return the union of the categories, the first index's first, and each index's map into it (None: the same)."""
    first = indices[0]
    if all(index is first or (index.dtype == first.dtype != object and index.equals(first)) for index in indices[1:]):
        return first, [None] * len(indices)
    # 1 == True in Python; as categories they differ
    known: dict[tuple[bool, Any], int] = {}
    maps: list[IntArray | None] = [
        np.array([known.setdefault((is_boolean(label), label), len(known)) for label in index], dtype=np.int64)
        for index in indices
    ]
    return plain_index(label for _, label in known), maps
