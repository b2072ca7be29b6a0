"""Files that are small and mean much, that speak another tongue, or that carry code: refused, never run."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import pickle
import zipfile

import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import purtensor as pt
from purtensor.cli.main import main
from purtensor.cli.records import read_counts
from purtensor.datasets import gender_pay_gap
from purtensor.studies.members import run_members
from purtensor.tables import memory
from purtensor.tables.io import netcdf
from purtensor.tables.io import read_errors as reading
from purtensor.tables.io.hashes import append_seal
from tests.hostile.readers import one_member, survey

MEBIBYTE = 1 << 20


@pytest.fixture
def little_memory(monkeypatch):
    """As on a machine that has 64 MiB left."""
    for module in (memory, reading):
        monkeypatch.setattr(module, "available_memory", lambda: 64 * MEBIBYTE)


def command(path):
    return main(["project", str(path), "--response", "y", "--protected", "s", "--out", str(path.parent / "out.csv")])


BOMBS = {"rows": b"y,s,count\n" + b"a,b,1\n" * (2 * MEBIBYTE), "one cell": b"y,s,count\n" + b"a" * (16 * MEBIBYTE)}


def bomb(folder, content):
    path = folder / "bomb.csv.gz"
    path.write_bytes(gzip.compress(content, 9))
    assert os.path.getsize(path) < 100_000
    return path


@pytest.mark.parametrize("content", BOMBS)
def test_load__gzip_that_unpacks_to_more_than_memory(content, tmp_path, little_memory):
    with pytest.raises(pt.TooLargeError, match=r"reading .*bomb\.csv\.gz needs \d+ bytes"):
        pt.load(bomb(tmp_path, BOMBS[content]))


def test_records__that_unpack_to_more_than_memory_are_never_held_whole(tmp_path, little_memory):
    counts = pt.tabulate(bomb(tmp_path, BOMBS["rows"]))
    assert counts.to_series().to_dict() == {("a", "b"): 2 * MEBIBYTE}
    with pytest.raises(pt.errors.FileFormatError, match="a line of more than"):
        pt.tabulate(bomb(tmp_path, BOMBS["one cell"]))


def test_cli__a_bomb_is_an_exit_code(tmp_path, little_memory, capsys):
    path = bomb(tmp_path, b"y,s,x\n" + b"a" * (16 * MEBIBYTE))
    assert command(path) == 2
    assert "a line of more than" in capsys.readouterr().err


def test_gzip__within_gzip_is_not_unpacked_twice(tmp_path):
    path = tmp_path / "twice.csv.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"y,count\na,1\n")))
    with pytest.raises(pt.errors.FileFormatError, match=r"twice\.csv\.gz"):
        pt.load(path)


@pytest.mark.parametrize("name", ["data.zip", "data.csv.zip", "data.tar.gz", "data.csv.xz", "data.npz"])
def test_archives__are_no_kind_that_is_read(name, tmp_path):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("data.csv", "y,s,count\na,b,1\n")
    with pytest.raises(pt.InvalidOptionError, match="must end in one of"):
        pt.load(tmp_path / name)
    with pytest.raises(pt.errors.FileFormatError, match="unsupported file format"):
        read_counts(tmp_path / name)
    with pytest.raises(pt.errors.FileFormatError, match="unsupported file format"):
        pt.tabulate(tmp_path / name)


def test_records__an_archive_named_otherwise_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "data.csv.bz2", "w") as archive:
        archive.writestr("data.csv", "y,s,count\na,b,1\n")
    with pytest.raises(pt.errors.FileFormatError, match=r"data\.csv\.bz2"):
        pt.tabulate(tmp_path / "data.csv.bz2")


def test_parquet__of_very_many_equal_rows(tmp_path, little_memory):
    rows = 6 * MEBIBYTE
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"y": np.zeros(rows, np.int8), "count": np.ones(rows, np.int8)}), path)
    assert os.path.getsize(path) < 100_000
    with pytest.raises(pt.TooLargeError, match=rf"reading {rows} rows of 2 columns in .*bomb\.parquet"):
        pt.load(path)
    assert pt.tabulate(path).to_series().to_dict() == {(0,): rows}


def test_netcdf__that_declares_very_much(tmp_path):
    """A sealed file of some kilobytes with a variable of eight terabytes, none of it written."""
    path = tmp_path / "bomb.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.format, file.format_version, file.content_hash = netcdf.FORMAT, netcdf.FORMAT_VERSION, "0" * 64
        file.createDimension("p", 10**12)
        file.createVariable("v", "f8", ("p",), chunksizes=(10**6,), zlib=True)
    append_seal(path)
    assert os.path.getsize(path) < 100_000
    with pytest.raises(pt.TooLargeError, match=r"reading .*bomb\.nc needs 16000000000000 bytes"):
        pt.load(path)


def members(path, header, content=b""):
    """A store whose one array says of itself what the header says."""
    told = str(header).encode().ljust(117) + b"\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("member.npy", b"\x93NUMPY\x01\x00" + len(told).to_bytes(2, "little") + told + content)
    return path


def test_npz__that_declares_very_much(tmp_path):
    header = {"descr": "<i8", "fortran_order": False, "shape": (10**15,)}
    with pytest.raises((pt.TooLargeError, pt.errors.FileFormatError), match=r"delete it|more memory"):
        run_members(one_member, 3, seed=1, store=members(tmp_path / "m.npz", header))


class Evil:
    """Leaves a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_npz__of_pickled_objects_is_never_unpickled(tmp_path):
    buffer = io.BytesIO()
    np.savez(buffer, member=np.array([Evil(tmp_path / "ran")], dtype=object))
    (tmp_path / "m.npz").write_bytes(buffer.getvalue())
    with pytest.raises(pt.errors.FileFormatError, match="allow_pickle"):
        run_members(one_member, 3, seed=1, store=tmp_path / "m.npz")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "read", [pt.load, lambda path: read_counts(path), pt.tabulate], ids=["load", "read_counts", "tabulate"]
)
def test_parquet__of_a_type_that_asks_to_be_unpickled(read, tmp_path):
    told = {
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": pickle.dumps(Evil(tmp_path / "ran"), protocol=0),
    }
    fields = [pa.field("y", pa.string(), metadata=told), pa.field("count", pa.int64())]
    table = pa.Table.from_arrays([pa.array(["a", "b"]), pa.array([1, 2])], schema=pa.schema(fields))
    pq.write_table(table, tmp_path / "t.parquet")
    with contextlib.suppress(pt.PurtensorError):
        read(tmp_path / "t.parquet")
    assert not (tmp_path / "ran").exists()


def test_parquet__of_ours_with_a_pickle_for_a_description(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"y": ["a"], "count": [1]})
    for told in (pickle.dumps(Evil(tmp_path / "ran")), json.dumps({"format_version": "!!python/object"}).encode()):
        pq.write_table(table.replace_schema_metadata({b"purtensor": told}), path)
        with pytest.raises(pt.errors.FileFormatError, match=r"t\.parquet"):
            pt.load(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../secret.csv", "file:///etc/passwd", "http://127.0.0.1:9/x.csv", "~"]
)
def test_paths_in_files__are_labels(name, tmp_path):
    (tmp_path / "t.csv").write_text(f"y,s,count\n{name},f,1\nb,m,2\n")
    assert pt.load(tmp_path / "t.csv").indexes["profile"].tolist() == [(name, "f"), ("b", "m")]
    assert (name, "f") in read_counts(tmp_path / "t.csv").indexes["profile"]
    assert (name, "f") in pt.tabulate(tmp_path / "t.csv").indexes["profile"]


def test_save__through_a_link_and_beside_one(tmp_path):
    """What a link points to is replaced, once; a name that another may have put there before is not used."""
    counts = pt.tabulate({"y": ["a", "b"]})
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real" / "t.csv")
    pt.save(counts, link)
    assert link.is_symlink()
    assert pt.load(tmp_path / "real" / "t.csv").equals(counts)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "real"]


TONGUES = {
    "UTF-16 without a mark": "y,s\né,f\nb,m\n".encode("utf-16-le"),
    "UTF-32": "y,s\né,f\nb,m\n".encode("utf-32"),
    "Latin-1": "y,s\né,f\nb,m\n".encode("latin-1"),
    "Windows": "y,s\n“a”,f\nb,m\n".encode("cp1252"),
    "half a character": "y,s\né".encode()[:-1],
}


@pytest.mark.parametrize(
    "read", [pt.load, lambda path: read_counts(path), pt.tabulate], ids=["load", "read_counts", "tabulate"]
)
@pytest.mark.parametrize("tongue", TONGUES)
def test_text__in_another_encoding(tongue, read, tmp_path):
    (tmp_path / "t.csv").write_bytes(TONGUES[tongue])
    with pytest.raises(pt.errors.FileFormatError, match=r"t\.csv|what holds the records"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "content", ["y,s\né,f\nb,m\n".encode("utf-16"), gzip.compress("y,s\né,f\nb,m\n".encode())], ids=["UTF-16", "gzip"]
)
def test_text__that_says_how_it_is_written_is_read(content, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(pt.errors.FileFormatError, match=r"t\.csv"):
        pt.load(tmp_path / "t.csv")
    for read in (pt.tabulate, lambda path: read_counts(path)):
        assert read(tmp_path / "t.csv").to_series().to_dict() == {("b", "m"): 1.0, ("é", "f"): 1.0}


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_text__with_another_separator(separator, tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("y,s,count\na,f,3\nb,m,4\na,m,1\nb,f,1\n".replace(",", separator))
    with pytest.raises(pt.errors.FileFormatError, match="commas"):
        pt.load(path)
    assert pt.tabulate(path).to_series().to_dict() == {("a", "f"): 3, ("a", "m"): 1, ("b", "f"): 1, ("b", "m"): 4}
    assert command(path) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 100, b"PK\x03\x04", gzip.compress(b"year,sex\n1,2\n"), b"\xff\xfe"],
    ids=["empty", "zeros", "zip", "gzip", "byte order mark"],
)
@pytest.mark.parametrize("ending", [".csv", ".dta"])
def test_survey__that_is_none(ending, content, tmp_path):
    path = tmp_path / f"cps{ending}"
    path.write_bytes(content)
    with pytest.raises(pt.errors.FileFormatError, match=r"cps\."):
        gender_pay_gap(path)


def test_survey__of_one_endless_line(tmp_path):
    path = tmp_path / "cps.csv.gz"
    header = ",".join(survey().columns).encode()
    path.write_bytes(gzip.compress(header + b"\n" + b"1" * (4 * MEBIBYTE), 9))
    with pytest.raises(pt.errors.FileFormatError, match="a line of more than 1048576 bytes"):
        gender_pay_gap(path)


def test_read_counts__a_checksum_that_is_wrong(tmp_path):
    packed = bytearray(gzip.compress(b"y,s\na,f\nb,m\n"))
    for place in (0, -8, -1):  # what tells gzip, its checksum, its length
        damaged = bytearray(packed)
        damaged[place] ^= 64
        (tmp_path / "t.csv.gz").write_bytes(damaged)
        with pytest.raises(pt.errors.FileFormatError, match=r"t\.csv\.gz"):
            read_counts(tmp_path / "t.csv.gz")


def test_read_counts__a_parquet_that_is_damaged_anywhere(tmp_path):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"y": ["a", "b"], "s": ["f", "m"]}), buffer, compression="gzip")
    content, refused = buffer.getvalue(), 0
    for place in range(0, len(content), 29):
        damaged = bytearray(content)
        damaged[place] ^= 255
        (tmp_path / "t.parquet").write_bytes(damaged)
        try:
            read_counts(tmp_path / "t.parquet")
        except pt.PurtensorError:
            refused += 1
    assert refused > 5


def test_run_members__a_store_that_is_damaged_anywhere(tmp_path):
    store = tmp_path / "m.npz"
    wanted = run_members(one_member, 3, seed=1, store=store)["value"]
    content = store.read_bytes()
    for place in range(0, len(content), 31):
        damaged = bytearray(content)
        damaged[place] ^= 255
        store.write_bytes(damaged)
        try:
            found = run_members(one_member, 3, seed=1, store=store)["value"]
        except pt.errors.FileFormatError:
            continue
        assert np.array_equal(found, wanted)
