"""Tables as Parquet files: columns that any reader understands, and beside them what restores the table exactly."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, Table
from purtensor.errors import FileFormatError, InvalidTableError
from purtensor.tables.coded import dense_table, domain_of, is_sparse, read_codes, require_distinct, sparse_table
from purtensor.tables.domain import Domain, check_attribute
from purtensor.tables.factorize import factorize
from purtensor.tables.io.atomic import replace_file
from purtensor.tables.io.delimited import VALUE_COLUMNS
from purtensor.tables.io.hashes import content_hash
from purtensor.tables.io.netcdf import FORMAT_VERSION
from purtensor.tables.io.path_checks import require_file
from purtensor.tables.io.read_errors import reading
from purtensor.tables.io.table_dataset import as_json, storable_values, table_to_dataset, value_column
from purtensor.tables.labels import decode_labels, encode_labels
from purtensor.tables.masses import as_float64, as_masses
from purtensor.tables.memory import require_memory

_KEY = b"purtensor"


def write_parquet(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a table as Parquet: one row per profile that it stores, one column per attribute, and one for the values.

    Intervals and mixtures of labels are text in the columns; the labels with their types and order, the layout and
    `attrs` are kept in the metadata of the file, with a hash of the content.

    Raises
    ------
    InvalidTableError
        Labels, `attrs` or values that no file holds, or an attribute with the name of the column of values.
    ImportError
        pyarrow is not installed.
    """
    arrow = import_module("pyarrow")
    domain = domain_of(table)
    value_name = value_column(np.asarray(table.values).reshape(-1))
    taken = [name for name in domain.attributes if name in VALUE_COLUMNS]
    if taken:
        raise InvalidTableError(
            f"an attribute of a Parquet file cannot be called {taken[0]!r}, a name of the column of values; "
            "rename it, or save as NetCDF (.nc)"
        )
    # of the dataset, which has all that a reader must get back, types of labels included
    sealed = content_hash(table_to_dataset(table))
    layout = "sparse" if is_sparse(table) else "dense"
    codes = read_codes(table, domain)
    columns, described = {}, []
    for name, categories, code in zip(domain.attributes, domain.categories, codes, strict=True):
        labels, kind = encode_labels(categories)
        columns[name] = _arrow_labels(categories).take(arrow.array(np.asarray(code, dtype=np.int64)))
        described.append({"attribute": name, "kind": kind, "labels": labels.tolist()})
    columns[value_name] = arrow.array(storable_values(table).reshape(-1))
    facts = {
        "format_version": FORMAT_VERSION,
        "content_hash": sealed,
        "layout": layout,
        "values": value_name,
        "attributes": described,
        "table_name": as_json(table.name, "the name of the table"),
        "table_attrs": as_json(dict(table.attrs), "attrs"),
    }
    stored = arrow.table(columns).replace_schema_metadata({_KEY: json.dumps(facts).encode()})
    with replace_file(path) as temporary:
        import_module("pyarrow.parquet").write_table(stored, temporary, write_page_checksum=True)


def read_parquet(path: str | os.PathLike[str]) -> Table:
    """Return the table of a Parquet file, of purtensor or of another program.

    A file of another program has one column `count`, `probability` or `value`; the others are attributes, read as
    `tabulate` reads them.

    Raises
    ------
    UnreadableFileError
        The file is not there, is a folder, or may not be opened.
    FileFormatError
        It is damaged, has no such column, or a row that is repeated, incomplete or no mass.
    TooLargeError
        Its rows need more memory than there is.
    ImportError
        pyarrow is not installed.
    """
    require_file(path)
    parquet = import_module("pyarrow.parquet")
    with reading(path):
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        require_room_for_rows(file, path)
        stored = file.read()
        metadata = stored.schema.metadata or {}
        try:
            if _KEY in metadata:
                return _restore(stored, json.loads(metadata[_KEY]))
            # where only our key is damaged, the file would pass for another program's
            if b"content_hash" in _footer(Path(path)):
                raise FileFormatError("it is damaged: its metadata are not where they should be")
            return _foreign(stored)
        except (FileFormatError, InvalidTableError) as error:
            raise FileFormatError(f"{os.fspath(path)} cannot be read as a table: {error}") from error


def require_room_for_rows(file: Any, path: str | os.PathLike[str], columns: int | None = None) -> None:
    """Raise an error if the rows of a Parquet file exceed the memory, before reading: few bytes may encode many rows.

    Raises
    ------
    TooLargeError
        Eight bytes per entry are more than there is.
    """
    rows, width = int(file.metadata.num_rows), columns or int(file.metadata.num_columns)
    require_memory(8 * rows * width, f"reading {rows} rows of {width} columns in {os.fspath(path)}")


def _footer(path: Path) -> bytes:
    """Return the raw metadata of the file; their length is stored before the last four bytes."""
    content = path.read_bytes()
    return content[-8 - int.from_bytes(content[-8:-4], "little") :]


def _restore(stored: Any, header: dict[str, Any]) -> Table:
    if header["format_version"] != FORMAT_VERSION:
        raise FileFormatError(
            f"format version {header['format_version']}, but this version of purtensor reads {FORMAT_VERSION}"
        )
    names, categories, codes = [], [], []
    for known in header["attributes"]:
        names.append(known["attribute"])
        categories.append(decode_labels(known["labels"], known["kind"]))
        column = stored.column(known["attribute"]).combine_chunks()
        found = import_module("pyarrow.compute").index_in(column, value_set=_arrow_labels(categories[-1]))
        if found.null_count:
            raise FileFormatError(f"attribute {known['attribute']!r} has a label that its list of labels does not have")
        codes.append(np.asarray(found.to_numpy(), dtype=np.int64))
    domain = Domain(tuple(names), tuple(categories))
    values = stored.column(header["values"]).to_numpy()
    rest = {"name": json.loads(header["table_name"]), "attrs": json.loads(header["table_attrs"])}
    if header["layout"] == "dense":
        table = dense_table(domain, values.reshape(domain.sizes), **rest)
    else:
        table = sparse_table(domain, codes, values, **rest)
    if content_hash(table_to_dataset(table)) != header["content_hash"]:
        raise FileFormatError("it is damaged: its content does not match its hash")
    return table


def _foreign(stored: Any) -> Table:
    places = [column for column in stored.column_names if column in VALUE_COLUMNS]
    if len(places) != 1 or stored.num_columns < 2:
        raise FileFormatError(
            f"one column must be called {', '.join(VALUE_COLUMNS)}, the others are attributes; "
            f"it has {', '.join(stored.column_names)}; to count records use purtensor.tabulate"
        )
    if not stored.num_rows:
        raise FileFormatError("there are columns but no row; at least one is needed; at least one is needed")
    frame = nw.from_native(stored, eager_only=True)
    names = tuple(column for column in frame.columns if column != places[0])
    factors = [factorize(frame[column], column) for column in names]
    for column, factor in zip(names, factors, strict=True):
        check_attribute(column, factor.categories)
        if len(factor.missing_rows()):
            raise FileFormatError(f"row {factor.missing_rows()[0] + 1} has no {column}")
    domain = Domain(names, tuple(factor.categories for factor in factors))
    codes = [factor.codes for factor in factors]
    require_distinct(
        domain,
        codes,
        lambda row, _: FileFormatError(f"row {row + 1} repeats a profile; sum such rows first with purtensor.tabulate"),
    )
    if not frame[places[0]].dtype.is_numeric():
        raise FileFormatError(f"column {places[0]!r} must have numbers, got {frame[places[0]].dtype}")
    absent = np.flatnonzero(frame[places[0]].is_null().to_numpy())
    if len(absent):
        raise FileFormatError(f"row {absent[0] + 1} has no {places[0]}")
    return sparse_table(domain, codes, _numbers(frame[places[0]]), name=places[0])


def _numbers(column: nw.Series[Any]) -> FloatArray:
    """Return the column of values as float64, none of its whole numbers rounded."""

    def fail(row: int, what: str) -> NoReturn:
        raise FileFormatError(f"row {row + 1} of column {column.name!r} {what}")

    raw = column.to_numpy()
    if isinstance(column.dtype, nw.Decimal):
        decimals, raw = raw, raw.astype(np.float64)
        for row in np.flatnonzero(np.abs(raw) >= 2.0**53).tolist():
            if decimals[row] == int(decimals[row]) and int(decimals[row]) != int(raw[row]):
                fail(row, f"has {decimals[row]}, an integer that float64 cannot represent exactly")
    return as_float64(raw, fail) if column.name == "value" else as_masses(raw, fail)


def _arrow_labels(categories: pd.Index[Any]) -> Any:
    """Return labels as an array of Arrow: numbers, booleans and times as such, all others as text."""
    arrow = import_module("pyarrow")
    labels, kind = encode_labels(categories)
    if kind == "boolean":
        return arrow.array(categories.to_numpy(dtype=bool))
    if isinstance(categories, pd.DatetimeIndex | pd.TimedeltaIndex):
        return arrow.array(categories.to_numpy())
    return arrow.array(labels) if labels.dtype != object else arrow.array(labels.tolist(), type=arrow.string())
