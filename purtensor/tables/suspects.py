"""Columns that are hardly the attributes that they are taken for: weights, identifiers, numbers without bins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

WEIGHT, IDENTIFIER, NUMBER, MANY = "weight or count", "identifier", "number to bin", "many categories"

# among them perwt, which is IPUMS's, and fnlwgt, of UCI's Adult
_COUNTED = re.compile(
    r"(?:.*[_. ])?(?:[a-z]{0,3}weights?|[a-z]{0,3}wgts?|[a-z]{0,3}wts?|perwt|freq(?:uency)?|counts?|cases)|n|fnlwgt"
    r"|(?:weight|wgt|wt)s?[_. ]\w*"
)
# __index_level_0__ is pandas' index in Parquet files, 'Unnamed: 0' that in CSV files
_IDENTIFYING = re.compile(
    r"(?:.*[_. ])?(?:id|uuid|guid|ssn|index|row[_. ]?(?:names?|numbers?|id)?)|__index_level_\d+__|unnamed: ?\d+"
)
_FEW_ROWS = 50
"""Fewer rows have as many different values without being distinguished by them."""

_MANY_NUMBERS = 30
_MANY_LABELS = 200
_OWN = 0.5
"""A column with more categories than this share of the rows names rows, rather than groups of them."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """What a column looks like, rather than an attribute.

    Attributes
    ----------
    kind
        `WEIGHT`, `IDENTIFIER`, `NUMBER` or `MANY`.
    evidence
        What speaks for it.
    hint
        What to type.
    """

    kind: str
    evidence: str
    hint: str

    def __str__(self) -> str:
        return f"{self.evidence}; {self.hint}"


def is_named_like_count(name: str) -> bool:
    """Return whether a column is called as weights and counts are: pweight, wgt, Freq, n."""
    return bool(_COUNTED.fullmatch(name.strip().lower()))


def suspect(name: str, categories: pd.Index[Any], rows: int) -> Suspect | None:
    """Return what a column with these categories in so many rows looks like; None where an attribute is likely.

    Fractional numbers are given as float64; whole ones, which records have as categories, as integers.
    """
    kinds, size = categories.dtype.kind if isinstance(categories.dtype, np.dtype) else "O", len(categories)
    number = kinds in "iuf"
    plain = name.strip().lower()
    if number and size and categories.min() >= 0 and is_named_like_count(name):
        message = f"column {name!r} has the name of a weight or a count, and only numbers ({size:,} different)"
        return Suspect(WEIGHT, message, f"give weights={name!r} if it is the number of individuals per row")
    whole = number and not (kinds == "f" and (categories % 1 != 0).any())
    named = bool(_IDENTIFYING.fullmatch(plain)) and size > 2 and 2 * size > rows
    # consecutive numbers, one a row
    counted = whole and size == rows and int(categories.max()) - int(categories.min()) == rows - 1
    own = rows >= _FEW_ROWS and size > _OWN * rows
    if named or (own and (counted or not number)):
        message = (
            f"column {name!r} has {size:,} categories in {rows:,} rows: it identifies rows and does not group them"
        )
        return Suspect(IDENTIFIER, message, "leave it out")
    if number and (size > _MANY_NUMBERS or not whole):
        message = f"column {name!r} has {size:,} different numbers, each of which would be a separate category"
        return Suspect(NUMBER, message, f"bin it, for example with bins={{{name!r}: 'quantiles:4'}}, or remove it")
    if size > _MANY_LABELS:
        message = f"column {name!r} has {size:,} categories in {rows:,} rows"
        return Suspect(MANY, message, "merge similar ones, or remove it")
    return None
