"""What the answers of readers are compared with: a slow reader in the standard library, or what was saved."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import math
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import purtensor as pt
from purtensor.tables.labels import label_text


class WrongAnswerError(Exception):
    """A reader accepted a file and gave something that is not in it."""


def as_read(text: bytes, separator: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a text file, empty lines left out."""
    marked = text[:2] in (b"\xff\xfe", b"\xfe\xff")
    lines = io.StringIO(text.decode("utf-16" if marked else "utf-8-sig"), newline="")
    rows = [row for row in csv.reader(lines, delimiter=separator, strict=True) if row]
    return rows[0], rows[1:]


def as_records(text: bytes, likely: str = ",") -> tuple[list[str], list[list[str]]]:
    """Header and rows by the delimiter that makes most columns, all rows equally long; whole numbers as integers."""
    read = {likely: as_read(text, likely)}
    for mark in (",", ";", "\t", "|"):
        with contextlib.suppress(csv.Error):
            read[mark] = as_read(text, mark)
    even = [mark for mark, (header, rows) in read.items() if {len(row) for row in rows} == {len(header)}]
    header, rows = read[max(even, key=lambda mark: len(read[mark][0]), default=likely)]
    if any(len(row) != len(header) for row in rows):
        return header, rows
    columns = [as_integers([row[k] for row in rows]) for k in range(len(header))]
    return header, [list(row) for row in zip(*columns, strict=True)]


def as_integers(cells: list[str]) -> list[str]:
    """Cells without the zeros behind their points, where each that is not empty is a whole number."""
    told = [cell for cell in cells if cell not in ("", "missing")]
    if all(re.fullmatch(r"-?(0|[1-9][0-9]{0,18})(\.0+)?", cell) for cell in told) and "-0" not in told:
        return [re.sub(r"\.0+$", "", cell) for cell in cells]
    return cells


def unpacked(content: bytes) -> bytes:
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def profiles_of(table: Any) -> dict[tuple[str, ...], float]:
    """Profiles as the texts of their labels, and their values."""
    sparse = table if "profile" in table.dims else pt.to_sparse(table, keep_zeros=True)
    rows = zip(sparse.indexes["profile"].tolist(), sparse.values.tolist(), strict=True)
    return {tuple(label_text(label) for label in row): value for row, value in rows}


def same_rows(table: Any, content: bytes) -> None:
    """A table in CSV: each row its profile, each number as Python reads it."""
    header, rows = as_read(unpacked(content), ",")
    place = next(k for k, name in enumerate(header) if name in ("count", "probability", "value"))
    wanted = {tuple(cell for k, cell in enumerate(row) if k != place): float(row[place]) for row in rows}
    agree(profiles_of(table), wanted)


def agree(found: dict[Any, float], wanted: dict[Any, float]) -> None:
    different = [key for key in {*found, *wanted} if not same_number(found.get(key), wanted.get(key))]
    if different:
        key = different[0]
        raise WrongAnswerError(f"{key!r} has {found.get(key)}, the file says {wanted.get(key)}")


def same_number(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-12) or (math.isnan(one) and math.isnan(other))


def counted_rows(separator: str) -> Callable[[Any, bytes], None]:
    """Records: as many of each profile as there are rows, or the sum of their weights."""

    def check(table: Any, content: bytes) -> None:
        header, rows = as_records(unpacked(content), separator)
        place = header.index("count") if "count" in header and len(header) > 1 else None
        wanted: Counter[Any] = Counter()
        for row in rows:
            wanted[tuple(c for k, c in enumerate(row) if k != place)] += 1 if place is None else float(row[place])
        found = profiles_of(table)
        agree({k: v for k, v in found.items() if v}, {k: v for k, v in wanted.items() if v})

    return check


def nothing_changed(reference: Callable[[], Any]) -> Callable[[Any, bytes], None]:
    """A file with a seal: what is accepted is what was saved."""

    def check(found: Any, content: bytes) -> None:
        if not getattr(found, "table", found).identical(reference()):
            raise WrongAnswerError("another table than the one that was saved")

    return check


def is_a_table(found: Any, content: bytes) -> None:
    """A table that other functions take: positive or named so, profiles once, saved and loaded alike."""
    table = getattr(found, "table", found)
    if found is not table:
        repr(found)
        _ = found.potentials, found.trace
    if not np.isfinite(table.values).all() or (table.values < 0).any():
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            pt.save(table, Path(folder) / "again.nc")
        except pt.InvalidTableError:  # a label that no file of ours holds
            return
        if not pt.load(Path(folder) / "again.nc").identical(table):
            raise WrongAnswerError("it does not come back as it was read")
