"""The profiles of records that are counted where they lie: in files, or by the engine of a lazy frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from purtensor._typing import FloatArray
from purtensor.errors import InvalidTableError
from purtensor.records.batch_groups import Column, Profiles, group_batches, require_exact
from purtensor.records.bins import Bins, BinSpec, make_bins
from purtensor.records.files import RecordFiles
from purtensor.records.text_labels import (
    comma_advice,
    factor_texts,
    find_spellings,
    missing_among,
    spellings_error,
    with_point,
)
from purtensor.tables.factorize import Factor, factorize, fraction_error
from purtensor.tables.io.read_errors import reading
from purtensor.tables.io.text_dialect import TextOptions
from purtensor.tables.masses import LARGEST_EXACT_INTEGER, as_masses

_COUNT = "number of records"
_MASS, _REST, _LOWEST, _ABSENT = "sum of weights", "rest of the sum", "lowest weight", "absent weights"
_HIGH = 1 << 32
"""What is above it and below is summed apart: neither sum overflows, up to 2^31 records."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """The distinct profiles of records, missing values among them.

    Attributes
    ----------
    factors
        One an attribute, with one code a profile.
    counts
        How many records each profile has.
    masses
        The sum of their weights; None without weights.
    missing
        Of each attribute with missing values, in which rows.
    bins
        Of each attribute that was binned, its bins.
    """

    factors: dict[str, Factor]
    counts: FloatArray
    masses: FloatArray | None
    missing: dict[str, str]
    bins: dict[str, Bins]


def group_files(files: RecordFiles, names: Sequence[str], weights: str | None, bins: Mapping[str, BinSpec]) -> Grouped:
    """Return the profiles of the records in files, read once.

    Raises
    ------
    FileFormatError
        A file is damaged.
    InvalidTableError
        A cell that other programs write for a missing value, a number that names no category, a weight that is not a
        mass.
    """
    columns, groups = group_batches(_check_weights(files.batches(names, weights), weights), names)
    rows = int(groups.counts.sum())
    if files.is_text:
        _refuse_spelled_missing(columns, groups, rows, files.options)
    factors, missing, made = {}, {}, {}
    for (name, column), codes in zip(columns.items(), groups.codes, strict=True):
        if name in bins:
            # quantiles are of records, and a distinct value stands for so many of them
            masses = np.bincount(codes[codes >= 0], groups.counts[codes >= 0], column.size).astype(np.float64)
            numbers = _numbers(column, name, files)
            made[name] = make_bins(bins[name], name, numbers, masses)
            factor = Factor(made[name].codes(numbers), pd.Index(made[name].labels))
        elif files.is_text:
            factor = _text_factor(column, name, files.options)
        else:
            factor = _recognise_factor(column, name, ordered=name in files.ordered)
        # code -1, a missing value, reads the -1 at the end
        own = np.append(factor.codes, -1)[codes]
        factors[name] = Factor(own, factor.categories)
        absent = int(groups.counts[own < 0].sum())
        if absent:
            missing[name] = f"{absent} of {rows} rows{_some(column.missing_rows, absent)}"
    return Grouped(factors, groups.counts, groups.masses, missing, made)


def _check_weights(batches: Any, weights: str | None) -> Any:
    row = 0
    for columns, masses in batches:
        if weights is not None:

            def fail(at: int, what: str, row: int = row) -> Any:
                raise InvalidTableError(f"the weight of row {row + at} (counted from 0) {what}", code="bad-weight")

            masses = as_masses(masses, fail)
        yield columns, masses
        row += len(next(iter(columns.values())))


def _text_factor(column: Column, name: str, options: TextOptions) -> Factor:
    labels, codes = factor_texts(column.texts, options)
    if labels.dtype.kind == "f":
        k = int(np.argmax(np.append(labels % 1 != 0, False)[codes]))
        raise fraction_error(name, column.texts[k], column.first_rows[k])
    return Factor(codes, labels)


def _recognise_factor(column: Column, name: str, *, ordered: bool) -> Factor:
    if not column.values:
        return Factor(np.zeros(0, dtype=np.int64), pd.Index([], dtype=object))
    values = pa.chunked_array(column.values)
    if ordered:
        # an array, or a chunked one where there is more text than an array holds
        plain = values.combine_chunks()
        plain = plain.chunk(0) if isinstance(plain, pa.ChunkedArray) else plain
        # every distinct value once, in a dictionary, whose order factorize keeps
        values = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(range(len(plain)), pa.int32()), plain)])
    return factorize(nw.from_native(values, series_only=True), name, np.array(column.first_rows))


def _numbers(column: Column, name: str, files: RecordFiles) -> FloatArray:
    """Return the distinct values of a column as numbers; NaN where one means that there is none."""
    if not files.is_text:
        return np.array([float(value) for value in column.texts])
    texts = column.texts
    absent = missing_among(texts, files.options)
    values = np.full(len(texts), np.nan)
    for k, text in enumerate(texts):
        if not absent[k]:
            try:
                values[k] = float(with_point(text, files.options))
            except ValueError:
                hint = comma_advice(text)
                raise InvalidTableError(
                    f"attribute {name!r} is binned, but has {text!r} in row {column.first_rows[k]} (counted from 0), "
                    f"which is not a number{f'; {hint}' if hint else ''}",
                    code="no-number-to-bin",
                    where=name,
                    got=text,
                    hint=hint,
                ) from None
    return values


def _refuse_spelled_missing(columns: Mapping[str, Column], groups: Profiles, rows: int, options: TextOptions) -> None:
    found = []
    for (name, column), code in zip(columns.items(), groups.codes, strict=True):
        for text in find_spellings(column.texts, options):
            k = column.texts.index(text)
            found.append((name, text, int(groups.counts[code == k].sum()), column.first_rows[k]))
    if found:
        raise spellings_error(found, rows)


def _some(rows: Sequence[int], count: int) -> str:
    if not rows:
        return ""
    return f" ({', '.join(map(str, rows))}{', ...' if count > len(rows) else ''})"


def lazy_frame(records: Any) -> nw.LazyFrame[Any] | None:
    """Return a lazy frame of any library, or a relation of DuckDB; None of anything else."""
    # columns in memory by name, or a single array: neither is a frame
    if isinstance(records, Mapping) or type(records).__module__.split(".")[0] in ("numpy", "builtins"):
        return None
    try:
        frame = nw.from_native(records, pass_through=True)
    except DuplicateError:  # a frame in memory: the reader reports it
        return None
    return frame if isinstance(frame, nw.LazyFrame) else None


def group_lazily(lazy: nw.LazyFrame[Any], names: Sequence[str], weights: str | None) -> Grouped:
    """Return the profiles of lazy records, grouped by the engine of the records.

    Raises
    ------
    InvalidTableError
        A weight that is missing, negative or no finite number; integers whose sum float64 does not hold.
    """
    asked = list(dict.fromkeys([*names, *([weights] if weights else [])]))
    lazy, called = _plainly_named(lazy, asked) if lazy.implementation.is_duckdb() else (lazy.select(*asked), {})
    counted = [nw.len().alias(_COUNT)]
    whole = False
    if weights is not None:
        weight = called.get(weights, weights)
        whole = lazy.collect_schema()[weight].is_integer()
        counted += [*_sums(nw.col(weight), whole=whole), nw.col(weight).is_null().sum().alias(_ABSENT)]
    keys = [called.get(name, name) for name in names]
    grouped = lazy.group_by(*keys).agg(*counted)
    # polars' other engine would load all records at once
    engine: dict[str, Any] = {"engine": "streaming"} if lazy.implementation.is_polars() else {}
    with reading("what holds the records"):
        frame = grouped.collect(**engine)
    counts = frame[_COUNT].to_numpy().astype(np.float64)
    factors = {name: factorize(frame[key], name) for name, key in zip(names, keys, strict=True)}
    missing = {
        name: f"{int(counts[factor.codes < 0].sum())} records"
        for name, factor in factors.items()
        if (factor.codes < 0).any()
    }
    return Grouped(factors, counts, None if weights is None else _masses(frame, whole=whole), missing, {})


def _sums(weight: Any, *, whole: bool) -> list[Any]:
    """Return the sums of weights and the lowest; of integers high and low digits apart, which no engine rounds."""
    if not whole:
        number = weight.cast(nw.Float64)
        return [number.sum().alias(_MASS), number.min().alias(_LOWEST)]
    number = weight.cast(nw.Int64)
    return [
        (number // _HIGH).sum().alias(_MASS),
        (number % _HIGH).sum().alias(_REST),
        number.min().alias(_LOWEST),
    ]


def _masses(frame: nw.DataFrame[Any], *, whole: bool) -> FloatArray:
    def numbers(name: str) -> npt.NDArray[np.float64]:
        return np.asarray(frame[name].to_numpy(), dtype=np.float64)

    absent = int(numbers(_ABSENT).sum())
    if absent:
        raise InvalidTableError(f"the weight of {absent} records is missing", code="missing-weight", got=absent)
    masses = numbers(_MASS)
    if whole:
        # in float64 first; only sums beyond 2^53 are worked out in Python's integers
        masses = masses * _HIGH + numbers(_REST)
        for k in np.flatnonzero(masses >= LARGEST_EXACT_INTEGER).tolist():
            require_exact(
                int(frame[_MASS][k]) * _HIGH + int(frame[_REST][k]),
                "the weights of one profile sum to",
                "divide the weights by a constant",
            )
    if not (np.isfinite(masses).all() and (numbers(_LOWEST) >= 0).all()):
        raise InvalidTableError("weights must be finite and not negative", code="bad-weight")
    return masses


def _plainly_named(lazy: nw.LazyFrame[Any], names: list[str]) -> tuple[nw.LazyFrame[Any], dict[str, str]]:
    """Return columns of DuckDB as c0, c1, ..., and what each is called now: a.b it takes for column b of a table a."""
    called = {name: f"c{k}" for k, name in enumerate(names)}
    quoted = ", ".join('"' + name.replace('"', '""') + '" AS ' + short for name, short in called.items())
    return nw.from_native(lazy.to_native().project(quoted)), called
