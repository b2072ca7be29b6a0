"""Tables as CSV files: one row per profile, one column per attribute, and one for the values."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
import pandas as pd

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import FileFormatError, InvalidTableError
from purtensor.tables.coded import domain_of, read_codes, require_distinct, sparse_table
from purtensor.tables.domain import Domain, check_attribute, is_same_category
from purtensor.tables.io.atomic import replace_file
from purtensor.tables.io.read_errors import is_gzip, reading, require_room
from purtensor.tables.io.table_dataset import storable_values, value_column
from purtensor.tables.labels import ascending, check_text, label_text, order_of_rows, recognise_labels

VALUE_COLUMNS = ("count", "probability", "value")
# the beginnings that OWASP's page on CSV injection lists, but for line ends
_FORMULA = ("=", "+", "-", "@", "\t")
_CHUNK = 1 << 13


def write_csv(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a table as CSV: every profile that it stores, zeros included, in its order.

    The last column is `count`, `probability` (total 1, not all whole) or `value` (what is not a mass), to the last bit.
    A CSV keeps neither the layout, nor `attrs`, nor categories without a row.

    Raises
    ------
    InvalidTableError
        Labels that would not come back as they are (the text '17', dates, fractions, mixtures), that are empty, or
        that a spreadsheet would run as a formula; NetCDF keeps all of them. Values that are not numbers, or that have
        more digits than float64.
    """
    domain = domain_of(table)
    codes, texts = label_texts(table)
    values = _as_float(storable_values(table).reshape(-1))
    numbers = values.astype(np.int64) if _is_whole(values) else values
    with replace_file(path) as temporary, _open(temporary, is_gzip(path)) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*domain.attributes, value_column(values)])
        for start in range(0, len(values), _CHUNK):
            part = slice(start, start + _CHUNK)
            columns = [text[code[part]].tolist() for text, code in zip(texts, codes, strict=True)]
            # repr: the fewest digits that are read as the same float64
            writer.writerows(zip(*columns, map(repr, numbers[part].tolist()), strict=True))


def label_texts(table: Table) -> tuple[Sequence[IntArray], list[npt.NDArray[Any]]]:
    """Return the codes of a table's profiles, and the text of each category, all checked to come back as they are.

    Raises
    ------
    InvalidTableError
        A label, or the name of an attribute, that would not.
    """
    domain = domain_of(table)
    for name in domain.attributes:
        _check_cell(name, "the attribute")
        if name in VALUE_COLUMNS:
            raise InvalidTableError(
                f"an attribute of a CSV cannot be called {name!r}, the name of the column of values"
            )
    codes = read_codes(table, domain)
    return codes, [_cells(*parts) for parts in zip(domain.attributes, domain.categories, codes, strict=True)]


def _as_float(raw: npt.NDArray[Any]) -> FloatArray:
    if not len(raw):
        raise InvalidTableError("the table must have at least one profile to be written, got none")
    values = raw.astype(np.float64)
    if raw.dtype.kind in "iu" and ((raw > 2**53) | (raw < -(2**53))).any():
        raise InvalidTableError("the table has integers beyond 2^53, which CSV cannot preserve; save as NetCDF (.nc)")
    return values


def _is_whole(values: FloatArray) -> bool:
    """Return whether integers can stand for the values without a change of any bit."""
    # an integer has no sign for -0.0
    if not np.isfinite(values).all() or np.signbit(values).any():
        return False
    return bool(values.max() < 2.0**63) and np.array_equal(values, np.rint(values))


def read_csv(path: str | os.PathLike[str]) -> Table:
    """Return the table of a CSV file with a column `count`, `probability` or `value`, in the sparse layout.

    Every other column is an attribute: integers, booleans (true, false) or intervals where all its cells are, else
    text. Categories stand in the order by which the rows are sorted; where that leaves it open, numbers ascend and
    text is in order of appearance.

    Raises
    ------
    UnreadableFileError
        The file is not there, is a folder, or may not be opened.
    FileFormatError
        It is damaged or cut off, has no such column, or a row that is incomplete, repeated or no mass.
    TooLargeError
        Its text, unpacked where it is compressed, needs more memory than there is.
    """
    name = os.fspath(path)
    require_room(path)
    with reading(path):
        content = Path(path).read_bytes()
        try:
            return _parse(gzip.decompress(content) if is_gzip(path) else content)
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{name} is not UTF-8 text: {error}") from error
        except (FileFormatError, InvalidTableError) as error:
            raise FileFormatError(f"{name}: {str(error).strip()}") from error


def _cells(attribute: str, categories: pd.Index[Any], codes: IntArray) -> npt.NDArray[Any]:
    """Return the text of every category, after a check that those in use would be read as they are."""
    texts = np.empty(len(categories), dtype=object)
    used = np.unique(codes)
    labels = [categories[code] for code in used.tolist()]
    texts[used] = cells = [label_text(label) for label in labels]
    for cell, label in zip(cells, labels, strict=True):
        _check_cell(cell, f"attribute {attribute!r} has the label", is_text=isinstance(label, str))
    read = recognise_labels(cells).tolist()
    for label, back in zip(labels, read, strict=True):
        if not is_same_category(label, back):
            raise InvalidTableError(
                f"attribute {attribute!r} has the label '{label}' ({type(label).__name__}), which CSV would return "
                f"as {type(back).__name__}; save as NetCDF (.nc), or rename it"
            )
    return texts


def _check_cell(cell: str, what: str, *, is_text: bool = True) -> None:
    check_text(cell, what)
    if not cell:
        raise InvalidTableError(f"{what} '', which CSV cannot distinguish from a missing value; save as NetCDF (.nc)")
    if "\r" in cell:
        raise InvalidTableError(
            f"{what} {cell!r}, which has a carriage return, a line end in CSV; save as NetCDF (.nc)"
        )
    if is_text and cell.startswith(_FORMULA):
        raise InvalidTableError(
            f"{what} {cell!r}, which a spreadsheet would run as a formula; save as NetCDF (.nc), or rename it"
        )


@contextmanager
def _open(path: Path, compressed: bool) -> Iterator[TextIO]:
    with path.open("wb") as raw:
        if not compressed:
            with io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
                yield file
            return
        # without name and time, so that equal tables give equal bytes
        with (
            gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
            io.TextIOWrapper(packed, encoding="utf-8", newline="") as file,
        ):
            yield file


def _parse(content: bytes) -> Table:
    if not content.strip():
        raise FileFormatError("the file is empty")
    if b"\0" in content:
        raise FileFormatError("there is a null character: the file is damaged, or not a text file")
    if not content.endswith((b"\n", b"\r")):
        raise FileFormatError(
            "the last line has no line end: the file may be truncated; if it is complete, add a line end"
        )
    header = _header(content)
    place = _value_place(header)
    frame = pd.read_csv(
        io.BytesIO(content),
        encoding="utf-8-sig",
        header=0,
        # numbers for names: pandas would rename some of the header's
        names=list(range(len(header))),
        dtype=str,
        # else a row with one cell too many turns the first column into an index
        index_col=False,
        # NA and null are labels here
        na_filter=False,
    )
    found, codes = [], []
    for k, column in enumerate(header):
        if k != place:
            texts, code = _in_order_of_appearance(frame[k], column)
            again, labels = pd.factorize(recognise_labels(texts))  # 2 and 2.0 are one
            found.append(pd.Index(labels))
            codes.append(np.asarray(again, dtype=np.int64)[code])
    values = _numbers(frame[place].tolist(), header[place])
    domain, codes = _in_order(tuple(name for k, name in enumerate(header) if k != place), found, codes)
    require_distinct(
        domain,
        codes,
        lambda row, profile: FileFormatError(
            f"row {row + 1} repeats the profile ({profile}); "
            "sum such rows first, for instance with purtensor.tabulate and weights"
        ),
    )
    return sparse_table(domain, codes, values, name=header[place])


def _header(content: bytes) -> list[str]:
    """Return the cells of the first line, after a check that the first row has as many."""
    with io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="") as file:
        lines = (row for row in csv.reader(file, strict=True) if row)
        header, first = next(lines, []), next(lines, None)
    if first is None:
        raise FileFormatError("there is a header but no row; at least one is needed; at least one is needed")
    if len(first) != len(header):
        raise FileFormatError(f"row 1 has {len(first)} cells, the header has {len(header)}")
    return header


def _in_order_of_appearance(column: pd.Series[str], name: str) -> tuple[list[str], IntArray]:
    codes, labels = pd.factorize(column)
    texts = [str(label) for label in labels]
    if "" in texts:
        row = int(np.flatnonzero(codes == texts.index(""))[0]) + 1
        raise FileFormatError(f"row {row} has no {name}, or fewer cells than the header; complete it or remove it")
    for text in texts:
        check_text(text, "the label")
    return texts, np.asarray(codes, dtype=np.int64)


def _value_place(header: list[str]) -> int:
    places = [k for k, column in enumerate(header) if column in VALUE_COLUMNS]
    if len(places) != 1 or len(header) < 2:
        raise FileFormatError(
            f"one column must be called {', '.join(VALUE_COLUMNS[:2])} or {VALUE_COLUMNS[2]}, the others are "
            "attributes, "
            f"separated by commas; the header has {header}"
        )
    repeated = next((column for column in header if header.count(column) > 1), None)
    if repeated is not None:
        raise FileFormatError(f"two columns are called {repeated!r}; names must be unique")
    for column in header:
        check_attribute(column, pd.Index([]))
    return places[0]


def _numbers(cells: list[str], column: str) -> FloatArray:
    try:
        numbers = np.array([float(cell) for cell in cells])
    except ValueError:
        numbers = np.array([_number(cell) for cell in cells])
    if "_" in "".join(cells):  # float takes 1_000, a file does not mean it
        numbers[["_" in cell for cell in cells]] = math.nan
    bad = np.isnan(numbers) if column == "value" else ~(np.isfinite(numbers) & (numbers >= 0))
    for row in np.flatnonzero(bad).tolist():
        # NaN either stands there as nan, or is what became of text that is no number
        if column != "value" or cells[row].strip("+-").lower() != "nan":
            wanted = "number" if column == "value" else "finite number from 0 on"
            raise FileFormatError(f"row {row + 1} has the {column} {cells[row]!r}, which is not a {wanted}")
    for row in np.flatnonzero(numbers >= 2.0**53).tolist():
        if cells[row].isdecimal() and int(cells[row]) != int(numbers[row]):
            raise FileFormatError(f"row {row + 1} has the {column} {cells[row]}, which float64 cannot hold exactly")
    return numbers


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _in_order(
    attributes: tuple[str, ...], found: list[pd.Index[Any]], codes: list[IntArray]
) -> tuple[Domain, list[IntArray]]:
    """Return the domain in category order, and the codes in its terms."""
    natural = []
    for labels in found:
        is_text = all(isinstance(label, str) for label in labels)
        natural.append(np.arange(len(labels)) if is_text else ascending(labels))
    # argsort of a permutation is its inverse: from codes to ranks
    ranked = [np.argsort(order)[code] for order, code in zip(natural, codes, strict=True)]
    orders = order_of_rows(ranked, [len(labels) for labels in found])
    categories = tuple(labels[first[then]] for labels, first, then in zip(found, natural, orders, strict=True))
    return Domain(attributes, categories), [np.argsort(then)[code] for then, code in zip(orders, ranked, strict=True)]
