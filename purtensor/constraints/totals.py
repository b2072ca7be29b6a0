"""Totals that must hold: of a number over all profiles, or over those of each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._typing import Attributes, Table
from purtensor.constraints.ends import Ends, group_names, incidence, place_rows, read_ends
from purtensor.constraints.rows import Cells, RowBlock
from purtensor.constraints.values import Selection, Values, read_selection, read_values
from purtensor.errors import InvalidTableError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Total:
    """The sum of `values` over the profiles meant, in each group of `by`, lies between the ends; made by `total`."""

    values: Values
    by: tuple[str, ...]
    selection: Selection | None
    ends: Ends

    @property
    def name(self) -> str:
        """The constraint in words, such as 'total of income by region'."""
        return word_constraint("total", self.values, self.by, self.selection)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the cells must have."""
        chosen = () if self.selection is None else self.selection.attributes
        return tuple(dict.fromkeys([*self.by, *self.values.attributes, *chosen]))

    def rows(self, cells: Cells) -> RowBlock:
        """Return the rows over cells; errors as `total` says."""
        chosen = None if self.selection is None else self.selection.on(cells)
        placed = place_rows(self.ends, cells, chosen, self.name)
        # a single total of members that are cells themselves is about all of them: that needs no counts
        whole = not self.by and chosen is None and cells.aggregate is None and not self.values.counts
        counts = None if whole else cells.over_cells(incidence(placed))
        # of counts the coefficients are the counts themselves, and nothing is centred
        if counts is not None and self.values.counts:
            matrix = counts
        else:
            matrix = cells.over_cells(incidence(placed, self.values.on(cells)))
        return RowBlock(
            name=self.name,
            labels=placed.labels,
            coefficients=matrix,
            lower=placed.lower,
            upper=placed.upper,
            counts=None if self.values.counts else counts,
            index=placed.index,
        )

    def __repr__(self) -> str:
        return f"<{self.name}: {_word_ends(self.ends)}>"


def total(
    values: Any,
    *,
    by: Attributes = (),
    target: Any = None,
    lower: Any = None,
    upper: Any = None,
    of: Any = None,
) -> Total:
    """Return a constraint on the total of a variable, over all profiles or in each group of `by`.

    The total of a group is the sum over its profiles of value times mass; `total(1, ...)` counts. The function creates
    a constraint; for the sums of a table use `marginal(table, ...)`, for its records `to_records(table)`.

    Parameters
    ----------
    values
        A number, the same for every member (1 counts); the name of an attribute whose labels are all numbers, or of
        a numeric column of the records given to `calibrate`; or a table with a number for each profile.
    by
        The attributes whose profiles are the groups; none for a single total.
    target, lower, upper
        The target of each group, or its limits, in the units of the values times the mass: a number (for every group
        with mass), a mapping of labels to numbers, a Series, or a table over `by`.
    of
        Which profiles count: a dict of attributes and categories, such as {"sex": "f", "age": ["young", "old"]}, all
        of which must hold, or a list of such dicts, of which one must hold.

    Raises
    ------
    InvalidTableError
        No target and no limits, a target together with limits, a lower limit above the upper limit, NaN, or an
        attribute with a label that is not a number.
    UnknownAttributeError, UnknownCategoryError
        Raised when a reference is given: it lacks an attribute or a category, or has a group without a target.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.total("income", by="region", target={"north": 120.0, "south": 80.0})
    <total of income by region: 2 targets>
    >>> pt.total(1, of={"sex": "f"}, lower=40, upper=60)
    <count of sex=f: 40 to 60>
    """
    names = group_names(by)
    # what a caller writes who wants sums, not a constraint
    if isinstance(values, Table) and target is None and lower is None and upper is None:
        raise InvalidTableError(
            "total creates a constraint and needs target=, lower= or upper=; for the sums of a table use "
            "purtensor.marginal, for records purtensor.to_records"
        )
    read = read_values(values, "total")
    selection = read_selection(of, "of")
    what = word_constraint("total", read, names, selection)
    return Total(read, names, selection, read_ends(names, what, target=target, lower=lower, upper=upper))


def word_constraint(kind: str, values: Values, by: tuple[str, ...], selection: Selection | None) -> str:
    """Return a constraint in words, such as 'total of income by region where sex=f'."""
    groups = f" by {', '.join(by)}" if by else ""
    if values.counts:
        return f"count{'' if selection is None else f' of {selection}'}{groups}"
    return f"{kind} of {values}{groups}{'' if selection is None else f' where {selection}'}"


def _word_ends(ends: Ends) -> str:
    if ends.listed is not None:
        return f"{len(ends.lower)} {'targets' if ends.is_target else 'intervals'}"
    low, high = float(ends.lower[0]), float(ends.upper[0])
    if low == high:
        return f"{low:g}"
    return f"at most {high:g}" if low == -np.inf else f"at least {low:g}" if high == np.inf else f"{low:g} to {high:g}"
