"""What a row adds up, and over which members: numbers of attributes or tables, and selections by category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from purtensor._options import is_number, items_of
from purtensor._typing import BoolArray, FloatArray, Table
from purtensor.constraints.labelled import Labelled, read_table
from purtensor.constraints.rows import Cells
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownCategoryError
from purtensor.tables.domain import describe_profile, is_boolean
from purtensor.tables.translate import find_profiles


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """A number for every member: the same for all, the label of an attribute, or looked up in a table."""

    source: float | str | Labelled

    @property
    def attributes(self) -> tuple[str, ...]:
        """What the numbers depend on."""
        if isinstance(self.source, Labelled):
            return self.source.domain.attributes
        return (self.source,) if isinstance(self.source, str) else ()

    def __str__(self) -> str:
        if isinstance(self.source, Labelled):
            return f"values by {', '.join(self.attributes)}"
        return self.source if isinstance(self.source, str) else f"{self.source:g}"

    @property
    def counts(self) -> bool:
        """Whether every profile counts as 1."""
        return self.source == 1.0

    def on(self, cells: Cells) -> FloatArray:
        """Return the number of every member of the cells.

        Raises
        ------
        UnknownAttributeError
            The reference has no category for an attribute.
        UnknownCategoryError
            A profile of the reference has no number in the table.
        InvalidTableError
            A label that is not a number.
        """
        if isinstance(self.source, float):
            return np.full(cells.members, self.source)
        if isinstance(self.source, str):
            column = cells.numbers.get(self.source)
            return _of_labels(self.source, cells) if column is None else column
        table = self.source
        domain = cells.domain.select(table.domain.attributes)
        columns = cells.columns(domain.attributes)
        # -1 where the table has no number: an error, since a missing number is not 0
        place = find_profiles(table.onto(domain), columns)
        lost = np.flatnonzero(place < 0)
        if len(lost):
            raise UnknownCategoryError(
                f"the reference has {describe_profile(domain, [column[lost[0]] for column in columns])}, but the table "
                "of values has no number for it"
            )
        return table.values[place]


def read_values(values: Any, what: str) -> Values:
    """Return what a row adds up: a finite number, the name of an attribute, or a table of numbers.

    Raises
    ------
    InvalidTableError
        Something else, NaN or infinity.
    """
    if isinstance(values, str):
        return Values(values)
    if is_number(values):
        source: float | Labelled = float(values)
    elif isinstance(values, Table):
        source = read_table(values, f"the values of {what}")
    else:
        raise InvalidTableError(
            f"the values of {what} must be a number, the name of an attribute or column, or a table, got {values!r:.40}"
        )
    # an infinite value would make every sum with mass infinite
    numbers = np.atleast_1d(source if isinstance(source, float) else source.values)
    if not np.isfinite(numbers).all():
        raise InvalidTableError(f"the values of {what} must be finite, got {numbers[~np.isfinite(numbers)][0]}")
    return Values(source)


def _of_labels(name: str, cells: Cells) -> FloatArray:
    position = cells.domain.position(name)
    # labels without a profile may be anything
    used = np.unique(cells.codes[position])
    categories = cells.domain.categories[position]
    numbers = np.zeros(len(categories))
    for code in used.tolist():
        label = categories[code]
        if is_boolean(label) or not isinstance(label, Real) or not np.isfinite(float(label)):
            raise InvalidTableError(
                f"the labels of {name!r} must all be numbers to be summed, got {label!r}; to count profiles use "
                f"values 1 and of={{{name!r}: {label!r}}}, or give a table with a number for each label"
            )
        numbers[code] = float(label)
    return numbers[cells.codes[position]]


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Profiles of which one of the alternatives holds: every attribute in it has one of its categories."""

    alternatives: tuple[dict[str, tuple[Any, ...]], ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are examined."""
        return tuple(dict.fromkeys(name for part in self.alternatives for name in part))

    def on(self, cells: Cells) -> BoolArray:
        """Return for every member of the cells whether it is meant.

        Raises
        ------
        UnknownAttributeError, UnknownCategoryError
            The cells have no such attribute or category.
        """
        # or over the alternatives, and within each over its attributes
        chosen = np.zeros(cells.members, dtype=bool)
        for part in self.alternatives:
            holds = np.ones(len(chosen), dtype=bool)
            for name, labels in part.items():
                wanted = np.zeros(len(cells.domain.categories[cells.domain.position(name)]), dtype=bool)
                wanted[[cells.domain.code(name, label) for label in labels]] = True
                holds &= wanted[cells.columns([name])[0]]
            chosen |= holds
        return chosen

    def __str__(self) -> str:
        parts = [
            ", ".join(f"{name}={'|'.join(map(str, labels))}" for name, labels in part.items())
            for part in self.alternatives
        ]
        return " or ".join(parts)


def read_selection(of: Any, option: str) -> Selection | None:
    """Return the profiles that a dict, or a list of dicts, means; None for all of them.

    Raises
    ------
    InvalidOptionError
        Something else, or a dict or a list of categories without an item.
    """
    # None is every profile: no mask is made for it
    if of is None:
        return None
    parts = [of] if isinstance(of, Mapping) else items_of(of)
    if isinstance(of, str) or not parts or not all(isinstance(part, Mapping) and part for part in parts):
        raise InvalidOptionError(
            f"{option} must be a dict of attributes and categories, such as {{'sex': 'f'}}, or a list of such dicts, "
            f"got {of!r}"
        )
    return Selection(tuple({str(name): _labels(part[name], name, option) for name in part} for part in parts))


def _labels(value: Any, name: str, option: str) -> tuple[Any, ...]:
    # only containers hold several categories: a string or a tuple-like label of another type is one
    several = items_of(value) if isinstance(value, list | tuple | set | frozenset | np.ndarray) else [value]
    if not several:
        raise InvalidOptionError(f"{option} must name at least one category of {name!r}, got none")
    return tuple(several)
