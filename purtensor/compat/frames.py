"""Data frames with a column of weights, and targets as Series, as tables; rows keep their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownAttributeError, UnknownCategoryError
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain, check_attribute
from purtensor.tables.grouping import group_profiles
from purtensor.tables.masses import as_masses


@dataclass(frozen=True, eq=False)
class FrameTable:
    """The rows of a frame as a table over some of its columns.

    Attributes
    ----------
    table
        The weights summed by profile.
    weights
        The weight of each row.
    profile
        The profile of each row, a position in the table.
    """

    table: Table
    weights: FloatArray
    profile: IntArray

    def rescale(self, after: Table) -> FloatArray:
        """Return the weight of each row, times how much its profile has changed."""
        before = self.table.values
        ratio = np.divide(after.values, before, out=np.zeros(len(before)), where=before > 0)
        scaled: FloatArray = self.weights * ratio[self.profile]
        return scaled


def frame_table(frame: pd.DataFrame, columns: Sequence[Any], weight: Any) -> FrameTable:
    """Return the frame's weights as a table over the columns.

    Raises
    ------
    UnknownAttributeError
        A column that is not there.
    InvalidTableError
        A missing category, or a weight that is negative or no number; the message names the row.
    """
    for name in (*columns, weight):
        if name not in frame.columns:
            raise UnknownAttributeError.among(name, frame.columns, "the data frame")
        # what pandas returns for a name that occurs twice
        if isinstance(frame[name], pd.DataFrame):
            raise InvalidTableError(f"the data frame has two columns {name!r}; rename or drop one of them")

    def fail(row: int, what: str) -> Any:
        raise InvalidTableError(f"row {frame.index[row]!r}, column {weight!r}: {what}")

    weights = as_masses(frame[weight].to_numpy(), fail)
    codes, categories = [], []
    for name in columns:
        found, known = _factorize(frame[name], f"column {name!r}", frame.index)
        check_attribute(str(name), known)
        codes.append(found)
        categories.append(known)
    domain = Domain(tuple(map(str, columns)), tuple(categories))
    profile, profiles = group_profiles(codes, domain.sizes)
    sums = np.bincount(profile, weights=weights, minlength=len(profiles[0])).astype(np.float64, copy=False)
    return FrameTable(sparse_table(domain, profiles, sums), weights, profile)


def series_target(target: Any, columns: Sequence[Any], table: FrameTable) -> Marginal:
    """Return a target given as a Series (or a frame of one column) whose index holds the categories of the columns.

    Levels are matched by name where their names are those of the columns, else by their order.

    Raises
    ------
    InvalidOptionError
        No Series, or an index of another number of levels than there are columns.
    InvalidTableError
        A category that is missing or listed twice.
    UnknownCategoryError
        A profile with weight in the frame that the target does not list.
    """
    if isinstance(target, pd.DataFrame) and target.shape[1] == 1:
        target = target.iloc[:, 0]
    if not isinstance(target, pd.Series) or target.index.nlevels != len(columns):
        raise InvalidOptionError(
            f"the target over {', '.join(map(str, columns))} must be a Series with {len(columns)} index levels, "
            f"got {type(target).__name__} with {getattr(getattr(target, 'index', None), 'nlevels', 0)}"
        )
    index = target.index
    names = list(index.names) if set(index.names) == set(columns) else list(columns)
    what = f"the target over {', '.join(map(str, columns))}"
    pairs = [_factorize(index.get_level_values(level), what, index) for level in range(index.nlevels)]
    codes, categories = zip(*pairs, strict=True)

    def fail(row: int, what: str) -> Any:
        raise InvalidTableError(f"the target of {index[row]!r} {what}")

    values = as_masses(target.to_numpy(), fail)
    made = Marginal(sparse_table(Domain(tuple(map(str, names)), categories), codes, values, name="target"))
    _require_listed(index, names, table)
    return made


def _factorize(values: Any, what: str, rows: pd.Index[Any]) -> tuple[IntArray, pd.Index[Any]]:
    """Return the codes and the categories of labels, none of which may be missing."""
    codes, categories = pd.factorize(values)
    if len(codes) and codes.min() < 0:
        raise InvalidTableError(f"{what} has a missing value in row {rows[int(np.argmin(codes))]!r}")
    return codes, pd.Index(categories)


def _require_listed(index: pd.Index[Any], names: Sequence[Any], table: FrameTable) -> None:
    """Refuse profiles with weight that a target does not list: a target of 0 has to be said."""
    support = table.table.indexes["profile"][table.table.values > 0]
    needed = support.droplevel([level for level in support.names if level not in set(map(str, names))])
    needed = (needed.reorder_levels(list(map(str, names))) if needed.nlevels > 1 else needed).unique()
    # rows that a target does not list would keep their weights unnoticed
    lost = needed[~needed.isin(index)]
    if len(lost):
        listed = ", ".join(map(str, names))
        raise UnknownCategoryError(
            f"the target over {listed} does not list {lost[0]!r}, which has weight in the data frame; "
            "give it a target, 0 if it must be empty"
        )
