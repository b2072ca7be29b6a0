"""What the answers of readers are compared with: a slow reader in the standard library, or what was saved."""

from __future__ import annotations

import csv
import gzip
import io
import math
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
    lines = io.StringIO(text.decode("utf-8-sig"), newline="")
    rows = [row for row in csv.reader(lines, delimiter=separator, strict=True) if row]
    return rows[0], rows[1:]


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


def counted_rows(separator: str, weights: str = "count") -> Callable[[Any, bytes], None]:
    """Records: as many of each profile as there are rows, or the sum of their weights."""

    def check(table: Any, content: bytes) -> None:
        header, rows = as_read(unpacked(content), separator)
        place = header.index(weights) if weights in header else None
        wanted: Counter[Any] = Counter()
        if weights == "count":  # pandas reads: a line of blanks is an empty line to it
            rows = [row for row in rows if len(row) > 1 or row[0].strip()]
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
