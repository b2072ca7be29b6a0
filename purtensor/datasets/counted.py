"""From embedded files to counts, with raw labels in groups."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidOptionError, UnknownAttributeError, UnknownCategoryError
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain, as_attributes, join_some
from purtensor.tables.grouping import group_profiles

# the attributes of the paper's wage study: response, two protected, three unprotected
WAGE_STUDY = ("wage_range", "gender", "race4", "age_group", "education_group", "sector")

EDUCATION_GROUPS = ("no-diploma", "highschool", "some-college", "degree")


def read_embedded(name: str) -> pd.DataFrame:
    """Return an embedded file of counts, text columns as categoricals; 'NA' and '?' are labels like any other."""
    resource = files("purtensor.datasets") / "data" / name
    with resource.open("rb") as packed, gzip.open(packed) as text:
        frame = pd.read_csv(text, keep_default_na=False)
    texts = [name for name, kind in frame.dtypes.items() if kind.kind != "i"]
    return frame.astype(dict.fromkeys(texts, "category"))


def count_profiles(columns: Mapping[str, pd.Categorical[Any]], counts: FloatArray) -> Table:
    """Return the sparse table of the sums of `counts` over the profiles of the columns; nothing is missing in them."""
    domain = Domain(tuple(columns), tuple(column.categories for column in columns.values()))
    group, codes = group_profiles([column.codes for column in columns.values()], domain.sizes)
    # counts are integers, so plain sums are exact
    values = np.bincount(group, weights=counts, minlength=len(codes[0])).astype(np.float64)
    return sparse_table(domain, codes, values, name="count")


def choose_attributes(
    attributes: str | Iterable[str] | None, default: Iterable[str], known: Iterable[str], where: str
) -> tuple[str, ...]:
    """Return the attributes to tabulate: those asked, each known and none twice, else the default ones.

    Raises
    ------
    UnknownAttributeError
        A name that is not in `known`; the message lists them.
    """
    if attributes is None:
        return tuple(default)
    names = as_attributes(attributes)
    vocabulary = tuple(known)
    for name in names:
        if name not in vocabulary:
            raise UnknownAttributeError.among(name, vocabulary, where)
    if not names:
        raise InvalidOptionError(f"attributes must not be empty; {where} has {', '.join(vocabulary)}")
    return names


def require_choice(value: object, option: str, choices: tuple[object, ...]) -> None:
    """Raise InvalidOptionError unless `value` is one of the choices."""
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        message = f"{option} must be one of {', '.join(map(repr, choices))}, got {value!r}"
        raise InvalidOptionError.among(
            option, value, [choice for choice in choices if isinstance(choice, str)], message
        )


def group_labels(raw: pd.Categorical[Any], groups: Mapping[Any, Any], option: str) -> pd.Categorical[Any]:
    """Return the group of each raw label; groups are in the order in which the mapping first names them.

    Raises
    ------
    InvalidOptionError
        `groups` is not a mapping.
    UnknownCategoryError
        A raw label that the mapping does not have, or the mapping one that the data do not have.
    """
    if not isinstance(groups, Mapping):
        raise InvalidOptionError(
            f"{option} must be a mapping from raw labels to groups, got {type(groups).__qualname__}"
        )
    without = [label for label in raw.categories if label not in groups]
    if without:
        raise UnknownCategoryError(
            f"{option} has no group for {join_some(map(repr, without))}; give each label a group"
        )
    strange = [label for label in groups if label not in raw.categories]
    if strange:
        raise UnknownCategoryError(
            f"no label {strange[0]!r} for {option}; the data have {join_some(raw.categories, 30)}"
        )
    order = {group: code for code, group in enumerate(dict.fromkeys(groups.values()))}
    lookup = np.array([order[groups[label]] for label in raw.categories])
    return pd.Categorical.from_codes(lookup[raw.codes], categories=pd.Index(list(order)))
