"""Bins of numbers and groups of raw labels, as categories in a meaningful order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import IntArray
from purtensor.errors import InvalidOptionError, UnknownCategoryError
from purtensor.tables.domain import listed

AGE_GROUPS = ("young", "middle", "senior")
EDUCATION_GROUPS = ("no-diploma", "highschool", "some-college", "degree")


def checked_edges(edges: Iterable[float], option: str) -> tuple[float, ...]:
    """Return the edges of bins as a tuple, or raise InvalidOptionError when they are none, or not increasing."""
    try:
        values = tuple(edges)
    except TypeError:
        values = ()
    numbers = all(isinstance(v, Real) and not isinstance(v, bool) and math.isfinite(v) for v in values)
    if not values or not numbers or any(a >= b for a, b in pairwise(values)):
        raise InvalidOptionError(f"{option} is a sequence of increasing finite numbers, at least one, not {edges!r}")
    return values


def bin_labels(edges: Sequence[float]) -> list[str]:
    """Return labels of half-open bins: '<5', '5-7.5' (5 is in it, 7.5 is not), '>=7.5'."""
    inner = [f"{_text(low)}-{_text(high)}" for low, high in pairwise(edges)]
    return [f"<{_text(edges[0])}", *inner, f">={_text(edges[-1])}"]


def age_labels(edges: Sequence[float]) -> list[str]:
    """Return labels of age groups: young, middle, senior for two edges, else '<30', '30-39', '>=40' (in full years)."""
    if len(edges) == 2:
        return list(AGE_GROUPS)
    if not all(float(edge).is_integer() for edge in edges):
        return bin_labels(edges)
    last_years = [_text(low) if high == low + 1 else f"{_text(low)}-{_text(high - 1)}" for low, high in pairwise(edges)]
    return [f"<{_text(edges[0])}", *last_years, f">={_text(edges[-1])}"]


def binned(values: Any, edges: Sequence[float], labels: Sequence[str]) -> pd.Categorical[Any]:
    """Return the bin of each value, an edge opening the bin above it; missing values stay missing."""
    numbers = np.asarray(values, dtype=np.float64)
    codes: IntArray = np.searchsorted(np.asarray(edges, dtype=np.float64), numbers, side="right")
    codes[np.isnan(numbers)] = -1
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels))


def grouped(raw: pd.Categorical[Any], groups: Mapping[Any, Any], option: str) -> pd.Categorical[Any]:
    """Return the group of each raw label; groups are in the order in which the mapping first names them.

    Raises
    ------
    InvalidOptionError
        `groups` is not a mapping.
    UnknownCategoryError
        A raw label that the mapping does not have, or the mapping one that the data do not have.
    """
    if not isinstance(groups, Mapping):
        raise InvalidOptionError(f"{option} is a mapping from raw labels to groups, not {type(groups).__qualname__}")
    without = [label for label in raw.categories if label not in groups]
    if without:
        raise UnknownCategoryError(f"{option} gives no group to {listed(map(repr, without))}; give each label one")
    strange = [label for label in groups if label not in raw.categories]
    if strange:
        raise UnknownCategoryError(f"no label {strange[0]!r} for {option}; the data have {listed(raw.categories, 30)}")
    order = {group: code for code, group in enumerate(dict.fromkeys(groups.values()))}
    lookup = np.array([order[groups[label]] for label in raw.categories])
    return pd.Categorical.from_codes(lookup[raw.codes], categories=pd.Index(list(order)))


def _text(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))
