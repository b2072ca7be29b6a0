"""The columns that `purtensor decide` decides by, as categories: numbers in bins, and what becomes of gaps."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from purtensor._typing import FloatArray
from purtensor.cli.records import bins_typed
from purtensor.errors import InvalidTableError, UnknownAttributeError
from purtensor.records.bins import Bins, BinSpec, binned_numbers, make_bins
from purtensor.sklearn.columns import has_fractions, is_numeric, numbers
from purtensor.tables.labels import MISSING_CATEGORY, label_text

MISSING_REMEDY = "give --missing drop to leave such rows out, or --missing category to make a category of them"


def as_categories(
    records: pd.DataFrame, people: pd.DataFrame, predictors: Sequence[str], arguments: argparse.Namespace
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows to learn from and those to decide for, with the columns that are decided by as categories.

    Bins by quantiles are those of the records. A row that is dropped for a missing value is in neither.

    Raises
    ------
    UnknownAttributeError
        A column to bin that is not decided by.
    InvalidTableError
        A missing value under "raise", one of the response, a category "missing" beside missing values, or a column to
        bin that has no numbers.
    """
    response, bins = arguments.response, bins_typed(arguments.bins)
    for name in bins:
        if name not in (response, *predictors):
            raise UnknownAttributeError.among(name, [response, *predictors], "the set of columns to decide by")
    learned, asked = records.copy(), people.copy()
    masses = np.ones(len(records)) if arguments.weights is None else records[arguments.weights].to_numpy(np.float64)
    for name in (response, *predictors):
        _to_categories(name, [learned, asked] if name in asked else [learned], bins.get(name), masses)
    files = (arguments.file.name, (arguments.people or arguments.file).name)
    learned = _without_gaps(learned, [response], files[0], "drop" if arguments.missing == "drop" else "refuse")
    return (
        _without_gaps(learned, predictors, files[0], arguments.missing),
        _without_gaps(asked, predictors, files[1], arguments.missing),
    )


def _to_categories(name: str, frames: list[pd.DataFrame], spec: BinSpec | None, masses: FloatArray) -> None:
    """Bin a column of the frames in place, by its numbers in the first; write it as text where it has gaps."""
    columns = [nw.from_native(frame[name], series_only=True) for frame in frames]
    gaps = any(frame[name].isna().any() for frame in frames)
    if spec is None and gaps and is_numeric(columns[0]) and has_fractions(numbers(columns[0])):
        spec = "quantiles:5"  # as the classifier bins fractions that have no gaps
    if spec is not None:
        binned = [binned_numbers(column, name) for column in columns]
        bins = make_bins(spec, name, binned[0], masses)
        for frame, values in zip(frames, binned, strict=True):
            frame[name] = _in_bins(bins, values, frame.index)
    elif gaps:
        for frame in frames:
            frame[name] = frame[name].map(_text, na_action="ignore").astype(object)


def _in_bins(bins: Bins, values: FloatArray, index: pd.Index) -> pd.Series:
    labels = np.array([*bins.labels, None], dtype=object)  # None for the code -1 of a gap
    return pd.Series(labels[bins.codes(values)], index=index)


def _text(value: object) -> str:
    """Return a category as text; whole numbers with gaps come as floats, and are whole again."""
    return label_text(int(value) if isinstance(value, float) and value.is_integer() else value)


def _without_gaps(frame: pd.DataFrame, names: Sequence[str], file: str, missing: str) -> pd.DataFrame:
    """Return rows without missing values in some columns: refused, dropped, or made a category."""
    if missing == "drop":
        return frame.dropna(subset=list(names))
    for name in names:
        gaps = np.flatnonzero(frame[name].isna())
        if not len(gaps):
            continue
        if missing != "category":
            remedy = MISSING_REMEDY if missing == "raise" else "give --missing drop, to learn nothing from such rows"
            told = f"{file} has no {name} in {len(gaps):,} of {len(frame):,} rows, first in row {gaps[0] + 1}"
            raise InvalidTableError(f"{told}; {remedy}", code="missing-values", where=told, hint=remedy)
        if MISSING_CATEGORY in set(frame[name].dropna()):
            raise InvalidTableError(
                f"{file} has a category {MISSING_CATEGORY!r} in {name} beside missing values; rename it first"
            )
        frame = frame.assign(**{name: frame[name].fillna(MISSING_CATEGORY)})
    return frame
