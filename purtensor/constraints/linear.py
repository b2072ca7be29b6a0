"""Any linear combination of the masses as a constraint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from purtensor._typing import IntArray, Table
from purtensor.constraints.ends import Ends, read_ends
from purtensor.constraints.labelled import Labelled, join_profiles, read_table
from purtensor.constraints.rows import Cells, RowBlock
from purtensor.errors import InvalidTableError, UnknownCategoryError
from purtensor.tables.domain import Domain, describe_profile, index_of_codes, join_some
from purtensor.tables.grouping import group_profiles
from purtensor.tables.translate import find_profiles


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A linear combination of the masses that must equal a target, or lie between two limits.

    Parameters
    ----------
    coefficients
        A table over attributes, and over the dimensions of the target, if it has any; each profile of the latter is a
        row. The coefficients do not depend on other attributes. Entries that the sparse layout does not list are 0;
        the dense layout must have every category of its attributes.
    target, lower, upper
        The target of the rows, or their limits: a number for a single row, or tables over the rows. A row that `lower`
        or `upper` does not list has no such limit.

    Raises
    ------
    InvalidTableError
        A coefficient or a target is NaN or infinite; neither target nor limits are given, or both; a lower limit
        exceeds the upper limit; or the target has dimensions that the coefficients do not have.
    UnknownAttributeError, UnknownCategoryError
        Raised when a reference is given: it lacks an attribute or category, or has one that the coefficients lack.

    Examples
    --------
    >>> import purtensor as pt
    >>> import xarray as xr
    >>> litres = xr.DataArray([0.0, 1.5, 3.0], dims="drinks", coords={"drinks": ["none", "some", "many"]})
    >>> pt.Linear(litres, 120.0)
    <linear in drinks: 1 row>
    """

    coefficients: Table
    target: Any = None
    lower: Any = field(default=None, kw_only=True)
    upper: Any = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    base: Table | None = field(default=None, kw_only=True, repr=False)
    ends: Ends = field(init=False, repr=False)
    _entries: Labelled = field(init=False, repr=False)

    def __post_init__(self) -> None:
        what = self.name or "the linear constraint"
        entries = read_table(self.coefficients, f"the coefficient of {what}")
        infinite = np.flatnonzero(~np.isfinite(entries.values))
        if len(infinite):
            raise InvalidTableError(
                f"the coefficient of {what} at ({entries.label(int(infinite[0]))}) must be finite, got "
                f"{entries.values[infinite[0]]}"
            )
        ends = read_ends(None, what, target=self.target, lower=self.lower, upper=self.upper)
        missing = [name for name in ends.attributes if name not in entries.domain.attributes]
        if missing:
            raise InvalidTableError(
                f"the target of {what} has the dimension {missing[0]!r}, which its coefficients do not have; they have "
                f"{join_some(entries.domain.attributes)}"
            )
        # each row would be one number, without a mass to multiply
        if len(ends.attributes) == len(entries.domain.attributes):
            raise InvalidTableError(
                f"the coefficients of {what} have no attribute to sum over: every dimension is one of the target; "
                "name the rows differently from the attributes"
            )
        # derived fields of a frozen dataclass
        object.__setattr__(self, "ends", ends)
        object.__setattr__(self, "_entries", entries)
        if not self.name:
            object.__setattr__(self, "name", f"linear in {', '.join(self.attributes)}")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the coefficients, without the dimensions of the target."""
        return tuple(name for name in self._entries.domain.attributes if name not in self.ends.attributes)

    def rows(self, cells: Cells) -> RowBlock:
        """Return the rows over cells, aligned by label."""
        rows = self.ends.listed
        return RowBlock(
            name=self.name,
            labels=self._labels(),
            coefficients=self.matrix_of(self._entries, cells),
            lower=self.ends.lower,
            upper=self.ends.upper,
            index=None if rows is None else index_of_codes(rows.domain, rows.codes),
        )

    def base_on(self, cells: Cells) -> sparse.csr_array | None:
        """Return for every row the coefficients of its denominator, for rates; None where it has none."""
        if self.base is None:
            return None
        return self.matrix_of(read_table(self.base, f"the base of {self.name}"), cells)

    def _labels(self) -> tuple[str, ...]:
        if self.ends.listed is None:
            return ("",)
        listed_rows = self.ends.listed
        if len(listed_rows.codes) == 1:
            names = [listed_rows.domain.categories[0][int(code)] for code in listed_rows.codes[0]]
            if all(isinstance(name, str) for name in names):  # rows that have a name of their own
                return tuple(names)
        return tuple(listed_rows.label(row) for row in range(len(self.ends.lower)))

    def matrix_of(self, entries: Labelled, cells: Cells) -> sparse.csr_array:
        """Return the matrix of entries over rows and attributes, a column per member."""
        own = entries.in_order(self.attributes)
        domain = cells.domain.select(self.attributes)
        columns = cells.columns(self.attributes)
        mapped = own.onto(domain)
        self._refuse_unknown(own, mapped, domain, columns)
        # coefficients of 0 for categories that the cells lack ask nothing
        used = np.flatnonzero((own.values != 0) & np.logical_and.reduce([code >= 0 for code in mapped]))
        row = self._row_of(entries)[used]
        shape = (len(self.ends.lower), cells.members)
        kept = row >= 0
        used, row = used[kept], row[kept]
        if not len(used):
            return cells.over_cells(sparse.csr_array(shape))
        # one column per profile of the coefficients' attributes, not per member: members are many more
        group, distinct = group_profiles([code[used] for code in mapped], domain.sizes)
        compact = sparse.csr_array((own.values[used], (row, group)), shape=(shape[0], len(distinct[0])))
        place = find_profiles(distinct, columns)
        there = np.flatnonzero(place >= 0)
        # members that agree on the attributes share one column of compact
        spread = sparse.csr_array((np.ones(len(there)), (place[there], there)), shape=(len(distinct[0]), shape[1]))
        return cells.over_cells(sparse.csr_array(compact @ spread))

    def _row_of(self, entries: Labelled) -> IntArray:
        """Return the row of every entry, -1 for rows that the target does not list."""
        if self.ends.listed is None:
            return np.zeros(len(entries.values), dtype=np.int64)
        own = entries.in_order(self.ends.attributes)
        _, _, (of_rows, of_entries) = join_profiles([self.ends.listed, own])
        # both were numbered together: a row finds its entries by that number
        place = np.full(int(max(of_rows.max(), of_entries.max())) + 1, -1)
        place[of_rows] = np.arange(len(of_rows))
        found: IntArray = place[of_entries]
        lost = np.flatnonzero((found < 0) & (own.values != 0))
        if len(lost):
            raise InvalidTableError(
                f"{self.name} has coefficients in the row ({own.label(int(lost[0]))}), which its target does not list"
            )
        return found

    def _refuse_unknown(
        self, own: Labelled, mapped: tuple[IntArray, ...], domain: Domain, columns: tuple[IntArray, ...]
    ) -> None:
        """Refuse categories that one side lacks: of the coefficients where not 0, of the reference where with mass."""
        for level, name in enumerate(domain.attributes):
            lost = np.flatnonzero((mapped[level] < 0) & (own.values != 0))
            if len(lost):
                raise UnknownCategoryError(
                    f"{self.name} has a coefficient for ({own.label(int(lost[0]))}), but the reference has no such "
                    f"category of {name!r}; it has {join_some(map(repr, domain.categories[level]))}"
                )
            reached = np.zeros(len(domain.categories[level]), dtype=bool)
            known = Labelled(own.domain.select([name]), (np.arange(len(own.domain.categories[level])),), own.values)
            there = known.onto(domain.select([name]))[0]
            reached[there[there >= 0]] = True
            missing = np.flatnonzero(~reached[columns[level]])
            if len(missing):
                raise UnknownCategoryError(
                    "the reference has mass in "
                    f"{describe_profile(domain.select([name]), [columns[level][missing[0]]])}, "
                    f"which the coefficients of {self.name} do not cover"
                )

    def __repr__(self) -> str:
        count = len(self.ends.lower)
        return f"<{self.name}: {count} row{'s' if count > 1 else ''}>"
