"""What a row adds up: a number for every member, from an attribute whose labels are numbers, or from a table."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from purtensor._options import is_number
from purtensor._typing import FloatArray, Table
from purtensor.constraints.labelled import Labelled, labelled_of_table
from purtensor.constraints.rows import Cells
from purtensor.errors import InvalidTableError, UnknownCategoryError
from purtensor.tables.coded import described
from purtensor.tables.domain import is_boolean
from purtensor.tables.profile_lookup import lookup


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
        place = lookup(table.onto(domain), columns)
        lost = np.flatnonzero(place < 0)
        if len(lost):
            raise UnknownCategoryError(
                f"the reference has {described(domain, [column[lost[0]] for column in columns])}, but the table "
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
        source = labelled_of_table(values, f"the values of {what}")
    else:
        raise InvalidTableError(
            f"the values of {what} must be a number, the name of an attribute or column, or a table, got {values!r:.40}"
        )
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
