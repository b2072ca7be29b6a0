"""Counting the profiles of records that come in batches: what is kept are the profiles, not the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidTableError
from purtensor.kernels.sums import group_sums
from purtensor.tables.grouping import group_profiles

_TOLD_ROWS = 5
_MOST_WAITING = 1 << 18


@dataclass(slots=True)
class Column:
    """The distinct values of one column, in order of appearance.

    Attributes
    ----------
    values
        In pieces, as the batches brought them.
    first_rows
        The row in which each stands first, counted from 0.
    missing, missing_rows
        How many rows have no value, and the first of them.
    declared
        Whether the values came with an order of their own, as those of a categorical do.
    """

    values: list[pa.Array] = field(default_factory=list)
    first_rows: list[int] = field(default_factory=list)
    missing: int = 0
    missing_rows: list[int] = field(default_factory=list)
    declared: bool = False
    _code_of: dict[Any, int] = field(default_factory=dict)

    def codes(self, column: pa.Array, name: str, row: int) -> IntArray:
        """Return a batch's values as codes of the distinct ones, -1 where there is none; `row` is its first row.

        Raises
        ------
        InvalidTableError
            Values that are no labels, such as lists.
        """
        self.declared |= pa.types.is_dictionary(column.type)
        if not pa.types.is_dictionary(column.type):
            column = _encoded(column, name)
        labels = column.dictionary
        indices = np.asarray(arrow.fill_null(column.indices, -1), dtype=np.int64)
        known = np.full(len(labels) + 1, -1, dtype=np.int64)  # the last is what -1 finds
        fresh: list[int] = []
        for k, value in enumerate(_plain(labels).to_pylist()):
            if value is None or value != value:
                continue
            code = self._code_of.setdefault(value, len(self._code_of))
            if code == len(self.first_rows) + len(fresh):
                fresh.append(k)
            known[k] = code
        if fresh:
            self.values.append(labels.take(pa.array(fresh)))
            first = np.full(len(labels) + 1, -1, dtype=np.int64)
            first[indices[::-1]] = np.arange(len(indices) - 1, -1, -1)
            self.first_rows += [row + int(first[k]) for k in fresh]
        codes = known[indices]
        absent = np.flatnonzero(codes < 0)
        self.missing += len(absent)
        if len(absent) and len(self.missing_rows) < _TOLD_ROWS:
            self.missing_rows += (row + absent[: _TOLD_ROWS - len(self.missing_rows)]).tolist()
        return codes

    @property
    def size(self) -> int:
        """How many distinct values there are."""
        return len(self.first_rows)


@dataclass(frozen=True, slots=True)
class Groups:
    """The distinct profiles of records.

    Attributes
    ----------
    columns
        The distinct values of each attribute.
    codes
        One array an attribute, one entry a profile; -1 where the value is missing.
    counts, masses
        How many records each profile has, and the sum of their weights; None without weights.
    rows
        How many records there are.
    """

    columns: Mapping[str, Column]
    codes: tuple[IntArray, ...]
    counts: FloatArray
    masses: FloatArray | None
    rows: int


def group_batches(batches: Iterable[tuple[Mapping[str, pa.Array], FloatArray | None]], names: Sequence[str]) -> Groups:
    """Return the profiles of batches, each with its columns and, where there are any, its weights."""
    columns = {name: Column() for name in names}
    parts: list[tuple[tuple[IntArray, ...], FloatArray, FloatArray | None]] = []
    row = waiting = kept = 0
    for batch, weights in batches:
        codes = [columns[name].codes(batch[name], name, row) for name in names]
        ones = np.ones(len(codes[0]))
        parts.append(_grouped(codes, ones, weights, columns))
        row += len(ones)
        waiting += len(parts[-1][1])
        if waiting > max(_MOST_WAITING, 2 * kept):
            parts = [_merged(parts, columns)]
            waiting = kept = len(parts[0][1])
    if not parts:
        nothing = np.zeros(0)
        return Groups(columns, tuple(np.zeros(0, dtype=np.int64) for _ in names), nothing, None, 0)
    return Groups(columns, *_merged(parts, columns), row)


def _encoded(column: pa.Array, name: str) -> pa.DictionaryArray:
    try:
        return column.dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:  # lists, structures and the like
        raise InvalidTableError(
            f"attribute {name!r} has {column.type} values; the labels of one attribute are all strings, integers, "
            "booleans, intervals or dates: take one of their parts",
            code="no-labels",
            where=name,
            got=str(column.type),
        ) from error


def _plain(labels: pa.Array) -> pa.Array:
    """Return times as integers, which tell them apart also where Python has no such year; other values as they are."""
    return labels.view(f"int{labels.type.bit_width}") if pa.types.is_temporal(labels.type) else labels


def _merged(
    parts: Sequence[tuple[tuple[IntArray, ...], FloatArray, FloatArray | None]], columns: Mapping[str, Column]
) -> tuple[tuple[IntArray, ...], FloatArray, FloatArray | None]:
    codes = [np.concatenate(several) for several in zip(*(part[0] for part in parts), strict=True)]
    counts = np.concatenate([part[1] for part in parts])
    masses = [part[2] for part in parts if part[2] is not None]
    return _grouped(codes, counts, np.concatenate(masses) if masses else None, columns)


def _grouped(
    codes: Sequence[IntArray], counts: FloatArray, masses: FloatArray | None, columns: Mapping[str, Column]
) -> tuple[tuple[IntArray, ...], FloatArray, FloatArray | None]:
    """Return the distinct profiles among codes from -1 on, with the sums of what is given for each."""
    sizes = [column.size + 1 for column in columns.values()]
    group, distinct = group_profiles([code + 1 for code in codes], sizes)
    size = len(distinct[0])
    summed = None if masses is None else group_sums(masses, group, size)
    return tuple(code - 1 for code in distinct), np.bincount(group, counts, size).astype(np.float64), summed
