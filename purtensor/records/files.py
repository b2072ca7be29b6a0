"""Records in files, of whichever kind: what the command line and `tabulate` read."""

from __future__ import annotations

import atexit
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as arrow

from purtensor._typing import FloatArray
from purtensor.errors import FileFormatError, InvalidTableError
from purtensor.records.batches import arrow_batches, parquet_batches, schema_of, text_batches
from purtensor.records.foreign_files import ELSEWHERE, FOREIGN, read_foreign
from purtensor.records.text_labels import numbers_of, text_frame
from purtensor.tables.io.path_checks import STORE_MARK, require_file
from purtensor.tables.io.text_dialect import Dialect, TextOptions, check_names, find_dialect

STDIN = "-"
"""The path that means what is piped in."""

TEXT = (".csv", ".tsv", ".tab", ".txt")
ARROW = (".feather", ".arrow", ".ipc")
PACKED = (".gz", ".zst", ".bz2")
KINDS = ".csv, .tsv or .txt (also .gz, .zst, .bz2), .parquet, .feather or .arrow, .xlsx, .dta, .sav, .sas7bdat or .xpt"


@dataclass(frozen=True, slots=True)
class RecordFiles:
    """Records that lie in one or several files with the same columns, and are read on request.

    Attributes
    ----------
    paths
        The files, in order: one after the other they are the records.
    kind
        ".csv" for all kinds of text, ".parquet" or ".feather".
    names
        The names of the columns.
    options
        What is known of text files beforehand.
    dialects
        How each text file is written.
    ordered
        The columns whose values come with an order of their own, as those of a categorical do.
    """

    paths: tuple[Path, ...]
    kind: str
    names: tuple[str, ...]
    options: TextOptions
    dialects: tuple[Dialect, ...]
    ordered: frozenset[str] = frozenset()

    @property
    def is_text(self) -> bool:
        """Whether all cells are text, whose types have to be recognised."""
        return self.kind == ".csv"

    def batches(
        self, labels: Sequence[str], weights: str | None = None
    ) -> Iterator[tuple[Mapping[str, pa.Array], FloatArray | None]]:
        """Yield batches of rows: the columns `labels`, and the numbers of the column `weights`.

        Raises
        ------
        FileFormatError
            A file is damaged, or a weight is not a number.
        InvalidTableError
            A weight is missing.
        """
        row = 0
        numbers = [weights] if weights else []
        for k, path in enumerate(self.paths):
            if self.is_text:
                parts = text_batches(path, self.dialects[k], labels, numbers)
            else:
                read = parquet_batches if self.kind == ".parquet" else arrow_batches
                parts = read(path, list(dict.fromkeys([*labels, *numbers])))
            for batch in parts:
                columns = {name: batch.column(name) for name in labels}
                yield columns, None if weights is None else self._masses(batch.column(weights), weights, path, row)
                row += len(batch)

    def to_pandas(self, columns: Sequence[str] | None = None, counted: Sequence[str] | None = None) -> pd.DataFrame:
        """Return columns of all records as a frame; text becomes integers, booleans, numbers or intervals.

        Cells that other programs write for a missing value are refused in the columns `counted`: all unless given.

        Raises
        ------
        FileFormatError
            A file is damaged.
        InvalidTableError
            A cell that other programs write for a missing value.
        """
        names = list(self.names if columns is None else columns)
        # text arrives as dictionaries, which differ from batch to batch
        tables = [pa.table(dict(batch)) for batch, _ in self.batches(names)]
        if not tables:
            return pd.DataFrame({name: pd.Series([], dtype=object) for name in names})
        table = pa.concat_tables(tables)
        if not self.is_text:
            plain = [(name, k) for k, name in enumerate(names) if name not in self.ordered]
            for name, k in plain:
                kind = table.schema.field(k).type
                if pa.types.is_dictionary(kind):  # text that was read as one
                    table = table.set_column(k, name, table.column(k).cast(kind.value_type))
            return table.to_pandas()  # type: ignore[no-any-return]
        return text_frame(table, self.options, names if counted is None else counted)

    def _masses(self, column: pa.Array, name: str, path: Path, row: int) -> FloatArray:
        absent = np.flatnonzero(np.asarray(column.is_null()))
        if len(absent):
            hint = "remove such rows, or fill them"
            raise InvalidTableError(
                f"the weight {name!r} of row {row + int(absent[0])} of {path.name} (counted from 0) is missing; {hint}",
                code="missing-weight",
                where=str(path),
                hint=hint,
            )
        if self.is_text:
            return numbers_of(column, name, path, row, self.options)
        try:
            return np.asarray(arrow.cast(column, pa.float64()), dtype=np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise FileFormatError(
                f"weights must be numbers that float64 can hold, but column {name!r} of {path.name} has {column.type} "
                "values: "
                f"{error}",
                code="weights-no-numbers",
                where=str(path),
                got=str(column.type),
            ) from None


def open_records(
    path: Any,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing_values: Sequence[str] = (),
    not_missing: Sequence[str] = (),
) -> Any:
    r"""Return the records of files for `tabulate`: read when they are counted, or a data frame.

    Parameters
    ----------
    path
        A path, with wildcards or not, a list of paths, a folder of Parquet files, or "-" for what is piped in. Kinds:
        text (.csv, .tsv, .txt; also .gz, .zst, .bz2), .parquet, .feather and .arrow; Excel (.xlsx), Stata (.dta), SPSS
        (.sav) and SAS (.sas7bdat, .xpt), which are read whole.
    delimiter
        What stands between the cells of text; found unless given.
    decimal
        "," where numbers are written 2,5; found unless given, in files that are not delimited by commas.
    encoding
        Of text; UTF-8, or UTF-16 where a byte order mark says so, unless given.
    missing_values
        Cells that mean a missing value, beside empty ones. The spellings of R, pandas, UCI and SAS (NA, ?, .) are
        refused unless they are named here or there.
    not_missing
        Such spellings that are categories.

    Raises
    ------
    UnreadableFileError
        A file is not there, or may not be opened.
    FileFormatError
        A kind that is unknown, columns without names, or files with other columns than the first.

    Examples
    --------
    >>> from pathlib import Path
    >>> import purtensor as pt
    >>> from purtensor.records.files import open_records
    >>> _ = Path("survey.csv").write_text("sex;age\nf;?\nm;40\nf;31\n")
    >>> counts = pt.tabulate(open_records("survey.csv", missing_values=["?"]), missing="drop")
    >>> counts.to_series().to_dict()
    {('f', 31): 1.0, ('m', 40): 1.0}
    """
    options = TextOptions(delimiter, decimal, encoding, tuple(missing_values), tuple(not_missing))
    paths = _files(paths_in(path) or [os.fspath(path)])
    # one reader reads all files, and one rule recognises the labels of a column
    kinds = {_kind(one) for one in paths}
    if len(kinds) > 1:
        raise FileFormatError(
            f"the files of one set of records must have the same format, got {', '.join(sorted(kinds))}"
        )
    kind = kinds.pop()
    if kind in FOREIGN:
        if len(paths) > 1:
            raise FileFormatError(f"{kind} files must be read one at a time, got {len(paths)} of them")
        return read_foreign(paths[0], kind)
    dialects = tuple(find_dialect(one, options) for one in paths) if kind == ".csv" else ()
    # by a comma where one of the files needs it: whole numbers and points are read with it as well
    options = replace(options, decimal="," if any(one.decimal == "," for one in dialects) else ".")
    stored = [] if dialects else [schema_of(one, kind) for one in paths]
    headers = [one.names for one in dialects]
    headers += [tuple(check_names(schema.names, one)) for schema, one in zip(stored, paths[: len(stored)], strict=True)]
    for one, header in zip(paths, headers, strict=True):
        # text is read by position, the other kinds by name
        if set(header) != set(headers[0]) or (kind == ".csv" and header != headers[0]):
            raise FileFormatError(f"{one} has the columns {list(header)}, {paths[0]} has {list(headers[0])}")
    ordered = {one.name for schema in stored for one in schema if pa.types.is_dictionary(one.type)}
    return RecordFiles(tuple(paths), kind, headers[0], options, dialects, frozenset(ordered))


def paths_in(records: Any) -> list[str]:
    """Return the paths that records are, where they are one or several; a list of text is a column."""
    given = records if isinstance(records, list | tuple) else [records]
    if not given or not all(isinstance(one, str | os.PathLike) for one in given):
        return []
    if isinstance(records, list | tuple) and all(isinstance(one, str) for one in given):
        return []
    return [os.fspath(one) for one in given]


def is_of_records(path: str) -> bool:
    """Return whether a word is a path of records by its ending, or what is piped in."""
    return path == STDIN or _ending(Path(path)) in (*TEXT, *ARROW, ".parquet", *FOREIGN)


def _files(paths: Sequence[str]) -> list[Path]:
    """Return the files that paths refer to: an existing path itself, otherwise the matches of its wildcards."""
    files: list[Path] = []
    for path in paths:
        if path == STDIN:
            files.append(_save_pipe(sys.stdin.buffer))
            continue
        if os.path.isdir(path) and not os.path.exists(os.path.join(path, STORE_MARK)):
            files += _files_in(Path(path))
            continue
        # a file may have brackets in its name, which glob would read as a pattern
        found = [path] if os.path.exists(path) else sorted(glob.glob(path))
        # a pattern without matches is refused as the file that it would name
        for file in found or [path]:
            require_file(file, f"a file of records ({KINDS})")
        files += map(Path, found)
    return files


def _files_in(folder: Path) -> list[Path]:
    found = sorted(file for ending in (".parquet", *ARROW) for file in folder.rglob(f"*{ending}"))
    if not found:
        require_file(folder, "a file of records, or a folder of Parquet files,")  # tells what there is
    return found


def _kind(path: Path) -> str:
    kind = _ending(path)
    if kind in TEXT:
        return ".csv"
    if kind in ARROW:
        return ".feather"
    if kind != ".parquet" and kind not in FOREIGN:
        hint = ELSEWHERE.get(kind)
        raise FileFormatError(
            f"{path.name} has an unsupported file format: give {KINDS}{f'; {hint}' if hint else ''}",
            code="unknown-kind",
            where=str(path),
            expected=KINDS,
            got=kind,
            hint=hint,
        )
    return kind


def _ending(path: Path) -> str:
    return next((ending for ending in map(str.lower, reversed(path.suffixes)) if ending not in PACKED), "")


@lru_cache(maxsize=1)
def _save_pipe(source: BinaryIO) -> Path:
    """Return a temporary file with what is piped in, which is read more than once; it lasts as long as the program."""
    folder = tempfile.mkdtemp(prefix="purtensor-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "stdin"
    with path.open("wb") as file:
        shutil.copyfileobj(source, file)
    with path.open("rb") as file:
        # the first bytes of Parquet's and of Arrow's (ARROW1) files
        ending = {b"PAR1": ".parquet", b"ARRO": ".feather"}.get(file.read(4), ".csv")
    return path.rename(path.with_suffix(ending))
