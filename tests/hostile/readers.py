"""Every reader of files with seeds, and what its answers are compared with: a slow reader in the standard library."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import xarray as xr

import purtensor as pt
from purtensor.cli.arguments import build_parser
from purtensor.cli.question import read_question
from purtensor.cli.records import Columns, read_counts
from purtensor.cli.wage_surveys import read_map
from purtensor.datasets import gender_pay_gap
from purtensor.distributed.packed import read_packed, write_packed
from purtensor.experiments.members import run_members
from purtensor.tables.labels import label_text
from purtensor.tables.netcdf import write_dataset
from tests.datasets.test_pay_gap import records as survey_records
from tests.hostile.callables import PUR, plain
from tests.hostile.mutations import mutated


class WrongAnswerError(Exception):
    """A reader accepted a file and gave something that is not in it."""


@dataclass(frozen=True)
class Reader:
    """A reader with valid files to begin with, how they are spoilt, and a check of what is accepted."""

    ending: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], Any]
    check: Callable[[Any, bytes], None]
    spoil: Callable[[Random, bytes, bytes], bytes] = mutated


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


def anything(found: Any, content: bytes) -> None:
    """Where no oracle is at hand: not failing is enough."""


def file_of(write: Callable[[Path], Any], ending: str) -> bytes:
    """The bytes that a writer leaves."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"seed{ending}"
        write(path)
        return path.read_bytes()


def saved(what: Any, ending: str) -> bytes:
    return file_of(lambda path: pt.save(what, path), ending)


def labelled() -> Any:
    return plain(y=[False, True], s=[3, 11], x=pd.IntervalIndex.from_breaks([0, 18, 30, 99], closed="left"))


def csv_tables() -> list[bytes]:
    tables = [plain(), pt.to_sparse(plain()), labelled(), pt.empirical(plain()), -plain()]
    return [saved(table, ".csv") for table in tables]


def csv_records() -> list[bytes]:
    rng = Random(5)
    rows = [(rng.choice("ab"), rng.choice(("no", "yes")), str(rng.randrange(3))) for _ in range(12)]
    text = "\n".join(",".join(row) for row in [("s", "y", "x"), *rows]) + "\n"
    return [text.encode(), text.replace("\n", ",2\n").replace("x,2", "x,count").encode(), *csv_tables()[:1]]


def packed(seeds: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
    return lambda: [gzip.compress(seed, mtime=0) for seed in seeds()]


def spoilt_inside(random: Random, content: bytes, other: bytes) -> bytes:
    """A gzip file whose content is spoilt, or which is spoilt itself."""
    if random.random() < 0.5:
        return mutated(random, content, other)
    return gzip.compress(mutated(random, gzip.decompress(content), gzip.decompress(other)), 1)


def foreign_parquet(random: Random, content: bytes, other: bytes) -> bytes:
    """A Parquet file of random columns, as any program may write it, one in four of them spoilt."""
    size = random.choice((0, 1, 3, 3, 7))
    columns = [column(random, size) for _ in range(random.randint(1, 4))]
    names = random.sample(["y", "s", "x", "count", "probability", "value", "profile", "", "é", "count"], len(columns))
    schema = pa.schema([pa.field(name, array.type) for name, array in zip(names, columns)])
    buffer = io.BytesIO()
    compression = random.choice(("none", "snappy", "zstd", "gzip"))
    try:
        pq.write_table(pa.Table.from_arrays(columns, schema=schema), buffer, compression=compression)
    except (pa.ArrowException, ValueError):  # a type that Parquet does not have
        return content
    return mutated(random, buffer.getvalue(), content) if random.random() < 0.25 else buffer.getvalue()


CELLS: dict[str, tuple[Any, ...]] = {
    "string": ("a", "b", "", "NA", "=1+1", "\0"), "int64": (1, 2, -3, 2**53 + 1, 2**62), "uint64": (1, 2**64 - 1),
    "double": (0.5, 2.0, -1.0, math.nan, math.inf, 1e300), "bool": (True, False), "binary": (b"a", b"\xff"),
    "date32": (1, 2, 10**6), "timestamp": (0, 1, 10**15, -(10**18)), "halffloat": (np.float16(1), np.float16(2)),
    "null": (None,), "list": ([1], [], [2, 3]), "struct": ({"k": 1}, {"k": 2}), "decimal": (1, 2, 10**6),
    "duration": (1, 10**12), "time64": (1, 10**6), "int8": (1, -5),
}  # fmt: skip
TYPES = {
    "timestamp": lambda random: pa.timestamp(
        random.choice(("s", "us", "ns")), random.choice((None, "UTC", "Europe/Paris", "+01:00"))
    ),
    "list": lambda random: pa.list_(pa.int64()), "struct": lambda random: pa.struct([("k", pa.int64())]),
    "decimal": lambda random: pa.decimal128(20, random.choice((0, 3))), "duration": lambda random: pa.duration("us"),
    "time64": lambda random: pa.time64("us"),
}  # fmt: skip


def column(random: Random, size: int) -> Any:
    """Values of one type, some of them missing, perhaps as a dictionary."""
    name = random.choice(list(CELLS))
    kind = TYPES[name](random) if name in TYPES else pa.type_for_alias(name)
    gaps = random.random() < 0.2
    values = [None if gaps and random.random() < 0.3 else random.choice(CELLS[name]) for _ in range(size)]
    array = pa.array(values, type=kind)
    if name in ("string", "int64", "double") and random.random() < 0.3:
        array = array.dictionary_encode()
    return array


def retold_parquet(random: Random, content: bytes, other: bytes) -> bytes:
    """Our own Parquet file whose description says something else."""
    stored = pq.read_table(io.BytesIO(content))
    told = json.loads(stored.schema.metadata[b"purtensor"])
    text = json.dumps(retold(random, told)).encode()
    if random.random() < 0.2:
        text = mutated(random, text, text)
    buffer = io.BytesIO()
    pq.write_table(stored.replace_schema_metadata({b"purtensor": text}), buffer, write_page_checksum=True)
    return buffer.getvalue()


ODD = (None, True, 0, -1, 2**70, 1.5, math.nan, "", "dense", "sparse", "y", "mixed", "int64", "boolean",
       "datetime64[ns]",
       "interval[int64, left]", "{", "[]", '{"a": 1}', [], [1], ["a", "a"], {}, {"k": 1}, "\0", "9" * 5000)  # fmt: skip


def retold(random: Random, value: Any) -> Any:
    """The value, or one of its parts, replaced or left out."""
    if random.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return random.choice(ODD)
    k = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
    changed = dict(value) if isinstance(value, dict) else list(value)
    if random.random() < 0.1:
        del changed[k]
    else:
        changed[k] = retold(random, value[k])
    return changed


def retold_netcdf(random: Random, content: bytes, other: bytes) -> bytes:
    """Our own NetCDF file of other variables, attributes, types or sizes, sealed anew."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.nc"
        path.write_bytes(content)
        with xr.open_dataset(path, engine="netcdf4", decode_times=False, mask_and_scale=False) as opened:
            dataset = opened.load()
        try:
            for _ in range(random.choice((1, 1, 2, 3))):
                dataset = changed_dataset(random, dataset)
            write_dataset(dataset, path)
        except Exception:  # nothing that NetCDF can hold
            return content
        return path.read_bytes()


def changed_dataset(random: Random, dataset: Any) -> Any:
    names = list(dataset.variables)
    name = random.choice(names)
    kind = random.choice(("fact", "mark", "mark", "drop", "values", "type", "part", "rename", "transpose"))
    if kind == "fact":
        key = random.choice(list(dataset.attrs))
        return dataset.assign_attrs({key: random.choice(ODD)})
    changed = dataset.copy(deep=True)
    variable = changed[name]
    if kind == "mark" and variable.attrs:
        key = random.choice(list(variable.attrs))
        changed[name].attrs[key] = random.choice((*ODD, *(v.attrs.get(key, 0) for v in changed.variables.values())))
    elif kind == "drop":
        return changed.drop_vars(name)
    elif kind == "values" and variable.dtype.kind in "uif" and variable.size and name not in changed.dims:
        variable.values.reshape(-1)[random.randrange(variable.size)] = random.choice((0, 1, 7, 200))
        if variable.dtype.kind == "f":
            variable.values.reshape(-1)[-1] = random.choice((math.nan, -1.0, math.inf, 1e308, 5e-324))
    elif kind == "type" and name not in changed.dims:
        changed[name] = variable.astype(random.choice(("f4", "f8", "i1", "i8", "u1", "u8", "S4", "U")))
    elif kind == "part" and variable.dims:
        return changed.isel({random.choice(variable.dims): slice(0, random.choice((0, 1, 2)))})
    elif kind == "rename":
        return changed.rename({name: random.choice(("table_x", "t", "target0_y", "trace_iteration"))})
    elif kind == "transpose":
        return changed.transpose(*reversed(list(changed.dims)))
    return changed


def read_as_question(path: Path) -> Any:
    """What `purtensor project` makes of a file, and of a reference beside it that is the same file."""
    words = ["project", str(path), "--response", "y", "--protected", "s", "--out", "away.nc", "--reference", str(path)]
    return read_question(build_parser().parse_args(words))


def one_member(rng: Any) -> dict[str, Any]:
    return {"value": rng.random(3)}


def read_members(path: Path) -> Any:
    """Runs that go on from a store; the store is a copy, as a run writes into it."""
    return run_members(one_member, 4, seed=1, store=path)["value"]


def survey() -> Any:
    frame = survey_records(size=12, seed=1)
    return frame.astype({"race": np.int8})


def result() -> Any:
    return pt.project(plain(), PUR)


READERS: dict[str, Reader] = {
    "table.csv": Reader(".csv", csv_tables, pt.load, same_rows),
    "table.csv.gz": Reader(".csv.gz", packed(csv_tables), pt.load, same_rows, spoilt_inside),
    "table.parquet": Reader(
        ".parquet", lambda: [saved(plain(), ".parquet")], pt.load, nothing_changed(plain)
    ),
    "table.parquet, retold": Reader(
        ".parquet",
        lambda: [saved(t, ".parquet") for t in (plain(), labelled(), pt.to_sparse(plain()))],
        pt.load, is_a_table, retold_parquet,
    ),
    "table.parquet of another program": Reader(".parquet", lambda: [b""], pt.load, is_a_table, foreign_parquet),
    "table.nc": Reader(
        ".nc", lambda: [saved(plain(), ".nc")], pt.load, nothing_changed(plain)
    ),
    "table.nc, retold": Reader(
        ".nc", lambda: [saved(table, ".nc") for table in (labelled(), pt.to_sparse(plain()))],
        pt.load, is_a_table, retold_netcdf,
    ),
    "result.nc": Reader(
        ".nc", lambda: [saved(result(), ".nc")], pt.load,
        nothing_changed(lambda: result().table),
    ),
    "result.nc, retold": Reader(
        ".nc", lambda: [saved(result(), ".nc")], pt.load, is_a_table, retold_netcdf
    ),
    "records.csv": Reader(".csv", csv_records, lambda path: read_counts(path, Columns()), counted_rows(",")),
    "records.tsv": Reader(
        ".tsv", lambda: [seed.replace(b",", b"\t") for seed in csv_records()],
        lambda path: read_counts(path, Columns()), counted_rows("\t"),
    ),
    "records.csv.gz": Reader(
        ".csv.gz", packed(csv_records), lambda path: read_counts(path, Columns()), counted_rows(","), spoilt_inside
    ),
    "records.csv, missing dropped": Reader(
        ".csv", csv_records, lambda path: read_counts(path, Columns(missing="drop", missing_values=("NA",))), anything
    ),
    "records.parquet": Reader(
        ".parquet", lambda: [b""], lambda path: read_counts(path, Columns()), is_a_table, foreign_parquet
    ),
    "tabulate(csv)": Reader(".csv", csv_records, lambda path: pt.tabulate(path), counted_rows(",", "no weights")),
    "tabulate(parquet)": Reader(".parquet", lambda: [b""], lambda path: pt.tabulate(path), is_a_table, foreign_parquet),
    "question.csv": Reader(".csv", csv_records, read_as_question, anything),
    "map.csv": Reader(".csv", lambda: [b"category,group\na,A\nb,B\nc,A\n"], read_map, anything),
    "survey.csv": Reader(
        ".csv", lambda: [survey().to_csv(index=False).encode()], lambda path: gender_pay_gap(path), is_a_table
    ),
    "survey.dta": Reader(
        ".dta", lambda: [file_of(lambda path: survey().to_stata(path, write_index=False), ".dta")],
        lambda path: gender_pay_gap(path), is_a_table,
    ),
    "members.npz": Reader(
        ".npz", lambda: [file_of(lambda path: run_members(one_member, 3, seed=1, store=path), ".npz")], read_members,
        anything,
    ),
    "part of a checkpoint": Reader(
        ".bin", lambda: [file_of(lambda path: write_packed(path, {"a": np.arange(9)}, {"k": 1}), ".bin")],
        read_packed, anything,
    ),
}  # fmt: skip


def outcome(name: str, content: bytes, folder: Path) -> str:
    """Let one reader read the content: "read", or the class of the refusal; anything else is raised."""
    reader = READERS[name]
    path = folder / f"file{reader.ending}"
    path.write_bytes(content)
    try:
        found = reader.read(path)
    except pt.PurtensorError as error:
        return type(error).__name__
    finally:
        if path.exists() and os.path.getsize(path) > 1 << 26:
            path.unlink()
    reader.check(found, content)
    return "read"
