"""The user's own files, as counts."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from purtensor._typing import Table
from purtensor.errors import FileFormatError, InvalidOptionError, InvalidTableError, UnknownAttributeError
from purtensor.tables.io.parquet import require_room_for_rows
from purtensor.tables.io.path_checks import require_file
from purtensor.tables.io.read_errors import reading, require_even_rows, require_room
from purtensor.tables.tabulate import MISSING_REMEDY, tabulate

try:
    import pyarrow.parquet as parquet
except ImportError:  # an optional extra
    parquet = None

COUNT = "count"
"""The column that makes a file one of counts."""

PROBABILITY = "probability"
"""The column that makes a file a distribution."""

REMEDY = "give --missing drop to leave such rows out, or --missing category to count them as a category"
"""In the words of the command line."""

KINDS = ".csv, .tsv (also .gz) or .parquet"

_INTEGER = r"(?:0|-?[1-9][0-9]{0,17})"
_DECIMAL = r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a file to use, and how.

    Attributes
    ----------
    attributes
        The columns to tabulate; all but the weights when None.
    weights
        The column with a weight for each row; the one named `count`, if there is one, when None.
    missing
        What to do with missing values, as `tabulate` takes it.
    missing_values
        Texts of a CSV file that mean missing, beside the empty field.
    required
        Columns that must be there, whichever are tabulated.
    remedy
        What to do about missing values that are refused.
    """

    attributes: tuple[str, ...] | None = None
    weights: str | None = None
    missing: str = "raise"
    missing_values: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    remedy: str = REMEDY


def read_counts(path: Path, columns: Columns) -> Table:
    """Return the counts in a file of records or of counts.

    Raises
    ------
    UnreadableFileError
        It is not there, is a folder, or may not be opened.
    FileFormatError
        Of another kind than CSV or Parquet, damaged, or with columns that have no name or the same name.
    UnknownAttributeError
        A column that the file does not have.
    """
    names = column_names(path)
    weights = _weight_column(names, columns.weights, path)
    attributes = columns.attributes or tuple(name for name in names if name != weights)
    wanted = list(dict.fromkeys([*attributes, *([weights] if weights else [])]))
    for name in (*columns.required, *wanted):
        if name not in names:
            raise UnknownAttributeError.among(name, names, where=path.name)
    if _kind(path) == ".parquet":
        with reading(path):
            file = _parquet(path)
            require_room_for_rows(file, path, len(wanted))
            records: Any = file.read(columns=wanted)
    else:
        records = _read_text(path, wanted, columns.missing_values)
        if weights is not None:
            records[weights] = _numbers(records[weights], path)
    try:
        return tabulate(records, attributes, weights=weights, missing=columns.missing)
    except InvalidTableError as error:
        raise InvalidTableError(str(error).replace(MISSING_REMEDY, columns.remedy)) from None


def counts_of(path: Path, arguments: argparse.Namespace) -> Table:
    """Return the counts in a file of records whose roles were typed.

    Raises
    ------
    InvalidOptionError
        No response or nothing protected was named.
    PurtensorError
        As `read_counts`.
    """
    if not (arguments.response and arguments.protected):
        raise InvalidOptionError(
            f"{path} holds records: say what is decided and what is protected, with --response and --protected"
        )
    roles = (arguments.response, *arguments.protected)
    columns = Columns(None, arguments.weights, arguments.missing, tuple(arguments.missing_values), roles)
    return read_counts(path, columns)


def read_frame(path: Path, missing_values: Sequence[str] = ()) -> pd.DataFrame:
    """Return all columns of a file as they are: text, whole numbers, or numbers with decimals.

    Raises
    ------
    UnreadableFileError, FileFormatError
        As `read_counts`.
    """
    names = column_names(path)
    if _kind(path) == ".parquet":
        with reading(path):
            file = _parquet(path)
            require_room_for_rows(file, path, len(names))
            frame: pd.DataFrame = file.read(columns=names).to_pandas()
            return frame
    return _read_text(path, names, missing_values).apply(_as_decimals)


def _as_decimals(column: pd.Series) -> pd.Series:
    """Return floats where every entry is a number with decimals or an exponent, else the column as it is."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    present = column.dropna()
    if len(present) and present.str.fullmatch(_DECIMAL).all():
        return column.map(float, na_action="ignore").astype(float)
    return column


def _weight_column(names: Sequence[str], asked: str | None, path: Path) -> str | None:
    if asked is not None and asked != COUNT and COUNT in names:
        raise InvalidOptionError(
            f"{path.name} has a column {COUNT!r} and the weights are {asked!r}; rename {COUNT!r} if it is no count"
        )
    return asked if asked is not None else (COUNT if COUNT in names else None)


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")
    if kind not in (".csv", ".tsv", ".parquet"):
        raise FileFormatError(f"{path.name} is no file that is read here: give {KINDS}")
    return kind


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a file, each checked: not empty, none twice."""
    require_file(path, f"a table ({KINDS})")
    if _kind(path) == ".parquet":
        return _distinct(list(_parquet(path).schema_arrow.names), path)
    require_room(path)
    header = _csv(path, header=None, nrows=1).iloc[0]
    unnamed = [i for i, name in enumerate(header, start=1) if pd.isna(name)]
    if unnamed:
        raise FileFormatError(f"column {unnamed[0]} of {path.name} has no name; name it or take it out")
    return _distinct([str(name) for name in header], path)


def _distinct(names: list[str], path: Path) -> list[str]:
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise FileFormatError(f"{path.name} has the column {repeated[0]!r} twice")
    return names


def _read_text(path: Path, columns: list[str], missing_values: Sequence[str]) -> pd.DataFrame:
    with warnings.catch_warnings():
        # index_col=False and the whole width: else pandas drops fields beyond the header without a word
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = _csv(path, index_col=False, na_values=["", *missing_values])
    require_even_rows(path, _separator(path))
    return frame[columns].apply(_as_integers)


def _as_integers(column: pd.Series) -> pd.Series:
    """Return integers where every entry is exactly what its integer prints as, else the column as it is."""
    present = column.dropna()
    if len(present) and present.str.fullmatch(_INTEGER).all():
        return column.astype("Int64")
    return column


def _numbers(column: pd.Series, path: Path) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = column[numbers.isna() & column.notna()]
    if len(wrong):
        raise FileFormatError(
            f"weights are numbers, but column {column.name!r} of {path.name} has {wrong.iloc[0]!r} "
            f"in row {wrong.index[0]}, the first row being 0"
        )
    if numbers.dtype.kind == "f" and not pd.api.types.is_numeric_dtype(column):  # pandas 2 errs in the last digits
        return column.map(float, na_action="ignore").astype(float)
    return numbers


def _separator(path: Path) -> str:
    return "\t" if _kind(path) == ".tsv" else ","


def _csv(path: Path, **options: object) -> pd.DataFrame:
    settings = {"sep": _separator(path), "dtype": str, "keep_default_na": False, "na_values": [""], **options}
    with reading(path):
        return pd.read_csv(path, **settings)  # type: ignore[call-overload, no-any-return]


def _parquet(path: Path) -> Any:
    if parquet is None:
        raise FileFormatError(f"reading {path.name} needs pyarrow: pip install 'purtensor[io]'")
    with reading(path):
        return parquet.ParquetFile(path, page_checksum_verification=True)
