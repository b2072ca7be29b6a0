"""What each column of records holds: its distinct values, how often each occurs, and its gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from purtensor.records.text_labels import find_spellings, first_fraction, labels_of, missing_among, with_point
from purtensor.tables.io.text_dialect import TextOptions

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
    texts = [text for part in column.values for text in part.to_pylist()]
    blank = np.array(missing_among(texts, options), dtype=bool)
    missing = column.missing + int(counts[blank].sum())
    spelled = {text: int(counts[texts.index(text)]) for text in find_spellings(texts, options)}
    kept = [k for k, text in enumerate(texts) if not blank[k] and text not in spelled]
    present, own = [texts[k] for k in kept], counts[kept]
    if not present:
        return ColumnFacts("empty", pd.Index([], dtype=object), np.zeros(0), missing, spelled)
    if first_fraction(present, options) is not None:
        numbers = np.array([float(with_point(text, options)) for text in present])
        labels, codes = np.unique(numbers, return_inverse=True)
        return ColumnFacts("number", pd.Index(labels), _sum(codes, own), missing, spelled)
    found, codes = labels_of(present, options)
    return ColumnFacts(_kind(found), found, _sum(codes, own), missing, spelled)


def _of_arrow(column: Column, counts: FloatArray, ordered: bool) -> ColumnFacts:
    if not column.values:
        return ColumnFacts("empty", pd.Index([], dtype=object), np.zeros(0), column.missing, {})
    values = pa.chunked_array(column.values).to_pandas()
    facts = _facts(pd.Index(values), counts, column.missing)
    return facts if not ordered or facts.kind != "text" else _rename(facts, "categorical")


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
    index = pd.Index(counted.index.tolist()) if declared else counted.index
    facts = _facts(index, counted.to_numpy().astype(np.float64), missing)
    return _rename(facts, "categorical") if declared and facts.kind == "text" else facts


def _of_lazy(lazy: nw.LazyFrame[Any]) -> dict[str, ColumnFacts]:
    found = {}
    for name in lazy.collect_schema().names():
        grouped = lazy.select(name).group_by(name).agg(nw.len().alias(f"{name} rows")).collect()
        values, counts = grouped[name].to_pandas(), grouped[f"{name} rows"].to_numpy().astype(np.float64)
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


def _rename(facts: ColumnFacts, kind: str) -> ColumnFacts:
    return ColumnFacts(kind, facts.values, facts.counts, facts.missing, facts.spelled)


def _sum(codes: Any, counts: Sequence[float] | FloatArray) -> FloatArray:
    return np.bincount(codes, counts).astype(np.float64)
