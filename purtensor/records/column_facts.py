"""What each column of records holds: its distinct values, how often each occurs, and its gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from purtensor._typing import FloatArray
from purtensor.errors import InvalidTableError
from purtensor.records.batch_groups import Column
from purtensor.records.files import RecordFiles
from purtensor.records.frames import read_records
from purtensor.records.groups import lazy_frame
from purtensor.records.text_labels import factor_texts, find_spellings
from purtensor.tables.io.text_dialect import TextOptions
from purtensor.tables.suspects import Suspect

_KINDS = {"mixed-integer-float": "number", "floating": "number", "decimal": "number", "datetime64": "date"}


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column.

    Attributes
    ----------
    kind
        "text", "integer", "number", "boolean", "interval", "date", "categorical", "mixed", or "empty".
    values
        The distinct values that are there; those of numbers in ascending order.
    counts
        How many rows have each.
    missing
        How many rows have no value.
    spelled
        Texts that stand for a missing value in files of others, with the number of their rows; not among `values`.
    """

    kind: str
    values: pd.Index[Any]
    counts: FloatArray
    missing: int
    spelled: dict[str, int]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum()) + self.missing + sum(self.spelled.values())


def column_facts(records: Any) -> dict[str, ColumnFacts]:
    """Return the facts on every column, by name.

    Raises
    ------
    FileFormatError
        A file is damaged.
    InvalidTableError
        These are not records, or records without rows.
    """
    if isinstance(records, RecordFiles):
        found = _of_files(records)
    else:
        lazy = lazy_frame(records)
        found = _of_lazy(lazy) if lazy is not None else _of_frame(records)
    if not found or not next(iter(found.values())).rows:
        raise InvalidTableError("the records are empty: there is nothing to inspect")
    return found


def _of_files(files: RecordFiles) -> dict[str, ColumnFacts]:
    columns = {name: Column() for name in files.names}
    counts: dict[str, FloatArray] = {name: np.zeros(0) for name in files.names}
    row = 0
    for batch, _ in files.batches(files.names):
        for name, column in columns.items():
            codes = column.codes(batch[name], name, row)
            own = np.bincount(codes[codes >= 0], minlength=column.size).astype(np.float64)
            # new values get new codes: those of earlier batches keep their places
            own[: len(counts[name])] += counts[name]
            counts[name] = own
        row += len(next(iter(batch.values())))
    if files.is_text:
        return {name: _of_text(column, counts[name], files.options) for name, column in columns.items()}
    return {name: _of_arrow(column, counts[name], name in files.ordered) for name, column in columns.items()}


def _of_text(column: Column, counts: FloatArray, options: TextOptions) -> ColumnFacts:
    texts = column.texts
    spelled = {text: int(counts[texts.index(text)]) for text in find_spellings(texts, options)}
    # spellings of other programs are told apart, and are no values either
    labels, codes = factor_texts(texts, replace(options, missing_values=(*options.missing_values, *spelled)))
    missing = column.missing + int(counts[codes < 0].sum()) - sum(spelled.values())
    kind = "number" if labels.dtype.kind == "f" else _kind(labels)
    own = np.bincount(codes[codes >= 0], counts[codes >= 0], len(labels))
    return ColumnFacts(kind, labels, own.astype(np.float64), missing, spelled)


def _of_arrow(column: Column, counts: FloatArray, ordered: bool) -> ColumnFacts:
    if not column.values:
        return ColumnFacts("empty", pd.Index([], dtype=object), np.zeros(0), column.missing, {})
    values = pa.chunked_array(column.values).to_pandas()
    facts = _facts(pd.Index(values), counts, column.missing)
    return replace(facts, kind="categorical") if ordered and facts.kind == "text" else facts


def _of_frame(records: Any) -> dict[str, ColumnFacts]:
    source = read_records(records)
    return {name: _of_series(column) for name, column in source.select(list(source.names)).items()}


def _of_series(column: nw.Series[Any]) -> ColumnFacts:
    values = column.to_pandas()
    declared = isinstance(values.dtype, pd.CategoricalDtype)
    missing = int(values.isna().sum())
    try:
        counted = values.dropna().value_counts(sort=False)
    except TypeError:  # lists and the like, of which nothing can be counted
        return ColumnFacts("mixed", pd.Index([], dtype=object), np.zeros(0), len(values), {})
    counted = counted[counted > 0] if declared else counted
    # the values of a categorical, without the categories that do not occur
    index = pd.Index(counted.index.tolist()) if declared else counted.index
    facts = _facts(index, counted.to_numpy().astype(np.float64), missing)
    return replace(facts, kind="categorical") if declared and facts.kind == "text" else facts


def _of_lazy(lazy: nw.LazyFrame[Any]) -> dict[str, ColumnFacts]:
    found = {}
    for name in lazy.collect_schema().names():
        grouped = lazy.select(name).group_by(name).agg(nw.len().alias(f"{name} rows")).collect()
        values, counts = grouped[name].to_pandas(), grouped[f"{name} rows"].to_numpy().astype(np.float64)
        # the group of missing values is one row, or two: of null and of NaN
        gone = values.isna().to_numpy(dtype=bool)
        found[name] = _facts(pd.Index(values[~gone]), counts[~gone], int(counts[gone].sum()))
    return found


def _facts(values: pd.Index[Any], counts: FloatArray, missing: int) -> ColumnFacts:
    kind = _kind(values)
    spelled: dict[str, int] = {}
    if kind == "text":
        texts = values.tolist()
        spelled = {text: int(counts[texts.index(text)]) for text in find_spellings(texts, TextOptions())}
        kept = ~values.isin(list(spelled))
        values, counts = values[kept], counts[kept]
    if kind == "number":
        numbers = np.asarray(values, dtype=np.float64)
        whole = bool((numbers % 1 == 0).all() and (np.abs(numbers) < 2**53).all())
        values, kind = pd.Index(numbers.astype(np.int64) if whole else numbers), "integer" if whole else "number"
    if kind == "integer":
        values = pd.Index(values.tolist())  # of a list they are objects
    if kind in ("number", "integer"):
        order = np.argsort(values.to_numpy(), kind="stable")
        values, counts = values[order], counts[order]
    return ColumnFacts(kind, values, counts, missing, spelled)


def _kind(values: pd.Index[Any]) -> str:
    """Return what the values are, in words."""
    if not len(values):
        return "empty"
    found = pd.api.types.infer_dtype(values, skipna=True)
    return _KINDS.get(found, "text" if found == "string" else found)


def look_of(facts: ColumnFacts, suspect: Suspect | None) -> str:
    """Return what a column looks like, in the words of `Inspection.columns`."""
    if suspect is not None:
        return suspect.kind
    if facts.kind == "mixed":
        return "values of several types"
    return "constant" if len(facts.values) + bool(facts.missing or facts.spelled) <= 1 else "attribute"


def facts_frame(facts: Mapping[str, ColumnFacts], looks: Mapping[str, str], tells: Mapping[str, float]) -> pd.DataFrame:
    """Return the facts with one row per column: see `Inspection.columns`."""
    rows = {
        name: {
            "type": one.kind,
            "categories": len(one.values),
            "missing": one.missing + sum(one.spelled.values()),
            "rare": int(one.counts.min()) if len(one.counts) else 0,
            "examples": ", ".join(_shorten(value) for value in one.values[:3].tolist()),
            "looks_like": looks[name],
            "tells": tells.get(name, np.nan),
        }
        for name, one in facts.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("column")


def _shorten(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 20 else f"{text[:17]}..."
