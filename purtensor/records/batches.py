"""Files of records as batches of columns, read once from the first row to the last."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet

from purtensor.errors import FileFormatError
from purtensor.tables.io.read_errors import open_unpacked, reading, require_even_rows
from purtensor.tables.io.text_dialect import Dialect, no_such_character, null_character

_BLOCK = 1 << 22
_ROWS = 1 << 15
_LABELS = pa.dictionary(pa.int32(), pa.utf8())


def text_batches(
    path: Path, dialect: Dialect, labels: Sequence[str], numbers: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a text file: `labels` as dictionaries of text, `numbers` as text; an empty cell is null.

    Raises
    ------
    FileFormatError
        Rows with more or fewer cells than there are names, quotes that are never closed or closed inside of a cell,
        null characters, bytes that are not text, lines that are not lines of a table.
    """
    columns = {**dict.fromkeys(numbers, pa.utf8()), **dict.fromkeys(labels, _LABELS)}
    with reading(path), open_unpacked(path) as source:
        stream = TextStream(source, dialect, path)
        try:
            yield from arrow_csv.open_csv(
                pa.PythonFile(stream, mode="r"),
                read_options=arrow_csv.ReadOptions(block_size=_BLOCK, skip_rows=dialect.skipped),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=len(dialect.names) > 1,  # of one column an empty line is an empty cell
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=columns, include_columns=list(columns), strings_can_be_null=True, null_values=[""]
                ),
            )
        except pa.ArrowInvalid as error:
            if "straddl" in str(error):
                raise too_long_line(path, _BLOCK) from None
            # Arrow counts rows only in some of its messages: ours names the row
            require_even_rows(path, dialect.delimiter, dialect.encoding, skipped=dialect.skipped)
            raise
        if stream.doubtful:
            require_even_rows(path, dialect.delimiter, dialect.encoding, skipped=dialect.skipped)


def parquet_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield columns of a Parquet file, text as dictionaries.

    Raises
    ------
    FileFormatError
        It is damaged.
    """
    with reading(path):
        texts = [name for name in columns if _is_text(parquet.read_schema(path).field(name).type)]
        # text is stored as a dictionary as a rule: taken as it is, it is read and counted four times as fast
        with parquet.ParquetFile(path, page_checksum_verification=True, read_dictionary=texts) as file:
            yield from file.iter_batches(_ROWS, columns=list(columns), use_threads=True)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def arrow_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield columns of an Arrow or Feather file."""
    with reading(path):
        yield from feather.read_table(path, columns=list(columns), memory_map=True).to_batches(_ROWS)


def schema_of(path: Path, kind: str) -> pa.Schema:
    """Return the names and types of the columns of a Parquet, Arrow or Feather file."""
    with reading(path):
        return parquet.read_schema(path) if kind == ".parquet" else feather.read_table(path, memory_map=True).schema


_QUOTE, _RETURN, _LINE = 34, 13, 10


class TextStream(io.RawIOBase):
    """A text file as bytes in UTF-8.

    Attributes
    ----------
    doubtful
        Whether a quote was seen that does not enclose a whole cell: the rows have to be parsed strictly then.

    Raises
    ------
    FileFormatError
        On reading: a null character, or bytes that are not text in the file's encoding.
    """

    def __init__(self, source: Any, dialect: Dialect, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.doubtful = False
        self._source, self._path = source, path
        codec = codecs.lookup(dialect.encoding).name
        self._decoder = codecs.getincrementaldecoder(dialect.encoding)()
        self._recoded = codec not in ("utf-8", "utf-8-sig", "ascii")
        self._ended = np.zeros(256, dtype=bool)
        self._ended[[_RETURN, _LINE, ord(dialect.delimiter) & 255]] = True
        # the beginning counts as a line end: a quote may open there
        self._before, self._inside = bytes([_LINE]), False
        self._offset, self._rows = 0, 0
        self._waiting = b""

    def readable(self) -> bool:
        """Report that it is read from."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; none at the end."""
        while not self._waiting:
            raw = self._source.read(1 << 20)
            text = self._decode(raw)
            self._check(text, last=not raw)
            self._waiting = text
            if not raw:
                break
        size = len(self._waiting) if size < 0 else size
        part, self._waiting = self._waiting[:size], self._waiting[size:]
        return part

    def _decode(self, raw: bytes) -> bytes:
        pending = len(self._decoder.getstate()[0])
        try:
            # bytes below 128 need no decoder, unless one is in the middle of a character
            if self._recoded or pending or not raw.isascii():
                text = self._decoder.decode(raw, final=not raw)
                raw = text.encode() if self._recoded else raw
        except UnicodeDecodeError as error:
            row = self._rows + error.object[: error.start].count(b"\n")
            raise no_such_character(self._path, error, offset=self._offset - pending, row=row) from None
        self._offset += len(raw)
        self._rows += raw.count(b"\n")
        return raw

    def _check(self, text: bytes, *, last: bool) -> None:
        if b"\0" in text:
            raise null_character(self._path)
        if b'"' not in text and b'"' not in self._before and not last:
            # a quote that begins the next bytes asks for what stands before it
            self._before = text[-1:]
            return
        if not self.doubtful:
            self._check_quotes(text, last=last)

    def _check_quotes(self, text: bytes, *, last: bool) -> None:
        """Look whether quotes enclose whole cells: what is before the first of a pair and behind the second.

        A quote at the end of the bytes waits for the next ones; `_before` has it, and the byte before.
        """
        known = self._before + text + (bytes([_LINE]) if last else b"")
        values = np.frombuffer(known, dtype=np.uint8)
        places = np.flatnonzero(values == _QUOTE)
        places = places[(places > 0) & (places < len(values) - 1)]
        # they take turns; a doubled quote within a cell counts as closing it and opening it again
        opening, closing = places[int(self._inside) :: 2], places[1 - int(self._inside) :: 2]
        outside = self._ended.copy()
        outside[_QUOTE] = True  # two in a row inside of a cell stand for one
        self.doubtful = not (outside[values[opening - 1]].all() and outside[values[closing + 1]].all())
        self._inside ^= bool(len(places) % 2)
        self.doubtful |= last and self._inside
        self._before = known[-2:] if known.endswith(b'"') else known[-1:]


def too_long_line(path: str | os.PathLike[str], longest: int) -> FileFormatError:
    """Return the refusal of a line that no block holds."""
    return FileFormatError(
        f"{os.fspath(path)} has a line of more than {longest} bytes: it is not a table",
        code="long-line",
        where=os.fspath(path),
        expected=longest,
    )
