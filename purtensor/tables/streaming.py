"""Counting records that memory does not take: grouped by the engine that holds them, on disk where it must be."""

from __future__ import annotations

import importlib
import importlib.util
import os
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
from purtensor.tables.labels import recognised_labels
from purtensor.tables.memory import available_memory

_MOST_MEMORY = 2 << 30
"""What DuckDB takes before it goes to disk."""

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
        A path whose ending is unknown, or a file that cannot be read.
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
    counted = [nw.len().alias(_COUNT)]
    if weights is not None:
        column = nw.col(weights)
        counted += [column.cast(nw.Float64).sum().alias(_MASS), column.cast(nw.Float64).min().alias(_LOWEST),
                    column.is_null().sum().alias(_ABSENT)]  # fmt: skip
    grouped = lazy.select(*names, *([weights] if weights else [])).group_by(*names).agg(*counted)
    engine: dict[str, Any] = {"engine": "streaming"} if lazy.implementation.is_polars() else {}
    frame = grouped.collect(**engine)
    counts = frame[_COUNT].to_numpy().astype(np.float64)
    columns = {name: frame[name] for name in names}
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
    return bool(paths) and all(path.lower().endswith((".csv", ".csv.gz")) for path in paths)


def _scanned(paths: list[str]) -> nw.LazyFrame[Any]:
    """Return the records of files through DuckDB, which spills to disk what memory does not take."""
    if importlib.util.find_spec("duckdb") is None:
        raise ImportError("records in files are read by DuckDB: pip install 'purtensor[streaming]'")
    duckdb: Any = importlib.import_module("duckdb")
    memory = max(64 << 20, min(_MOST_MEMORY, available_memory() // 2))
    connection = duckdb.connect(config={"memory_limit": f"{memory >> 20}MiB", "preserve_insertion_order": "false"})
    endings = {"".join(Path(path).suffixes[-2:]).lower() for path in paths}
    try:
        if all(ending.endswith(".parquet") for ending in endings):
            relation = connection.read_parquet(paths)
        elif all(ending.endswith((".csv", ".csv.gz")) for ending in endings):
            relation = connection.read_csv(paths, header=True, all_varchar=True)
        else:
            raise FileFormatError(
                f"records are read from .parquet, .csv or .csv.gz files, all of one kind, not {paths}"
            )
    except duckdb.Error as error:
        raise FileFormatError(f"{', '.join(paths)} cannot be read: {error}") from error
    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return frame


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
