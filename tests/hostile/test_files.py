"""load x faults of files: refused by name, never half read, never unpickled; save x what no file can hold."""

from __future__ import annotations

import gzip
import os
import pickle
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from random import Random

import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import purtensor as pt
from tests.hostile.callables import PUR, plain

ROOT = Path(__file__).resolve().parents[2]
GOOD = "y,s,count\nno,f,3\nyes,m,4\n"

CSV = {
    "empty": (b"", "empty"),
    "header alone": (b"y,s,count\n", "no row"),
    "no column of values": (b"y,s\nno,f\n", "count"),
    "column twice": (b"y,y,count\nno,f,3\n", "'y'"),
    "semicolons": (GOOD.replace(",", ";").encode(), "commas"),
    "tabs": (GOOD.replace(",", "\t").encode(), "commas"),
    "UTF-16": (GOOD.encode("utf-16"), "UTF-8|null"),
    "Latin-1": ("y,s,count\nné,f,3\n".encode("latin-1"), "UTF-8"),
    "null character": (b"y,s,count\nn\0o,f,3\n", "null"),
    "cut in a row": (GOOD[:-4].encode(), "cut|cells|fewer"),
    "last line without end": (GOOD[:-1].encode(), "truncated"),
    "cell missing": (b"y,s,count\nno,3\n", "cells|fewer"),
    "cell too many": (b"y,s,count\nno,f,3,7\n", "cells|fields|columns|Expected|expected"),
    "quote never closed": (b'y,s,count\n"no,f,3\n', "quot|EOF|cells|cut"),
    "text for a number": (b"y,s,count\nno,f,many\n", "row 1.*many"),
    "comma in a number": (b'y,s,count\nno,f,"1,5"\n', "row 1.*1,5"),
    "hexadecimal": (b"y,s,count\nno,f,0x10\n", "row 1.*0x10"),
    "not a number": (b"y,s,count\nno,f,nan\n", "row 1.*nan"),
    "infinite": (b"y,s,count\nno,f,inf\n", "row 1.*inf"),
    "negative": (b"y,s,count\nno,f,-3\n", "-3"),
    "beyond float64": (b"y,s,count\nno,f,1e999\n", "row 1"),
    "integer not exact": (b"y,s,count\nno,f,9007199254740993\n", "9007199254740993"),
    "profile twice": (b"y,s,count\nno,f,3\nno,f,4\n", "row 2.*y=no, s=f"),
    "missing label": (b"y,s,count\n,f,3\n", "row 1.*y|'y'|no y"),
    "gzip": (gzip.compress(GOOD.encode()), "UTF-8|null|damaged"),
    "pickle": (pickle.dumps({"y": 1}), "UTF-8|null|commas|count|damaged"),
    "web page": (b"<html><body>404</body></html>\n", "commas|count|no row"),
}


@pytest.mark.parametrize("fault", CSV)
def test_load__csv(fault, tmp_path):
    content, culprit = CSV[fault]
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(pt.PurtensorError, match=culprit) as caught:
        pt.load(tmp_path / "table.csv")
    assert isinstance(caught.value, (pt.errors.FileFormatError, pt.InvalidTableError))


def saved(kind, folder):
    path = folder / f"table.{kind}"
    pt.save(pt.project(plain(), PUR) if kind == "nc" else plain(), path)
    return path


@pytest.mark.parametrize("kind", ["nc", "parquet"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.99])
def test_load__truncated(kind, share, tmp_path):
    path = saved(kind, tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(pt.errors.FileFormatError, match=path.name):
        pt.load(path)


@pytest.mark.parametrize("kind", ["nc", "parquet"])
def test_load__flipped_bytes_change_nothing_or_are_noticed(kind, tmp_path):
    path = saved(kind, tmp_path)
    content = path.read_bytes()
    expected = pt.load(path)
    expected = getattr(expected, "table", expected)
    random = Random(kind)
    for _ in range(12):
        damaged = bytearray(content)
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
        path.write_bytes(bytes(damaged))
        try:
            found = pt.load(path)
        except pt.errors.FileFormatError:
            continue
        found = getattr(found, "table", found)
        assert found.identical(expected)


@pytest.mark.parametrize("kind", ["nc", "parquet", "csv"])
@pytest.mark.parametrize("content", [b"", b"\x80\x04.", b"PK\x03\x04 no zip", b"\x89HDF\r\n\x1a\n", b"PAR1"], ids=repr)
def test_load__something_else(kind, content, tmp_path):
    path = tmp_path / f"other.{kind}"
    path.write_bytes(content)
    with pytest.raises(pt.errors.FileFormatError):
        pt.load(path)


@pytest.mark.parametrize("kind", ["nc", "parquet", "csv"])
def test_load__not_there(kind, tmp_path):
    with pytest.raises((FileNotFoundError, pt.errors.FileFormatError), match=rf"away\.{kind}"):
        pt.load(tmp_path / f"away.{kind}")


def test_load__netcdf_of_another_program(tmp_path):
    with netCDF4.Dataset(tmp_path / "other.nc", "w") as file:
        file.createDimension("x", 3)
        file.createVariable("t", "f8", ("x",))[:] = np.arange(3.0)
    with pytest.raises(pt.errors.FileFormatError, match="written by another program"):
        pt.load(tmp_path / "other.nc")


PARQUET = {
    "numbers as text": {"y": ["no"], "count": ["3"]},
    "no number": {"y": ["no"], "count": [None]},
    "no label": {"y": [None], "count": [3]},
    "no value": {"y": ["no", "yes"], "value": [1.5, None]},
    "no decimal": {"y": ["no", "yes"], "value": [Decimal("1.5"), None]},
    "profile twice": {"y": ["no", "no"], "count": [1, 2]},
    "no column of values": {"y": ["no"]},
    "negative": {"y": ["no"], "count": [-1.0]},
    "not a number": {"y": ["no"], "count": [float("nan")]},
    "labels that are lists": {"y": [[1]], "count": [3]},
    "booleans": {"y": ["no"], "count": [True]},
}


@pytest.mark.parametrize("columns", PARQUET.values(), ids=PARQUET)
def test_load__parquet_of_another_program(columns, tmp_path):
    pq.write_table(pa.table(columns), tmp_path / "other.parquet")
    with pytest.raises((pt.errors.FileFormatError, pt.InvalidTableError)):
        pt.load(tmp_path / "other.parquet")


FORMULAS = ("=1+1", "+1", "-x", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0")


@pytest.mark.parametrize("label", FORMULAS)
def test_save__no_formula_in_a_csv(label, tmp_path):
    counts = pt.tabulate({"y": [label, "no"]})
    with pytest.raises(pt.InvalidTableError, match=r"formula|tab|character"):
        pt.save(counts, tmp_path / "table.csv")
    assert list(tmp_path.iterdir()) == []
    pt.save(counts, tmp_path / "table.nc")
    assert pt.load(tmp_path / "table.nc").identical(counts)


@pytest.mark.parametrize("kind", ["nc", "parquet", "csv"])
def test_save__folder_that_is_not_there(kind, tmp_path):
    with pytest.raises((OSError, pt.PurtensorError)):
        pt.save(plain(), tmp_path / "away" / f"table.{kind}")


@pytest.mark.parametrize("kind", ["nc", "parquet", "csv"])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_save__a_write_that_fails_leaves_the_old_file(kind, call, tmp_path, monkeypatch):
    path = tmp_path / f"table.{kind}"
    pt.save(plain(), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space"):
        pt.save(plain() * 2, path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


LIMITED = """
import resource
import numpy as np
import purtensor as pt
counts = pt.tabulate({f"a{i}": np.arange(1000) % (i + 20) for i in range(8)})
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
many = pt.tabulate({"y": np.arange(30_000), "s": np.arange(30_000)})
roles = {"response": "y", "protected": "s"}
calls = [lambda: pt.to_dense(counts), lambda: pt.regularize(counts, response="a0", support="product"),
         lambda: pt.to_records(pt.sample(counts, 10**12, seed=1)), lambda: pt.to_dense(many),
         lambda: pt.parity(many, **roles), lambda: pt.pur(many, **roles),
         lambda: pt.regularize(many, response="y")]
for call in calls:
    try:
        call()
        print("returned")
    except pt.TooLargeError as error:
        print(error.bytes_needed > error.bytes_available > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are set on Linux only")
def test_memory__requests_beyond_a_limit_are_refused():
    code = [sys.executable, "-c", LIMITED]
    done = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["True"] * 7, done.stderr
