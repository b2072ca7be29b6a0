"""Domains: attributes with their ordered categories."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from purtensor._options import items_of
from purtensor._typing import IntArray, Profile
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownAttributeError, UnknownCategoryError

PROFILE = "profile"
"""The dimension of a sparse table; no attribute may have this name."""


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Attributes, each with its categories in order."""

    attributes: tuple[str, ...]
    categories: tuple[pd.Index[Any], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of categories of each attribute."""
        return tuple(len(index) for index in self.categories)

    @property
    def size(self) -> int:
        """The number of all profiles, observed or not, as an exact integer."""
        return math.prod(self.sizes)

    def position(self, attribute: str) -> int:
        """Return where `attribute` stands, or raise UnknownAttributeError."""
        try:
            return self.attributes.index(attribute)
        except ValueError:
            raise UnknownAttributeError.among(attribute, self.attributes) from None

    def select(self, attributes: Sequence[str]) -> Domain:
        """Return the domain of `attributes` alone, in the order asked."""
        return Domain(tuple(attributes), tuple(self.categories[self.position(name)] for name in attributes))

    def code(self, attribute: str, category: Any) -> int:
        """Return the code of a category, or raise UnknownCategoryError."""
        index = self.categories[self.position(attribute)]
        label = category.item() if getattr(category, "shape", None) == () else category  # a number of numpy, or xarray
        # not get_loc: to pandas True and 1 are the same label
        found = [code for code, known in enumerate(index) if is_same_category(known, label)]
        if not found:
            raise UnknownCategoryError.among(category, attribute, index.tolist())
        return found[0]


def is_same_category(one: Any, other: Any) -> bool:
    """Return whether two labels are one category: True and 1 are not, 1 and numpy's 1 are."""
    # arrays and pd.NA compare to something that is no boolean
    equal = one == other
    return is_boolean(equal) and bool(equal) and is_boolean(one) == is_boolean(other)


def is_boolean(label: Any) -> bool:
    """Return whether a label is a boolean, of Python or numpy."""
    return type(label).__name__ in {"bool", "bool_"}


def join_some(values: Iterable[Any], most: int = 8) -> str:
    """Return the values as text for a message, the tail counted when there are many."""
    items = [str(value) for value in values]
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def as_attributes(attributes: str | Iterable[str], domain: Domain | None = None) -> tuple[str, ...]:
    """Return attribute names as a tuple, each checked: known in `domain`, none twice; a single name may stand alone."""
    found = [attributes] if isinstance(attributes, str) else items_of(attributes)
    if found is None or not all(isinstance(name, Hashable) for name in found):
        raise InvalidOptionError(f"attributes must be given by name, one or several, got {attributes!r}")
    # a set has no order of its own, and another one in the next process
    names = tuple(sorted(found, key=str) if isinstance(attributes, set | frozenset) else found)
    repeated = sorted(str(name) for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise InvalidTableError(f"attribute {repeated[0]!r} must be named once, got {names}")
    if domain is not None:
        for name in names:
            domain.position(name)
    return names


def label_of(domain: Domain, codes: Sequence[Any]) -> Profile:
    """Return the categories that the codes stand for, one per attribute."""
    return tuple(index[int(code)] for index, code in zip(domain.categories, codes, strict=True))


def describe_profile(domain: Domain, codes: Sequence[Any]) -> str:
    """Return a profile as text for messages, such as 'sex=male, race=white'."""
    return ", ".join(f"{name}={label}" for name, label in zip(domain.attributes, label_of(domain, codes), strict=True))


def check_attribute(name: Any, categories: pd.Index[Any]) -> None:
    """Refuse a name that is not a plain text, and categories that are missing, repeated or of several levels."""
    if not isinstance(name, str) or not name:
        raise InvalidTableError(f"attribute names must be strings that are not empty, got {name!r}")
    if name == PROFILE:
        raise InvalidTableError(f"{PROFILE!r} is the dimension of sparse tables; rename the attribute")
    if isinstance(categories, pd.MultiIndex):
        raise InvalidTableError(f"attribute {name!r} has a MultiIndex of labels; each category must have one label")
    if categories.hasnans:
        raise InvalidTableError(f"attribute {name!r} has a missing value among its categories")
    if not categories.is_unique:
        twice = categories[categories.duplicated()]
        raise InvalidTableError(f"attribute {name!r} has the category {twice[0]!r} twice")


def index_of_codes(domain: Domain, codes: Sequence[IntArray]) -> pd.MultiIndex:
    """Return an index with a level for each attribute, from codes."""
    levels: list[Any] = list(domain.categories)
    columns: list[Any] = list(codes)
    # verifying would cost a pass over all codes, which the callers have checked
    return pd.MultiIndex(levels=levels, codes=columns, names=list(domain.attributes), verify_integrity=False)
