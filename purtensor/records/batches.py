"""Files of records as batches of columns, read once from the first row to the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet

from purtensor.tables.io.read_errors import open_unpacked, reading, require_even_rows
from purtensor.tables.io.text_dialect import Dialect
from purtensor.tables.io.text_stream import TextStream, too_long_line

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
