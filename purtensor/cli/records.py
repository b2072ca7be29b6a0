"""The user's own files, as counts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

import purtensor as pt
from purtensor._typing import FloatArray, Table
from purtensor.records.bins import Bins, BinSpec, bins_in
from purtensor.records.files import RecordFiles, open_records
from purtensor.records.tabulate import COUNT


def read_counts(
    path: Path | str,
    attributes: tuple[str, ...] | None = None,
    *,
    weights: str | None = None,
    missing: str = "raise",
    required: Sequence[str] = (),
    bins: Mapping[str, BinSpec] = MappingProxyType({}),
    text: Mapping[str, Any] = MappingProxyType({}),
) -> Table:
    """Return the counts in a file of records or of counts.

    Parameters
    ----------
    attributes
        The columns to tabulate; all but the weights when None.
    weights
        The column with a weight for each row; the one named `count`, if there is one, when None.
    missing, bins
        As `tabulate` takes them.
    required
        Columns that must be there, whichever are tabulated.
    text
        What is known of text, as `open_records` takes it.

    Raises
    ------
    UnreadableFileError
        It is not there, is a folder, or may not be opened.
    FileFormatError
        Of a kind that is not read, damaged, or with columns that have no name or the same name.
    UnknownAttributeError
        A column that the file does not have.
    """
    # only names are read so far: records of any size are counted where they lie
    records = open_records(path, **text)
    names = [str(name) for name in (records.names if isinstance(records, RecordFiles) else records.columns)]
    weights = weight_column(names, weights, Path(path).name)
    for name in (*required, *(attributes or ()), *bins, *([weights] if weights else [])):
        if name not in names:
            raise pt.UnknownAttributeError.among(name, names, where=Path(path).name)
    return pt.tabulate(records, attributes, weights=weights, missing=missing, bins=bins)


def counts_of(path: Path, arguments: argparse.Namespace, attributes: tuple[str, ...] | None = None) -> Table:
    """Return the counts in a file of records as the words ask, in which response and protected attributes are named.

    Raises
    ------
    InvalidOptionError
        No response or nothing protected was named.
    PurtensorError
        As `read_counts`.
    """
    if not (arguments.response and arguments.protected):
        raise pt.InvalidOptionError(
            f"{path} contains records: name the response and the protected attributes with --response and --protected"
        )
    return read_counts(
        path,
        attributes,
        weights=arguments.weights,
        missing=arguments.missing,
        required=(arguments.response, *arguments.protected),
        bins=bins_typed(arguments.bins),
        text=text_options(arguments),
    )


def read_frame(path: Path | str, arguments: argparse.Namespace, counted: Sequence[str] | None = None) -> pd.DataFrame:
    """Return all columns of a file without conversion: text, integers, or fractional numbers.

    Raises
    ------
    UnreadableFileError, FileFormatError
        As `read_counts`.
    InvalidTableError
        A cell that other programs write for a missing value, in the columns `counted`, or any.
    """
    records = open_records(path, **text_options(arguments))
    return records.to_pandas(counted=counted) if isinstance(records, RecordFiles) else records


def text_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the words say of text files."""
    return {
        "delimiter": {"tab": "\t", "\\t": "\t"}.get(arguments.delimiter, arguments.delimiter),
        "decimal": arguments.decimal,
        "encoding": arguments.encoding,
        "missing_values": arguments.missing_values,
        "not_missing": arguments.not_missing,
    }


def bins_typed(words: Sequence[str]) -> dict[str, BinSpec]:
    """Return the bins in words like age=30,45,65 or age=quantiles:4; or those of a table, by the path of its file."""
    bins: dict[str, BinSpec] = {}
    for word in words:
        # the last one: names may have an equals sign, edges have none
        name, equals, spec = word.rpartition("=")
        if not equals and Path(word).exists():
            bins |= _bins_in_file(word)
        elif not (name and equals and spec):
            raise _refuse_bins(word)
        elif spec.startswith("quantiles"):
            bins[name] = spec
        else:
            try:
                bins[name] = tuple(float(edge) for edge in spec.split(","))
            except ValueError:
                raise _refuse_bins(word) from None
    return bins


def _bins_in_file(path: str) -> dict[str, Bins]:
    found = bins_in(pt.load(path))
    if not found:
        raise pt.InvalidOptionError(f"--bins: no attribute of {path} is in bins", where="--bins", got=path)
    return found


def _refuse_bins(word: str) -> pt.InvalidOptionError:
    wanted = "age=30,45,65 or age=quantiles:4, or as a file with a table in bins"
    return pt.InvalidOptionError(
        f"--bins is written as {wanted}, not {word!r}", where="--bins", expected=wanted, got=word
    )


def label_bins(bins: Bins, numbers: FloatArray, index: pd.Index[Any]) -> pd.Series[Any]:
    """Return the label of the bin of each number, None for a gap."""
    labels = np.array([*bins.labels, None], dtype=object)  # a gap has the code -1
    return pd.Series(labels[bins.codes(numbers)], index=index)


def weight_column(names: Sequence[str], asked: str | None, file: str) -> str | None:
    """Return the column with the weights: the one that was requested, or else the one called `count`, if any."""
    if asked is not None and asked != COUNT and COUNT in names:
        raise pt.InvalidOptionError(
            f"{file} has a column {COUNT!r} and the weights are {asked!r}; rename {COUNT!r} if it is not a count"
        )
    return asked if asked is not None else (COUNT if COUNT in names else None)
