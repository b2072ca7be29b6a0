"""Groups of raw labels, as categories in a meaningful order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from purtensor.errors import InvalidOptionError, UnknownCategoryError
from purtensor.tables.domain import listed

EDUCATION_GROUPS = ("no-diploma", "highschool", "some-college", "degree")


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
        raise InvalidOptionError(
            f"{option} must be a mapping from raw labels to groups, got {type(groups).__qualname__}"
        )
    without = [label for label in raw.categories if label not in groups]
    if without:
        raise UnknownCategoryError(f"{option} has no group for {listed(map(repr, without))}; give each label a group")
    strange = [label for label in groups if label not in raw.categories]
    if strange:
        raise UnknownCategoryError(f"no label {strange[0]!r} for {option}; the data have {listed(raw.categories, 30)}")
    order = {group: code for code, group in enumerate(dict.fromkeys(groups.values()))}
    lookup = np.array([order[groups[label]] for label in raw.categories])
    return pd.Categorical.from_codes(lookup[raw.codes], categories=pd.Index(list(order)))
