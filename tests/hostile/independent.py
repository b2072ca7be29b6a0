"""Slow readers of records, questions, maps, surveys and Stata files, in the standard library: what a file says."""

from __future__ import annotations

import io
import itertools
import math
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import purtensor as pt
from purtensor.datasets.sectors import CPS_SECTORS
from purtensor.tables.labels import label_text
from tests.hostile.answers import (
    WrongAnswerError,
    agree,
    as_read,
    as_records,
    is_a_table,
    profiles_of,
    same_number,
    unpacked,
)

MISSING = ("", "NA")
PANDAS_MISSING = {
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
}
"""What a cell of a survey says where it says nothing: the words that pandas documents."""


def even(header: list[str], rows: list[list[str]]) -> list[list[str]]:
    """The rows without those of blanks alone, which are empty lines; each has as many cells as the header."""
    kept = [row for row in rows if len(row) > 1 or not row[0] or row[0].strip(" \t")]  # an empty cell has quotes
    for row in kept:
        if len(row) != len(header):
            raise WrongAnswerError(f"a row of {len(row)} cells was accepted under {len(header)} names: {row}")
    return kept


def complete_rows(table: Any, content: bytes) -> None:
    """Records of which those with an empty cell, or NA, are left out: as many of each profile as there are others."""
    header, rows = as_records(unpacked(content))
    place = header.index("count") if "count" in header else None
    wanted: Counter[Any] = Counter()
    dropped = 0
    for row in even(header, rows):
        profile = tuple(cell for k, cell in enumerate(row) if k != place)
        if any(cell.strip() in MISSING for cell in profile):
            dropped += 1
        else:
            wanted[profile] += 1 if place is None else float(row[place])
    agree({k: v for k, v in profiles_of(table).items() if v}, {k: v for k, v in wanted.items() if v})
    if table.attrs.get("dropped_rows") != dropped:
        raise WrongAnswerError(f"{table.attrs.get('dropped_rows')} rows are said to be dropped, not {dropped}")


def asked(question: Any, content: bytes) -> None:
    """What `purtensor project` makes of records: the counts with 1e-4 on each response of each observed rest."""
    header, rows = as_records(unpacked(content))
    weights = "count" if "count" in header else None
    rows = even(header, rows)
    counts = summed(header, rows, weights)
    names = [name for name in header if name != weights]
    at = names.index("y")
    answers = {profile[at] for profile in counts}
    rests = {(*profile[:at], *profile[at + 1 :]) for profile in counts}
    total = math.fsum(counts.values())
    support = {(*rest[:at], y, *rest[at:]) for rest in rests for y in answers}
    f = {p: (counts.get(p, 0.0) + 1e-4) / (total + 1e-4 * len(support)) for p in support}
    near(profiles_of(question.f), f, list(question.f.indexes["profile"].names), names)
    pairs = constrained(f, at, names.index("s"))
    for constraint, wanted in zip(question.constraints, pairs, strict=True):
        near(profiles_of(constraint.target), wanted)
    probability = "probability" if "probability" in header else weights
    if set(names) == set(question.reference.indexes["profile"].names):
        reference = {k: v for k, v in profiles_of(question.reference).items() if v}
        near(reference, summed(header, rows, probability), list(question.reference.indexes["profile"].names), names)


def summed(header: list[str], rows: list[list[str]], weights: str | None) -> dict[tuple[str, ...], float]:
    """Sums of the weights, or counts, of each profile; those of weight 0 are left out."""
    place = header.index(weights) if weights else None
    found: dict[tuple[str, ...], float] = defaultdict(float)
    for row in rows:
        found[tuple(c for k, c in enumerate(row) if k != place)] += 1.0 if place is None else float(row[place])
    return {profile: mass for profile, mass in found.items() if mass > 0.0}


def constrained(f: dict[tuple[str, ...], float], y: int, s: int) -> list[dict[tuple[str, ...], float]]:
    """The targets of parity, utility and realism of these masses: b(y, s), b(y, x), b(s, x)."""
    others = [k for k in range(len(next(iter(f)))) if k not in (y, s)]

    def sums(places: list[int]) -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for profile, mass in f.items():
            found[tuple(profile[k] for k in places)].append(mass)
        return {profile: math.fsum(masses) for profile, masses in found.items()}

    whole = math.fsum(f.values())
    parity = {
        (*one, *other): mass * part / whole
        for (one, mass), (other, part) in itertools.product(sums([y]).items(), sums([s]).items())
    }
    return [parity, sums([y, *others]), sums([s, *others])]


def near(
    found: dict[Any, float], wanted: dict[Any, float], names: list[str] | None = None, order: list[str] | None = None
) -> None:
    """Refuse masses that differ by more than rounding; `wanted` has its labels in the order of other names."""
    if names is not None and order is not None:
        places = [order.index(name) for name in names]
        wanted = {tuple(profile[k] for k in places): mass for profile, mass in wanted.items()}
    for profile in {*found, *wanted}:
        one, other = found.get(profile, 0.0), wanted.get(profile, 0.0)
        if not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-300):
            raise WrongAnswerError(f"{profile!r} has {one}, the file says {other}")


def mapped(found: dict[str, str], content: bytes) -> None:
    """A map: two columns, each category once with its group, in the file's order."""
    header, rows = as_read(content, ",")
    wanted = [tuple(row) for row in even(header, rows)]
    if header != ["category", "group"] or list(found.items()) != wanted:
        raise WrongAnswerError(f"{found} was read where the file says {header}, {wanted}")


def surveyed(table: Any, content: bytes) -> None:
    """A survey in CSV, counted row by row."""
    header, rows = as_read(content, ",")
    columns = {name: header.index(name) for name in needed()}
    rows = even(header, rows)
    agree(profiles_of(table), people({n: number(row[k]) for n, k in columns.items()} for row in rows))


def surveyed_in_stata(table: Any, content: bytes) -> None:
    """A survey in a Stata file, its bytes read by the layout that Stata documents."""
    agree(profiles_of(table), people(stata_rows(content)))


def needed() -> list[str]:
    return ["realhrwage", "sex", "race", "age", "sch", "year", *CPS_SECTORS]


def number(cell: str) -> float:
    return math.nan if cell in PANDAS_MISSING else float(cell)


def people(rows: Iterable[dict[str, float]]) -> dict[tuple[str, ...], float]:
    """The profiles of the wage study in rows of numbers, as the paper's appendix groups them."""
    found: Counter[Any] = Counter()
    for row in rows:
        sectors = {CPS_SECTORS[name] for name in CPS_SECTORS if row[name] == 1}
        if len(sectors) != 1:
            raise WrongAnswerError(f"a row of sectors {sectors} was accepted")
        found[
            group(row["realhrwage"], {10: "<10", 20: "10-20", 30: "20-30", 40: "30-40", math.inf: ">=40"}),
            {1: "male", 2: "female"}[row["sex"]],
            {1: "white", 2: "black", 3: "hispanic", 4: "other"}[row["race"]],
            group(row["age"], {30: "young", 50: "middle", math.inf: "senior"}),
            group(row["sch"], {12: "no-diploma", 13: "highschool", 16: "some-college", math.inf: "degree"}),
            sectors.pop(),
        ] += 1
    return dict(found)


def group(value: float, labels: dict[float, str]) -> str:
    return next(label for edge, label in labels.items() if value < edge)


NUMBERS = {
    251: ("b", 100),
    252: ("h", 32740),
    253: ("i", 2147483620),
    254: ("f", 1.70141173e38),
    255: ("d", 8.9885e307),
}
"""Types of Stata: how they lie in bytes, and the largest number; what is larger is missing."""


def stata_rows(content: bytes) -> list[dict[str, float]]:
    """The needed columns of a Stata file of version 114 or 115, whose header says where everything is."""
    if content[0] not in (114, 115):
        raise WrongAnswerError(f"a Stata file of version {content[0]} was accepted, which the checker does not read")
    order = ">" if content[1] == 1 else "<"
    columns, rows = struct.unpack(f"{order}HI", content[4:10])
    at = 109
    types = list(content[at : at + columns])
    at += columns
    names = [content[at + 33 * k : at + 33 * k + 33].split(b"\0")[0].decode("latin-1") for k in range(columns)]
    at += 33 * columns + 2 * (columns + 1) + 49 * columns + 33 * columns + 81 * columns
    while True:  # expansion fields
        kind, length = struct.unpack(f"{order}BI", content[at : at + 5])
        at += 5
        if kind == 0:
            break
        at += length
    widths = [struct.calcsize(NUMBERS[kind][0]) if kind in NUMBERS else kind for kind in types]
    found = []
    for _ in range(rows):
        row = {}
        for name, kind, width in zip(names, types, widths, strict=True):
            if name in needed() and kind in NUMBERS:
                form, largest = NUMBERS[kind]
                (value,) = struct.unpack(order + form, content[at : at + width])
                row[name] = math.nan if value > largest else float(value)
            at += width
        found.append(row)
    return found


def unchanged(reference: Callable[[], Any]) -> Callable[[Any, bytes], None]:
    """What is accepted of members of a run: the same numbers as without a file."""

    def check(found: Any, content: bytes) -> None:
        if not np.array_equal(found, reference()):
            raise WrongAnswerError("other numbers than those that were computed")

    return check


def same_part(arrays: dict[str, Any], facts: dict[str, Any]) -> Callable[[Any, bytes], None]:
    """A file with a checksum: what is accepted is what was written."""

    def check(found: Any, content: bytes) -> None:
        if dict(found.facts) != facts or set(found.arrays) != set(arrays):
            raise WrongAnswerError(f"{dict(found.facts)} with {sorted(found.arrays)} was read")
        for name, array in arrays.items():
            if found.arrays[name].dtype != array.dtype or not np.array_equal(found.arrays[name], array):
                raise WrongAnswerError(f"array {name} is another one")

    return check


def one_of(seeds: Callable[[], list[Any]]) -> Callable[[Any, bytes], None]:
    """A file of ours that tells something else of itself: what is accepted is one of those that were saved."""

    def check(found: Any, content: bytes) -> None:
        if not any(found.identical(seed) for seed in seeds()):
            raise WrongAnswerError("another table than any that was saved")

    return check


def parquet_of(content: bytes) -> pa.Table:
    """What pyarrow reads of a Parquet file, without the comment by Arrow where that is spoilt: DuckDB reads none."""
    try:
        return pq.ParquetFile(io.BytesIO(content)).read()
    except (pa.ArrowInvalid, OSError):
        return pq.ParquetFile(io.BytesIO(content.replace(b"ARROW:schema", b"ARROW:unread"))).read()


def parquet_rows(values: tuple[str, ...]) -> Callable[[Any, bytes], None]:
    """Parquet of another program: each row its profile, with the sums of one column of values, or their number."""

    def check(table: Any, content: bytes) -> None:
        is_a_table(table, content)
        stored = parquet_of(content)
        has_times = any(pa.types.is_temporal(field.type) for field in stored.schema)
        for k, column in enumerate(stored.columns):  # Python has no dates before the year 1
            if pa.types.is_temporal(column.type):
                stored = stored.set_column(k, stored.column_names[k], column.cast(f"int{column.type.bit_width}"))
        known = stored.column_names if len(stored.column_names) > 1 else []  # a column alone is no weight
        weights = next((name for name in known if name in values), None)
        wanted: dict[Any, float] = defaultdict(float)
        for row in stored.to_pylist():
            mass = 1.0 if weights is None else float(row.pop(weights))
            wanted[tuple(row.values())] += mass
        sparse = table if "profile" in table.dims else pt.to_sparse(table, keep_zeros=True)
        names = [name for name in stored.column_names if name != weights]
        if list(sparse.indexes["profile"].names) != names:
            raise WrongAnswerError(f"{list(sparse.indexes['profile'].names)} were read, the file has {names}")
        masses = (sorted(mass for mass in one if mass) for one in (wanted.values(), sparse.values.tolist()))
        if not all(itertools.starmap(same_number, itertools.zip_longest(*masses))):
            raise WrongAnswerError("other masses")
        if has_times:
            return  # their labels are times, no texts
        texts = [row for row in wanted if all(isinstance(cell, str | int | bool) for cell in row)]
        found = profiles_of(table)
        for row in texts:
            if wanted[row] and not same_number(found.get(tuple(label_text(cell) for cell in row)), wanted[row]):
                raise WrongAnswerError(f"{row!r} has {wanted[row]} in the file")

    return check
