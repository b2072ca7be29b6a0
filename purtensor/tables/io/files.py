"""Tables in files: the ending of the name says which kind."""

from __future__ import annotations

import os
from collections.abc import Callable

import xarray as xr

from purtensor._optional import require_package
from purtensor._typing import Table
from purtensor.errors import FileFormatError, InvalidOptionError
from purtensor.tables.io.atomic import require_other_file
from purtensor.tables.io.delimited import label_texts, read_csv, write_csv
from purtensor.tables.io.netcdf import read_dataset, write_dataset
from purtensor.tables.io.parquet import read_parquet, write_parquet
from purtensor.tables.io.table_dataset import dataset_to_table, table_to_dataset

_WRITERS: dict[str, Callable[[Table, str | os.PathLike[str]], None]] = {
    ".nc": lambda table, path: write_dataset(table_to_dataset(table), path),
    ".csv": write_csv,
    ".csv.gz": write_csv,
    ".parquet": write_parquet,
}
_READERS: dict[str, Callable[[str | os.PathLike[str]], Table]] = {
    ".nc": lambda path: table_of(read_dataset(path), path),
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".parquet": read_parquet,
}


def save_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file, whole or not at all: .nc, .csv, .csv.gz or .parquet.

    NetCDF and Parquet keep everything: values to the last bit, labels with their types and order, categories without
    mass, the layout, the name, and `attrs` of numbers, text and lists. A CSV keeps the profiles, their labels and
    their values, and refuses labels that it would change.

    Raises
    ------
    InvalidOptionError
        Another ending, or the file that a lazy table is read from.
    InvalidTableError
        Something that this kind of file cannot keep.
    """
    if (
        isinstance(table, xr.DataArray) and table.chunks is not None and "source" in table.encoding
    ):  # its values are still to be read from there
        require_other_file(path, [table.encoding["source"]])
    _WRITERS[ending(path)](table, path)


def load_table(path: str | os.PathLike[str]) -> Table:
    """Return the table of a file: .nc, .csv, .csv.gz or .parquet.

    Raises
    ------
    InvalidOptionError
        Another ending.
    UnreadableFileError
        The file is not there, is a folder, or may not be opened.
    FileFormatError
        It is damaged, or holds no table.
    """
    return _READERS[ending(path)](path)


def require_writable_labels(table: Table, path: str | os.PathLike[str]) -> None:
    """Refuse labels that the kind of file at `path` cannot keep, before what is to be written is computed.

    Raises
    ------
    InvalidTableError
        There is such a label.
    """
    if ending(path).startswith(".csv"):
        label_texts(table)


def require_packages(path: str | os.PathLike[str]) -> None:
    """Refuse a NetCDF file where the package for it is not installed, before there is anything to write.

    Raises
    ------
    ImportError
        It is not; the message says how to get it.
    """
    if os.fspath(path).lower().endswith(".nc"):
        require_package("netCDF4", "io", "NetCDF files need")


def ending(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file's name, one of those that purtensor knows."""
    name = os.fspath(path).lower()
    for known in sorted(_WRITERS, key=len, reverse=True):
        if name.endswith(known):
            return known
    raise InvalidOptionError(f"{os.fspath(path)!r} must end in one of {', '.join(_WRITERS)}")


def table_of(dataset: xr.Dataset, path: str | os.PathLike[str]) -> Table:
    """Return the table of a dataset that was read from `path`, which errors name."""
    try:
        return dataset_to_table(dataset)
    except FileFormatError as error:
        raise FileFormatError(f"{os.fspath(path)}: {error}") from error
