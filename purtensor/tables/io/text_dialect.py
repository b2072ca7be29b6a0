"""How the text of a table is written: its delimiter, encoding and column names, given or found in its beginning."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

from purtensor.errors import FileFormatError, InvalidOptionError
from purtensor.tables.io.path_checks import require_file
from purtensor.tables.io.read_errors import open_unpacked, reading

DELIMITERS = (",", ";", "\t", "|")
"""What may stand between cells; where several would do, the one that makes most columns, then the first."""

_SAMPLE = 1 << 18
_MOST_ROWS = 50
_MOST_NUMBERS = 1000
_POINT = re.compile(r"[+-]?\d*\.\d+", re.ASCII)
_COMMA = re.compile(r"[+-]?\d+(?:,\d+)?", re.ASCII)
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# the line in which Excel states the delimiter
_SEP_LINE = re.compile(r'"?sep=(?P<delimiter>[^"\r\n])"?(?:\r\n|\r|\n)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What is known of text files beforehand.

    Attributes
    ----------
    delimiter
        What stands between two cells; found where None.
    decimal
        The mark before the decimals of a number, "." or ","; found where None.
    encoding
        The name of a codec; where None, UTF-8, or UTF-16 with a byte order mark.
    missing_values
        Cells that mean a missing value, beside the empty cell; blanks around them do not matter.
    not_missing
        Cells that other programs write for a missing value, and that are categories here.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing_values: tuple[str, ...] = ()
    not_missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise InvalidOptionError(f"delimiter must be one character between two cells, got {self.delimiter!r}")
        if self.decimal not in (".", ",", None):
            raise InvalidOptionError(f"decimal must be '.' or ',', got {self.decimal!r}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise InvalidOptionError(
                    f"encoding must be one that Python knows, such as 'latin-1' or 'cp1252', got {self.encoding!r}"
                ) from None


def advise_option(option: str) -> str:
    """Return what to type in Python for a text file that needs an option; on the command line it is the command's."""
    return f"purtensor.records.files.open_records(FILE, {option})"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one file is written.

    Attributes
    ----------
    names
        The names of its columns.
    delimiter, decimal, encoding
        As they were given or found.
    skipped
        Lines before the names: 1 where a spreadsheet has written `sep=;` there.
    """

    names: tuple[str, ...]
    delimiter: str
    decimal: str
    encoding: str
    skipped: int


def find_dialect(path: Path, options: TextOptions) -> Dialect:
    """Return how a text file is written, from its first rows.

    Raises
    ------
    UnreadableFileError
        It is not there, is a folder, or may not be opened.
    FileFormatError
        It is empty, no text in its encoding, or has a column without a name, or two of one name.
    """
    require_file(path, "a table")
    with reading(path), open_unpacked(path) as source:
        start = source.read(_SAMPLE)
    if not start.strip():
        raise FileFormatError(f"{path} is empty", code="empty-file", where=str(path))
    encoding = options.encoding or next((name for mark, name in _MARKS.items() if start.startswith(mark)), "utf-8")
    text = _decode(start, encoding, path)
    if "\0" in text:
        raise null_character(path)
    marked = _SEP_LINE.match(text)
    delimiter = options.delimiter or (marked["delimiter"] if marked else None)
    if marked:
        text = text[marked.end() :]
    whole = len(start) < _SAMPLE
    if delimiter is None:
        delimiter = _find_delimiter(text, whole, path)
    header = next(iter(_rows(text, delimiter, 1)), [])
    if not whole and "\n" not in text and "\r" not in text:
        raise FileFormatError(
            f"{path} has no line end in its first {_SAMPLE} bytes: it is not a table", where=str(path)
        )
    decimal = options.decimal or _find_decimal(text, delimiter)
    return Dialect(tuple(check_names(header, path)), delimiter, decimal, encoding, 1 if marked else 0)


def check_names(names: list[str], path: Path) -> list[str]:
    """Return the names of columns after a check that each has one, and none that another has."""
    unnamed = next((k for k, name in enumerate(names, start=1) if not name), None)
    if not names or unnamed is not None:
        hint = "name it or remove it (R's write.csv writes row names there unless row.names=FALSE)"
        raise FileFormatError(
            f"column {unnamed or 1} of {path} has no name; {hint}", code="unnamed-column", where=str(path), hint=hint
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FileFormatError(
            f"{path} has the column {twice!r} twice", code="repeated-column", where=str(path), got=twice
        )
    return names


def null_character(path: str | os.PathLike[str]) -> FileFormatError:
    """Return the refusal of a file with a null character in it."""
    hint = "if it was written by a spreadsheet or on Windows, give " + advise_option("encoding='utf-16'")
    return FileFormatError(
        f"{os.fspath(path)} has a null character: it is damaged, or not UTF-8 text; {hint}",
        code="null-character",
        where=os.fspath(path),
        hint=hint,
    )


def no_such_character(
    path: str | os.PathLike[str], error: UnicodeDecodeError, *, offset: int, row: int
) -> FileFormatError:
    """Return the refusal of a byte that the encoding does not have; `offset` is where the error's bytes begin."""
    byte = error.object[error.start]
    near = error.object[max(error.start - 12, 0) : error.start + 12].decode("latin-1")
    near = next((line for line in near.splitlines() if chr(byte) in line), near)
    opened = advise_option("encoding='latin-1'")
    hint = f"give {opened} (which reads {near!r} there), or 'cp1252' or the encoding in which it was written"
    return FileFormatError(
        f"{os.fspath(path)} is not text in {error.encoding}: byte 0x{byte:02x} at {offset + error.start}, in row {row} "
        f"(row 0 has the names); {hint}",
        code="encoding",
        where=os.fspath(path),
        expected=error.encoding,
        got=f"0x{byte:02x}",
        hint=hint,
    )


def _decode(start: bytes, encoding: str, path: Path) -> str:
    try:
        # incremental, as the sample may end within a character; some codecs leave a byte order mark
        return codecs.getincrementaldecoder(encoding)().decode(start).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise no_such_character(path, error, offset=0, row=start[: error.start].count(b"\n")) from None


def _find_delimiter(text: str, whole: bool, path: Path) -> str:
    """Return the delimiter that gives all rows of the sample as many cells, the most where several do."""
    order = ("\t", *(one for one in DELIMITERS if one != "\t")) if ".tsv" in path.name.lower() else DELIMITERS
    widths = {one: [len(row) for row in _rows(text, one, _MOST_ROWS)] for one in order}
    named = {one: width[0] for one, width in widths.items() if width}
    if not whole:  # the last row may be cut
        widths = {one: width[:-1] if len(width) < _MOST_ROWS else width for one, width in widths.items()}
    even = [one for one in named if named[one] > 1 and len(set(widths[one])) == 1]
    several = even or [one for one in named if named[one] > 1]  # rows are uneven: the reader reports it
    # of equals max takes the first
    return max(several, key=named.__getitem__, default=order[0])


def _find_decimal(text: str, delimiter: str) -> str:
    """Return "," where some column of the sample has only numbers, written like 2,5 where not whole, and none like 2.5.

    In a file whose cells are delimited by commas a number such as "1,234" may have thousands in quotes.
    """
    rows = [] if delimiter == "," else _rows(text, delimiter, _MOST_NUMBERS)[1:]
    columns = [[cell.strip() for cell in column if cell.strip()] for column in zip(*rows, strict=False)]
    if any(_POINT.fullmatch(cell) for column in columns for cell in column):
        return "."
    numbers = [column for column in columns if all(_COMMA.fullmatch(cell) for cell in column)]
    return "," if any("," in cell for column in numbers for cell in column) else "."


def _rows(text: str, delimiter: str, most: int) -> list[list[str]]:
    """Return the first rows of a text that are not empty lines; up to the first empty one."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows += [row] if row else []
            if len(rows) == most:
                break
    except csv.Error:
        pass  # the reader of the file reports it
    return rows
