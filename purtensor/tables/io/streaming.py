"""Counting records that memory does not take: grouped by the engine that holds them, on disk where it must be."""

from __future__ import annotations

import csv
import glob
import importlib
import importlib.util
import os
import re
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError

from purtensor._typing import FloatArray
from purtensor.errors import FileFormatError, InvalidTableError
from purtensor.tables.io.path_checks import require_file
from purtensor.tables.io.read_errors import first_line, reading, require_short_lines
from purtensor.tables.labels import recognised_labels
from purtensor.tables.memory import available_memory

_MOST_MEMORY = 2 << 30
"""What DuckDB takes before it goes to disk."""

_LONGEST_LINE = 2_000_000
"""Bytes; DuckDB's own limit."""

_TEXT = (".csv", ".csv.gz")
_COUNT = "number of records"
_MASS, _LOWEST, _ABSENT = "sum of weights", "lowest weight", "absent weights"


@dataclass(frozen=True, slots=True)
class Grouped:
    """The distinct profiles of records, missing values among them.

    Attributes
    ----------
    columns
        One series an attribute, one entry a profile.
    counts
        How many records each profile has.
    masses
        The sum of their weights; None without weights.
    """

    columns: dict[str, nw.Series[Any]]
    counts: FloatArray
    masses: FloatArray | None


def lazy_records(records: Any) -> nw.LazyFrame[Any] | None:
    """Return records that need not be read whole: a path, several, or a lazy frame of any library; else None.

    Raises
    ------
    FileFormatError
        A path whose ending is unknown, or a file that is damaged.
    UnreadableFileError
        A file that is not there, is a folder, or may not be opened.
    """
    paths = _paths(records)
    if paths:
        return _scanned(paths)
    if isinstance(records, Mapping) or type(records).__module__.split(".")[0] in ("numpy", "builtins"):
        return None
    try:
        frame = nw.from_native(records, pass_through=True)
    except DuplicateError:  # a frame in memory: whoever reads it tells
        return None
    return frame if isinstance(frame, nw.LazyFrame) else None


def group_records(lazy: nw.LazyFrame[Any], names: Sequence[str], weights: str | None) -> Grouped:
    """Return the profiles of lazy records with their numbers, grouped by the engine of the records.

    Raises
    ------
    InvalidTableError
        A weight that is missing, negative or no finite number.
    """
    asked = list(dict.fromkeys([*names, *([weights] if weights else [])]))
    lazy, called = _plainly_named(lazy, asked) if lazy.implementation.is_duckdb() else (lazy.select(*asked), {})
    counted = [nw.len().alias(_COUNT)]
    if weights is not None:
        column = nw.col(called.get(weights, weights))
        counted += [
            column.cast(nw.Float64).sum().alias(_MASS),
            column.cast(nw.Float64).min().alias(_LOWEST),
            column.is_null().sum().alias(_ABSENT),
        ]
    keys = [called.get(name, name) for name in names]
    grouped = lazy.group_by(*keys).agg(*counted)
    engine: dict[str, Any] = {"engine": "streaming"} if lazy.implementation.is_polars() else {}
    with reading("what holds the records"):
        frame = grouped.collect(**engine)
    counts = frame[_COUNT].to_numpy().astype(np.float64)
    columns = {name: frame[key].alias(name) for name, key in zip(names, keys, strict=True)}
    if weights is None:
        return Grouped(columns, counts, None)
    masses = np.asarray(frame[_MASS].to_numpy(), dtype=np.float64)
    absent = int(frame[_ABSENT].to_numpy().sum())
    if absent:
        raise InvalidTableError(f"the weight of {absent} records is missing")
    lowest = np.asarray(frame[_LOWEST].to_numpy(), dtype=np.float64)
    if not (np.isfinite(masses).all() and (lowest >= 0).all()):
        raise InvalidTableError("a weight is negative or no finite number; weights are masses")
    return Grouped(columns, counts, masses)


def _plainly_named(lazy: nw.LazyFrame[Any], names: list[str]) -> tuple[nw.LazyFrame[Any], dict[str, str]]:
    """Return columns of DuckDB as c0, c1, ..., and what each is called now: a.b it takes for column b of a table a."""
    called = {name: f"c{k}" for k, name in enumerate(names)}
    quoted = ", ".join('"' + name.replace('"', '""') + '" AS ' + short for name, short in called.items())
    return nw.from_native(lazy.to_native().project(quoted)), called


def _paths(records: Any) -> list[str]:
    given = records if isinstance(records, list | tuple) else [records]
    if not given or not all(isinstance(one, str | os.PathLike) for one in given):
        return []
    if isinstance(records, list | tuple) and all(isinstance(one, str) for one in given):
        return []  # a list of text is a column
    return [os.fspath(one) for one in given]


def is_text(records: Any) -> bool:
    """Tell whether records are files whose entries are all text."""
    paths = _paths(records)
    return bool(paths) and all(path.lower().endswith(_TEXT) for path in paths)


def _scanned(paths: list[str]) -> nw.LazyFrame[Any]:
    """Return the records of files through DuckDB, which spills to disk what memory does not take."""
    if importlib.util.find_spec("duckdb") is None:
        raise ImportError("records in files are read by DuckDB: pip install 'purtensor[streaming]'")
    duckdb: Any = importlib.import_module("duckdb")
    lower = [path.lower() for path in paths]
    if not (all(path.endswith(".parquet") for path in lower) or all(path.endswith(_TEXT) for path in lower)):
        raise FileFormatError(f"records are read from .parquet, .csv or .csv.gz files, all of one kind, not {paths}")
    memory = max(64 << 20, min(_MOST_MEMORY, available_memory() // 2))
    connection = duckdb.connect(config={"memory_limit": f"{memory >> 20}MiB", "preserve_insertion_order": "false"})
    files = _files(paths)
    literal = [re.sub(r"([*?[])", r"[\1]", file) for file in files]  # else DuckDB takes them for patterns
    with reading(", ".join(paths)):
        if lower[0].endswith(_TEXT):
            names = _common_header(files)
            _check_case(names, files[0])
            for file in files:
                require_short_lines(Path(file), _LONGEST_LINE)
            relation = _scanned_text(connection, literal, names)
        else:
            asked = "SELECT name, num_children FROM parquet_schema(?)"
            names = _columns_of(connection.execute(asked, [literal[0]]).fetchall())
            _check_named_once(names, files[0])
            _check_case(names, files[0])
            relation = connection.read_parquet(literal, hive_partitioning=False)
    weakref.finalize(relation, connection.close)  # DuckDB 1.4 and before let it close while what is read is in use
    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return frame


def _files(paths: list[str]) -> list[str]:
    """Return the files that paths mean: each that is there as it stands, else those that its wildcards match."""
    files = []
    for path in paths:
        found = [path] if os.path.exists(path) else sorted(glob.glob(path))
        for file in found or [path]:
            require_file(file, "a file of records")
        files += found
    return files


def _scanned_text(connection: Any, files: list[str], header: list[str]) -> Any:
    """Return CSV files as text, with nothing guessed: a reader that guesses leaves out rows that it finds odd.

    Of DuckDB's two readers only the parallel one tells of a quote that is never closed; a row beyond its buffer it
    leaves out without a word, so the lines are measured before.
    """
    return connection.read_csv(
        files,
        columns=dict.fromkeys(header, "VARCHAR"),
        header=True,
        auto_detect=False,
        strict_mode=True,
        sep=",",
        quotechar='"',
        escapechar='"',
        skiprows=0,
        parallel=True,
        hive_partitioning=False,
    )


def _check_case(names: list[str], file: str) -> None:
    """Refuse names that DuckDB takes for the same, and would change without a word."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise FileFormatError(f"{file} has columns {other!r} and {name!r}, which differ by case alone; rename one")


def _common_header(files: list[str]) -> list[str]:
    """Return the names of the columns, which all files have in the same order."""
    headers = [next(csv.reader([first_line(Path(file))], strict=True), []) for file in files]
    header = headers[0]
    for file, other in zip(files, headers, strict=True):
        if other != header:
            raise FileFormatError(f"{file} has the columns {other}, {files[0]} has {header}")
    if len(header) == 1 and re.search(r"[;\t|]", header[0]):
        raise FileFormatError(f"{files[0]} has the one column {header[0]!r}; the columns of a CSV have commas between")
    _check_named_once(header, files[0])
    return header


def _check_named_once(names: list[str], file: str) -> None:
    """Refuse columns without a name, or of one name, to which DuckDB gives other names without a word."""
    unnamed = next((k for k, name in enumerate(names, start=1) if not name), None)
    if not names or unnamed is not None:
        raise FileFormatError(f"column {unnamed or 1} of {file} has no name; name it or take it out")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FileFormatError(f"{file} has the column {twice!r} twice")


def _columns_of(schema: list[tuple[str, int | None]]) -> list[str]:
    """Return the names of the columns in a Parquet schema, written in depth: the whole first, parts behind theirs."""
    names, at = [], 1
    while at < len(schema):
        names.append(schema[at][0])
        inside = 1
        while inside and at < len(schema):
            inside += (schema[at][1] or 0) - 1
            at += 1
    return names


def recognised(column: nw.Series[Any]) -> nw.Series[Any]:
    """Return a column of text as a table in CSV has it: integers, booleans or intervals where all entries are such."""
    if column.dtype != nw.String:
        return column
    values = pd.Series(column.to_list(), dtype=object)
    present = values.notna()
    distinct = sorted(set(values[present]))
    labels = recognised_labels(distinct).tolist() if distinct else []
    known = dict(zip(distinct, labels, strict=True))
    told = values.map(lambda text: known.get(text) if isinstance(text, str) else None)
    return nw.from_native(pd.Series(told.tolist(), dtype=object), series_only=True)
