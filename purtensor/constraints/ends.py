"""What rows must come to: a target, or a lower and an upper end, by label; and which profiles a row is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from purtensor._options import check_name
from purtensor._typing import Attributes, BoolArray, FloatArray, IntArray
from purtensor.constraints.labelled import Labelled, join_profiles, read_labelled
from purtensor.constraints.rows import Cells
from purtensor.errors import InvalidTableError, UnknownCategoryError
from purtensor.tables.domain import Domain, as_attributes, describe_profile, index_of_codes, join_some
from purtensor.tables.grouping import group_profiles
from purtensor.tables.translate import category_map, find_profiles


def group_names(by: Attributes) -> tuple[str, ...]:
    """Return the attributes whose labels define the groups; raise InvalidOptionError for values that are not names."""
    names = as_attributes(by)
    for name in names:
        check_name("an attribute of by", name)
    return names


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Lower and upper ends of rows over some attributes.

    Attributes
    ----------
    attributes
        What the rows are labelled by; none for a single row.
    listed
        The rows by label, its values unused; None where one pair of numbers goes for every label with mass.
    lower, upper
        Shape (rows,), or (1,) where `listed` is None; infinite where there is no end, equal for a target.
    """

    attributes: tuple[str, ...]
    listed: Labelled | None
    lower: FloatArray
    upper: FloatArray

    @property
    def is_target(self) -> bool:
        """Whether every row must come to one number."""
        return bool((self.lower == self.upper).all())


@dataclass(frozen=True, slots=True, eq=False)
class RowsOnMembers:
    """Rows found on the members of cells.

    Attributes
    ----------
    domain, codes
        The labels of the rows in the categories of the cells.
    place
        Shape (members,): the row of every member, -1 for none.
    lower, upper
        Shape (rows,).
    """

    domain: Domain
    codes: tuple[IntArray, ...]
    place: IntArray
    lower: FloatArray
    upper: FloatArray

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.lower)

    @property
    def labels(self) -> tuple[str, ...]:
        """The rows in words; the only row of no attribute is ''."""
        if not self.codes:
            return ("",)
        return tuple(describe_profile(self.domain, codes) for codes in zip(*self.codes, strict=True))

    @property
    def index(self) -> pd.MultiIndex | None:
        """The rows as an index with a level an attribute; None for the only row of no attribute."""
        return index_of_codes(self.domain, self.codes) if self.codes else None


def read_ends(
    attributes: Sequence[str] | None,
    what: str,
    *,
    target: Any = None,
    lower: Any = None,
    upper: Any = None,
    unlisted: tuple[float, float] = (-np.inf, np.inf),
) -> Ends:
    """Return the ends that a target, or lower and upper ends, mean; `unlisted` is for labels that one of them lacks.

    Raises
    ------
    InvalidTableError
        None of the three, a target together with ends, a lower end above the upper one, NaN, or other labels.
    """
    if target is None and lower is None and upper is None:
        raise InvalidTableError(f"{what} needs target=, lower= or upper=, got NoneType")
    if target is not None:
        if lower is not None or upper is not None:
            raise InvalidTableError(f"{what} has both a target and lower or upper; give only one of them")
        read = read_labelled(target, attributes, f"the target of {what}")
        values = np.array([read]) if isinstance(read, float) else read.values
        if not np.isfinite(values).all():
            raise InvalidTableError(f"the target of {what} must be finite, got {values[~np.isfinite(values)][0]}")
        return _of_parts(attributes, what, read, read, unlisted)
    low = -np.inf if lower is None else read_labelled(lower, attributes, f"the lower end of {what}")
    high = np.inf if upper is None else read_labelled(upper, attributes, f"the upper end of {what}")
    if isinstance(low, Labelled) and isinstance(high, Labelled) and attributes is None:
        if set(low.domain.attributes) != set(high.domain.attributes):
            raise InvalidTableError(
                f"the lower limit of {what} is over {join_some(low.domain.attributes)}, the upper limit over "
                f"{join_some(high.domain.attributes)}; both must have the same attributes"
            )
        # codes of both are compared column by column
        high = high.in_order(low.domain.attributes)
    return _of_parts(attributes, what, low, high, unlisted)


def _of_parts(
    attributes: Sequence[str] | None,
    what: str,
    low: float | Labelled,
    high: float | Labelled,
    unlisted: tuple[float, float],
) -> Ends:
    tables = [part for part in (low, high) if isinstance(part, Labelled)]
    if not tables:
        ends = Ends(tuple(attributes or ()), None, np.array([low]), np.array([high]))
        return _check(ends, what)
    # a target, which was read once and is both ends
    if low is high:
        return Ends(tables[0].domain.attributes, tables[0], tables[0].values, tables[0].values)
    domain, codes, places = join_profiles(tables)
    found = []
    for part, default in ((low, unlisted[0]), (high, unlisted[1])):
        values = np.full(len(codes[0]), part if isinstance(part, float) else default)
        if isinstance(part, Labelled):
            values[places[0 if part is tables[0] else 1]] = part.values
        found.append(values)
    return _check(Ends(domain.attributes, Labelled(domain, codes, found[0]), *found), what)


def _check(ends: Ends, what: str) -> Ends:
    wrong = np.flatnonzero(ends.lower > ends.upper)
    if len(wrong):
        row = int(wrong[0])
        where = "" if ends.listed is None else f" at {ends.listed.label(row)}"
        raise InvalidTableError(
            f"the lower limit of {what}{where} is {ends.lower[row]:g}, above the upper limit {ends.upper[row]:g}"
        )
    return ends


def place_rows(
    ends: Ends,
    cells: Cells,
    chosen: BoolArray | None,
    what: str,
    *,
    unlisted: tuple[float, float] | None = None,
) -> RowsOnMembers:
    """Return the rows over the members of cells, aligned by label.

    Parameters
    ----------
    chosen
        The members that rows are made of; all when None.
    unlisted
        The ends of further rows, for members whose labels have no row; such members are refused when None.

    Raises
    ------
    UnknownAttributeError
        The cells lack an attribute of the rows.
    UnknownCategoryError
        A row has a label that the cells lack and cannot be 0, or a chosen member has a label of no row.
    """
    domain = cells.domain.select(ends.attributes)
    everything = np.ones(cells.members, dtype=bool) if chosen is None else chosen
    # the only row of no attribute: every chosen member is in it
    if not ends.attributes:
        return RowsOnMembers(domain, (), np.where(everything, 0, -1), ends.lower, ends.upper)
    columns = cells.columns(ends.attributes)
    if ends.listed is None:
        return _every_label(ends, domain, columns, everything)
    # rows whose labels the cells lack are dropped, once `_refuse_unknown` has found that they ask nothing
    mapped = ends.listed.onto(domain)
    known = np.logical_and.reduce([code >= 0 for code in mapped])
    _refuse_unknown(ends, known, mapped, domain, what)
    codes = tuple(code[known] for code in mapped)
    lower, upper = ends.lower[known], ends.upper[known]
    place = find_profiles(codes, columns) if known.any() else np.full(cells.members, -1)
    lost = np.flatnonzero(everything & (place < 0))
    if len(lost) and (unlisted is None or not _all_known(ends, domain, [column[lost] for column in columns])):
        raise UnknownCategoryError(
            f"the reference has mass in ({describe_profile(domain, [column[lost[0]] for column in columns])}), for "
            "which "
            f"{what} has no number; give one, or exclude such profiles with of="
        )
    if len(lost) and unlisted is not None:
        group, more = group_profiles([column[lost] for column in columns], domain.sizes)
        # after the listed rows
        place[lost] = len(lower) + group
        codes = tuple(np.concatenate([own, new]) for own, new in zip(codes, more, strict=True))
        lower = np.concatenate([lower, np.full(len(more[0]), unlisted[0])])
        upper = np.concatenate([upper, np.full(len(more[0]), unlisted[1])])
    return RowsOnMembers(domain, codes, np.where(everything, place, -1), lower, upper)


def _every_label(ends: Ends, domain: Domain, columns: tuple[IntArray, ...], everything: BoolArray) -> RowsOnMembers:
    """Return a row for every label that has mass, all with the same ends."""
    group, codes = group_profiles([column[everything] for column in columns], domain.sizes)
    place = np.full(len(everything), -1, dtype=np.int64)
    place[everything] = group
    count = len(codes[0])
    return RowsOnMembers(domain, codes, place, np.repeat(ends.lower, count), np.repeat(ends.upper, count))


def _all_known(ends: Ends, domain: Domain, columns: list[IntArray]) -> bool:
    """Return whether the ends know every category of these members: what they do not list is left out on purpose."""
    if ends.listed is None:
        return True
    for own, categories, column in zip(ends.listed.domain.categories, domain.categories, columns, strict=True):
        known = np.zeros(len(categories), dtype=bool)
        mapped = category_map(own, categories)
        known[mapped[mapped >= 0]] = True
        if not known[column].all():
            return False
    return True


def _refuse_unknown(ends: Ends, known: BoolArray, mapped: tuple[IntArray, ...], domain: Domain, what: str) -> None:
    """Refuse rows over categories that the reference lacks; a row that may be 0 asks nothing of it."""
    # a row without profiles sums to 0, which only ends that exclude 0 contradict
    asked = np.flatnonzero(~known & ~((ends.lower <= 0) & (ends.upper >= 0)))
    if not len(asked) or ends.listed is None:
        return
    row = int(asked[0])
    level = next(k for k, code in enumerate(mapped) if code[row] < 0)
    name = ends.attributes[level]
    label = ends.listed.domain.categories[level][int(ends.listed.codes[level][row])]
    raise UnknownCategoryError(
        f"{what} is given for {name}={label!r}, but the reference has no such category of {name!r}; it has "
        f"{join_some(map(repr, domain.categories[level]))}"
    )


def incidence(placed: RowsOnMembers, values: FloatArray | None = None) -> sparse.csr_array:
    """Return the matrix with the values, or ones, of the members in their rows; exact zeros are left out."""
    there = placed.place >= 0
    columns = np.flatnonzero(there if values is None else there & (values != 0))
    entries = np.ones(len(columns)) if values is None else values[columns]
    shape = (placed.count, len(placed.place))
    if placed.count == 1:  # in order already
        return sparse.csr_array((entries, columns, np.array([0, len(columns)])), shape=shape)
    return sparse.csr_array((entries, (placed.place[columns], columns)), shape=shape)
