"""What goes wrong while a file is read, as errors of purtensor: what libraries raise, and what memory does not take."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from purtensor.errors import FileFormatError, PurtensorError, TooLargeError
from purtensor.tables.io.path_checks import require_file, unreadable
from purtensor.tables.memory import available_memory, readable, require_memory

_PART = 1 << 20
# the first bytes by which each format is known
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_DUCKDB_S_MEMORY_ERROR = "OutOfMemoryException"
_PER_BYTE = 12
"""Bytes in memory for each byte of text, at least: 14 to 36 were measured. Without memory the parser of pandas may end
the process."""
_AT_LEAST = 16 << 20


@contextmanager
def reading(path: str | os.PathLike[str], what: str = "a table") -> Iterator[None]:
    """Convert exceptions that are raised while a file is read into purtensor errors that name the file.

    A package that is missing stays the built-in error.

    Raises
    ------
    UnreadableFileError
        The file is not there, is a folder, or may not be opened.
    FileFormatError
        A library found the file damaged, in whichever words.
    TooLargeError
        There was not enough memory.
    """
    name = os.fspath(path)
    try:
        yield
    except (PurtensorError, ImportError):
        raise
    except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as error:
        if error.filename is not None and error.filename in (path, name):
            raise unreadable(error, name, what) from error
        raise  # of another file
    except Exception as error:  # libraries raise anything on damaged files
        if isinstance(error, MemoryError) or type(error).__name__ == _DUCKDB_S_MEMORY_ERROR:
            raise _too_large(name, error) from error
        raise FileFormatError(f"{name} is damaged, or not {what}: {_in_one_line(error)}") from error


def _too_large(name: str, error: Exception) -> TooLargeError:
    available = available_memory()
    message = f"{name} needs more memory than available, or is damaged: {_in_one_line(error)}"
    message = f"{message}; {readable(available)} are available"
    return TooLargeError(message, available + 1, available)  # how much more, nobody says


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def require_room(path: str | os.PathLike[str], what: str = "a table") -> None:
    """Refuse a text file, compressed or not, that is not there or that memory would not take, before it is read.

    Raises
    ------
    UnreadableFileError
        It is not there, is a folder, or may not be opened.
    TooLargeError
        Its text, counted without keeping it, needs more than there is.
    FileFormatError
        It is compressed and damaged.
    """
    require_file(path, what)
    name = os.fspath(path)
    size, available = os.stat(path).st_size, available_memory()
    if is_gzip(path):
        with reading(path), gzip.open(path) as file:
            size = 0
            while size * _PER_BYTE <= available and (part := file.read(_PART)):
                size += len(part)
    require_memory(_AT_LEAST + size * _PER_BYTE, f"reading {name}")


def is_gzip(path: str | os.PathLike[str]) -> bool:
    """Return whether the name of a file says that it is compressed."""
    return os.fspath(path).lower().endswith(".gz")


def first_line(path: Path, longest: int = 1 << 20) -> str:
    """Return the first line of a text file in UTF-8, compressed or not, without reading on.

    Raises
    ------
    FileFormatError
        It is not text, damaged, or has no line end within `longest` characters.
    """
    with (
        reading(path),
        gzip.open(path, "rt", encoding="utf-8-sig", newline="")
        if is_gzip(path)
        else path.open(encoding="utf-8-sig", newline="") as file,
    ):
        line = file.readline(longest)
    if len(line) == longest:
        raise FileFormatError(f"{path} has no line end in its first {longest} characters: it is not a table")
    if "\0" in line:
        raise FileFormatError(f"{path} has a null character in its first line: it is damaged, or not UTF-8 text")
    return line


def open_unpacked(path: str | os.PathLike[str]) -> Any:
    """Return the bytes of a file as a stream, unpacked where its first bytes say that it is gzip, zstd or bzip2."""
    with open(path, "rb") as file:
        start = file.read(4)
    packed = next((name for mark, name in _PACKED.items() if start.startswith(mark)), None)
    return pa.input_stream(os.fspath(path), compression=packed)


def require_even_rows(
    path: str | os.PathLike[str], separator: str = ",", encoding: str = "utf-8-sig", *, skipped: int = 0
) -> None:
    """Refuse a text file, compressed or not, with a row of more or fewer cells than its first line has.

    What reads tables in pieces or by column fills rows up, or cuts them, without a word, and cells with null characters
    too. Empty lines are not rows; `skipped` lines before the names are none.

    Raises
    ------
    FileFormatError
        There is such a row, which the message names, or a quote that is never closed, or closed inside of a cell.
    """
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    with (
        reading(path),
        open_unpacked(path) as source,
        # bytes that the encoding lacks are refused by who reads the cells; here these are counted
        io.TextIOWrapper(source, encoding=encoding, errors="surrogateescape", newline="") as lines,
    ):
        for _ in range(skipped):
            lines.readline()
        _compare_widths(_widths(_whole(lines, os.fspath(path)), separator, os.fspath(path)), os.fspath(path))


def _compare_widths(widths: Iterator[int], name: str) -> None:
    row = -1
    try:
        named = next(widths, 0)
        for row, width in enumerate(widths, start=1):
            if width != named:
                raise FileFormatError(
                    f"{name} has {width} cells in row {row} (its first line being row 0) where {named} are expected: a "
                    "line is truncated, or has lost its line end",
                    code="uneven-rows",
                    where=name,
                    expected=named,
                    got=width,
                )
    except csv.Error as error:
        raise FileFormatError(
            f"{name} has a quote that is never closed, or closed inside of a cell, in row {max(row, 0) + 1} (its first "
            f"line being row 0): {error}",
            code="open-quote",
            where=name,
        ) from None


def _widths(lines: Iterator[str], separator: str, name: str) -> Iterator[int]:
    """Yield the number of cells of each row; only those with a quote in them have to be parsed."""
    blanks = " \t".replace(separator, "")
    before = ""
    for line in lines:
        if before.endswith("\r") and line.startswith(separator):
            raise FileFormatError(
                f"{name} has a line that ends with a single carriage return before an empty cell, which pandas "
                "skips: end lines with a line feed"
            )
        before = line
        if '"' in line:
            # a quoted cell may go on in the next lines: the parser takes those that it needs
            yield len(next(csv.reader(chain([line], lines), delimiter=separator, strict=True)))
        elif line.rstrip("\r\n").strip(blanks):
            yield line.count(separator) + 1


def _whole(lines: Iterable[str], name: str) -> Iterator[str]:
    """Yield the lines, refusing a null character: it ends cells for pandas 2."""
    for line in lines:
        if "\0" in line:
            raise FileFormatError(f"{name} has a null character: it is damaged, or not UTF-8 text")
        yield line


def require_short_lines(path: Path, longest: int) -> None:
    """Refuse a text file, compressed or not, with a line of more than `longest` bytes.

    Raises
    ------
    FileFormatError
        There is such a line, or the file is compressed and damaged.
    """
    length = 0
    with reading(path), gzip.open(path) if is_gzip(path) else path.open("rb") as file:
        while part := file.read(min(_PART, longest)):
            end = max(part.rfind(b"\n"), part.rfind(b"\r"))
            before = length + (len(part) if end < 0 else min(k for k in (part.find(b"\n"), part.find(b"\r")) if k >= 0))
            length = length + len(part) if end < 0 else len(part) - end - 1
            if before > longest:
                raise FileFormatError(f"{path} has a line of more than {longest} bytes: it is not a table")
