"""From embedded files to counts."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidOptionError, UnknownAttributeError
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain, named_attributes
from purtensor.tables.grouping import group_profiles


def read_embedded(name: str) -> pd.DataFrame:
    """Return an embedded file of counts, text columns as categoricals; 'NA' and '?' are labels like any other."""
    resource = files("purtensor.datasets") / "data" / name
    with resource.open("rb") as packed, gzip.open(packed) as text:
        frame = pd.read_csv(text, keep_default_na=False)
    texts = [name for name, kind in frame.dtypes.items() if kind.kind != "i"]
    return frame.astype(dict.fromkeys(texts, "category"))


def counted(columns: Mapping[str, pd.Categorical[Any]], counts: FloatArray) -> Table:
    """Return the sparse table of the sums of `counts` over the profiles of the columns; nothing is missing in them."""
    domain = Domain(tuple(columns), tuple(column.categories for column in columns.values()))
    group, codes = group_profiles([column.codes for column in columns.values()], domain.sizes)
    # counts are integers, so plain sums are exact
    values = np.bincount(group, weights=counts, minlength=len(codes[0])).astype(np.float64)
    return sparse_table(domain, codes, values, name="count")


def chosen_attributes(
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
    names = named_attributes(attributes)
    vocabulary = tuple(known)
    for name in names:
        if name not in vocabulary:
            raise UnknownAttributeError.among(name, vocabulary, where)
    if not names:
        raise InvalidOptionError(f"attributes must not be empty; {where} has {', '.join(vocabulary)}")
    return names


def checked_choice(value: object, option: str, choices: tuple[object, ...]) -> None:
    """Raise InvalidOptionError unless `value` is one of the choices."""
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        message = f"{option} must be one of {', '.join(map(repr, choices))}, got {value!r}"
        raise InvalidOptionError.among(
            option, value, [choice for choice in choices if isinstance(choice, str)], message
        )
