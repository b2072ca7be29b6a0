"""Every reader of files: valid files to begin with, how they are spoilt, and how an answer is checked."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

import purtensor as pt
from purtensor.cli.parser import build_parser
from purtensor.cli.question import read_question
from purtensor.cli.records import read_counts
from purtensor.cli.wage_surveys import read_map
from purtensor.datasets import gender_pay_gap
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.studies.members import run_members
from tests.datasets.test_pay_gap import records as survey_records
from tests.hostile.answers import counted_rows, is_a_table, nothing_changed, same_rows
from tests.hostile.callables import PUR, plain
from tests.hostile.independent import (
    asked,
    complete_rows,
    mapped,
    one_of,
    parquet_rows,
    same_part,
    surveyed,
    surveyed_in_stata,
    unchanged,
)
from tests.hostile.mutations import mutated
from tests.hostile.spoilt import foreign_parquet, retold_netcdf, retold_parquet, spoilt_inside


@dataclass(frozen=True)
class Reader:
    """A reader with valid files to begin with, how they are spoilt, and a check of what is accepted."""

    ending: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], Any]
    check: Callable[[Any, bytes], None]
    spoil: Callable[[Random, bytes, bytes], bytes] = mutated


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


def our_tables() -> list[Any]:
    return [plain(), labelled(), pt.to_sparse(plain())]


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
    "table.parquet": Reader(".parquet", lambda: [saved(plain(), ".parquet")], pt.load, nothing_changed(plain)),
    "table.parquet, retold": Reader(
        ".parquet",
        lambda: [saved(t, ".parquet") for t in our_tables()],
        pt.load,
        one_of(our_tables),
        retold_parquet,
    ),
    "table.parquet of another program": Reader(
        ".parquet", lambda: [b""], pt.load, parquet_rows(("count", "probability", "value")), foreign_parquet
    ),
    "table.nc": Reader(".nc", lambda: [saved(plain(), ".nc")], pt.load, nothing_changed(plain)),
    "table.nc, retold": Reader(
        ".nc",
        lambda: [saved(table, ".nc") for table in (labelled(), pt.to_sparse(plain()))],
        pt.load,
        is_a_table,
        retold_netcdf,
    ),
    "result.nc": Reader(
        ".nc",
        lambda: [saved(result(), ".nc")],
        pt.load,
        nothing_changed(lambda: result().table),
    ),
    "result.nc, retold": Reader(".nc", lambda: [saved(result(), ".nc")], pt.load, is_a_table, retold_netcdf),
    "records.csv": Reader(".csv", csv_records, lambda path: read_counts(path), counted_rows(",")),
    "records.tsv": Reader(
        ".tsv",
        lambda: [seed.replace(b",", b"\t") for seed in csv_records()],
        lambda path: read_counts(path),
        counted_rows("\t"),
    ),
    "records.csv.gz": Reader(
        ".csv.gz", packed(csv_records), lambda path: read_counts(path), counted_rows(","), spoilt_inside
    ),
    "records.csv, missing dropped": Reader(
        ".csv",
        csv_records,
        lambda path: read_counts(path, missing="drop", text={"missing_values": ["NA"]}),
        complete_rows,
    ),
    "records.parquet": Reader(
        ".parquet", lambda: [b""], lambda path: read_counts(path), parquet_rows(("count",)), foreign_parquet
    ),
    "tabulate(csv)": Reader(".csv", csv_records, lambda path: pt.tabulate(path), counted_rows(",")),
    "tabulate(parquet)": Reader(
        ".parquet", lambda: [b""], lambda path: pt.tabulate(path), parquet_rows(("count",)), foreign_parquet
    ),
    "question.csv": Reader(".csv", csv_records, read_as_question, asked),
    "map.csv": Reader(".csv", lambda: [b"category,group\na,A\nb,B\nc,A\n"], read_map, mapped),
    "survey.csv": Reader(
        ".csv", lambda: [survey().to_csv(index=False).encode()], lambda path: gender_pay_gap(path), surveyed
    ),
    "survey.dta": Reader(
        ".dta",
        lambda: [file_of(lambda path: survey().to_stata(path, write_index=False), ".dta")],
        lambda path: gender_pay_gap(path),
        surveyed_in_stata,
    ),
    "members.npz": Reader(
        ".npz",
        lambda: [file_of(lambda path: run_members(one_member, 3, seed=1, store=path), ".npz")],
        read_members,
        unchanged(lambda: run_members(one_member, 4, seed=1)["value"]),
    ),
    "part of a checkpoint": Reader(
        ".bin",
        lambda: [file_of(lambda path: write_packed(path, {"a": np.arange(9)}, {"k": 1}), ".bin")],
        read_packed,
        same_part({"a": np.arange(9)}, {"k": 1}),
    ),
}


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
