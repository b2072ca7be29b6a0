"""Counting the profiles of records that come in batches: what is kept are the profiles, not the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as arrow

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidTableError
from purtensor.kernels.exact_levels import group_sums_in_numpy
from purtensor.tables.grouping import group_profiles, smallest_unsigned
from purtensor.tables.masses import LARGEST_EXACT_INTEGER

_TOLD_ROWS = 5
_MOST_WAITING = 1 << 17


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
    """

    values: list[pa.Array] = field(default_factory=list)
    first_rows: list[int] = field(default_factory=list)
    missing: int = 0
    missing_rows: list[int] = field(default_factory=list)
    _code_of: dict[Any, int] = field(default_factory=dict)

    def codes(self, column: pa.Array, name: str, row: int) -> IntArray:
        """Return a batch's values as codes of the distinct ones, -1 where there is none; `row` is its first row.

        Raises
        ------
        InvalidTableError
            Values that are not labels, such as lists.
        """
        # every distinct value of a batch is looked up once, not every row
        if not pa.types.is_dictionary(column.type):
            column = _encode(column, name)
        labels = column.dictionary
        indices = np.asarray(arrow.fill_null(column.indices, -1), dtype=np.int64)
        known = np.full(len(labels) + 1, -1, dtype=np.int64)  # the last is what -1 finds
        fresh: list[int] = []
        for k, value in enumerate(_plain(labels).to_pylist()):
            # only NaN differs from itself
            if value is None or value != value:
                continue
            code = self._code_of.setdefault(value, len(self._code_of))
            # the next code has just been given out: the value is new
            if code == len(self.first_rows) + len(fresh):
                fresh.append(k)
            known[k] = code
        if fresh:
            self.values.append(labels.take(pa.array(fresh)))
            first = np.full(len(labels) + 1, -1, dtype=np.int64)
            # backwards, so that of several rows the first stays
            first[indices[::-1]] = np.arange(len(indices) - 1, -1, -1)
            self.first_rows += [row + int(first[k]) for k in fresh]
        codes = known[indices]
        absent = np.flatnonzero(codes < 0)
        self.missing += len(absent)
        if len(absent) and len(self.missing_rows) < _TOLD_ROWS:
            self.missing_rows += (row + absent[: _TOLD_ROWS - len(self.missing_rows)]).tolist()
        return codes

    @property
    def texts(self) -> list[Any]:
        """The values as Python's."""
        return [value for part in self.values for value in part.to_pylist()]

    @property
    def size(self) -> int:
        """How many distinct values there are."""
        return len(self.first_rows)


@dataclass(frozen=True, slots=True)
class Profiles:
    """Profiles of records.

    Attributes
    ----------
    codes
        One array per attribute, one entry a profile. While batches come they are one more than the codes of the
        columns, 0 where a value is missing, in as few bytes as hold them; in the end -1 where it is missing.
    counts, masses
        How many records each profile has, and the sum of their weights; None without weights.
    """

    codes: tuple[npt.NDArray[Any], ...]
    counts: FloatArray
    masses: FloatArray | None


def group_batches(
    batches: Iterable[tuple[Mapping[str, pa.Array], FloatArray | None]], names: Sequence[str]
) -> tuple[dict[str, Column], Profiles]:
    """Return the values and the profiles of batches, each with its columns and, where there are any, its weights.

    Raises
    ------
    InvalidTableError
        Values that are not labels; whole weights of one profile whose sum float64 does not hold.
    """
    columns = {name: Column() for name in names}
    kept = Profiles(tuple(np.zeros(0, dtype=np.uint8) for _ in names), np.zeros(0), None)
    waiting: list[Profiles] = []
    row = grouped = 0
    for batch, weights in batches:
        found = [(column, column.codes(batch[name], name, row)) for name, column in columns.items()]
        codes = tuple((code + 1).astype(smallest_unsigned(column.size + 1)) for column, code in found)
        waiting.append(Profiles(codes, np.ones(len(codes[0])), weights))
        row += len(codes[0])
        # as many rows wait as profiles are kept, so that each is grouped a few times at most, however many come
        if row - grouped > max(_MOST_WAITING, 2 * len(kept.counts)):
            kept, waiting, grouped = _merge([kept, *waiting], columns), [], row
    kept = _merge([kept, *waiting], columns)
    return columns, Profiles(tuple(code.astype(np.int64) - 1 for code in kept.codes), kept.counts, kept.masses)


def _encode(column: pa.Array, name: str) -> pa.DictionaryArray:
    try:
        return column.dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:  # lists, structures and the like
        raise InvalidTableError(
            f"attribute {name!r} has {column.type} values; the labels of an attribute must all be strings, integers, "
            "booleans, intervals or dates: use one of their parts",
            code="no-labels",
            where=name,
            got=str(column.type),
        ) from error


def _plain(labels: pa.Array) -> pa.Array:
    """Return times as integers, which also represent years beyond the range of Python; other values unchanged."""
    return labels.view(f"int{labels.type.bit_width}") if pa.types.is_temporal(labels.type) else labels


def _merge(parts: Sequence[Profiles], columns: Mapping[str, Column]) -> Profiles:
    """Return the distinct profiles of all parts, with the sums of what each of them has."""
    codes = [np.concatenate(several) for several in zip(*(part.codes for part in parts), strict=True)]
    group, distinct = group_profiles(codes, [column.size + 1 for column in columns.values()])
    size = len(distinct[0])
    counts = np.bincount(group, np.concatenate([part.counts for part in parts]), size).astype(np.float64)
    # the profiles kept at the beginning are none, and have no weights
    given = [part.masses for part in parts if part.masses is not None]
    return Profiles(distinct, counts, sum_masses(np.concatenate(given), group, size) if given else None)


def sum_masses(masses: FloatArray, group: IntArray, count: int) -> FloatArray:
    """Return the sums of the masses of each group, exact to the last bits, and of whole masses to the last digit.

    In numpy: reading records needs no compiler, which takes 0.3 s and 120 MiB to load.

    Raises
    ------
    InvalidTableError
        A sum beyond the range of float64, or one of whole masses that float64 does not hold: a count that is one off
        is not a count.
    """
    with np.errstate(over="ignore"):  # the sums of profiles are refused below
        total = float(masses.sum())
    # whole numbers that sum to less than 2^53 add up exactly in any order
    if total < LARGEST_EXACT_INTEGER and np.array_equal(masses, np.floor(masses)):
        return np.bincount(group, masses, count).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = group_sums_in_numpy(masses, group, count)
    hint = "divide the weights by a constant"
    if not np.isfinite(sums).all():
        raise InvalidTableError(f"the weights of a profile sum to more than float64 can hold; {hint}", hint=hint)
    # beyond 2^53 a sum may be rounded: these few profiles are added up again in integers
    for profile in np.flatnonzero(sums >= LARGEST_EXACT_INTEGER):
        own = masses[group == profile]
        if np.array_equal(own, np.floor(own)):
            require_exact(sum(map(int, own)), "the weights of one profile sum to", hint)
    return sums


def require_exact(whole: int, told: str, hint: str) -> None:
    """Refuse an integer that float64 does not hold; `told` is what it is.

    Raises
    ------
    InvalidTableError
        It is such an integer.
    """
    if int(float(whole)) != whole:
        raise InvalidTableError(
            f"{told} {whole}, an integer that float64 cannot represent exactly; {hint}",
            code="inexact-integer",
            expected=f"an integer up to {LARGEST_EXACT_INTEGER}, or one that is its own float64",
            got=whole,
            hint=hint,
        )
