"""The bytes of a text file on their way to the parser: in UTF-8, and checked for what parsers pass over in silence."""

from __future__ import annotations

import codecs
import io
import os
from typing import Any

import numpy as np

from purtensor.errors import FileFormatError
from purtensor.tables.io.text_dialect import Dialect, no_such_character, null_character

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
