"""Readers x what may be wrong with a path: refused by name, with the path, what was looked for, and what to do."""

from __future__ import annotations

import builtins
import os
import pickle
import stat
import sys

import pytest

import purtensor as pt
from purtensor.cli.records import read_counts
from purtensor.cli.wage_surveys import read_map, surveys
from purtensor.tables.io.delimited import read_csv
from purtensor.tables.io.netcdf import read_dataset
from purtensor.tables.io.parquet import read_parquet

READERS = {
    "load .csv": (pt.load, "people.csv"),
    "load .csv.gz": (pt.load, "people.csv.gz"),
    "load .nc": (pt.load, "people.nc"),
    "load .parquet": (pt.load, "people.parquet"),
    "load, no ending": (pt.load, "people"),
    "read_csv": (read_csv, "people.csv"),
    "read_csv, packed": (read_csv, "people.csv.gz"),
    "read_dataset": (read_dataset, "people.nc"),
    "read_parquet": (read_parquet, "people.parquet"),
    "tabulate .csv": (pt.tabulate, "people.csv"),
    "tabulate .csv.gz": (pt.tabulate, "people.csv.gz"),
    "tabulate .parquet": (pt.tabulate, "people.parquet"),
    "tabulate, several": (lambda path: pt.tabulate([path, path]), "people.csv"),
    "gender_pay_gap .csv": (pt.datasets.gender_pay_gap, "people.csv"),
    "gender_pay_gap .csv.gz": (pt.datasets.gender_pay_gap, "people.csv.gz"),
    "gender_pay_gap .dta": (pt.datasets.gender_pay_gap, "people.dta"),
    "records .csv": (lambda path: read_counts(path), "people.csv"),
    "records .tsv": (lambda path: read_counts(path), "people.tsv"),
    "records .parquet": (lambda path: read_counts(path), "people.parquet"),
    "records .xlsx": (lambda path: read_counts(path), "people.xlsx"),
    "read_map": (read_map, "people.csv"),
    "surveys": (lambda path: next(surveys(path, {})), "people.csv"),
}
each_reader = pytest.mark.parametrize(("read", "name"), READERS.values(), ids=READERS)


def refused(read, path, kind, *told):
    """The reader refuses the path by this error, in one line that tells the path and all else that is asked for."""
    with pytest.raises(kind) as caught:
        read(path)
    message = str(caught.value)
    assert "searched for" in message or "was expected" in message, message
    for part in (str(path), *told):
        assert part in message, message
    assert isinstance(caught.value, pt.errors.UnreadableFileError)
    assert "Errno" not in message
    assert "\n" not in message
    assert caught.value.filename == str(path)


@each_reader
def test_readers__nothing_there(read, name, tmp_path):
    (tmp_path / "pepole.txt").touch()
    refused(read, tmp_path / name, pt.errors.MissingFileError, str(tmp_path), "similar names are pepole.txt")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / name)


@each_reader
def test_readers__no_folder_there(read, name, tmp_path):
    (tmp_path / "data").mkdir()
    refused(read, tmp_path / "dta" / name, pt.errors.MissingFileError, "no folder", "similar names are data/")


@each_reader
def test_readers__below_a_file(read, name, tmp_path):
    (tmp_path / "file.csv").touch()
    refused(read, tmp_path / "file.csv" / name, pt.errors.MissingFileError, "file.csv is a file")


@each_reader
def test_readers__a_link_to_nothing(read, name, tmp_path):
    (tmp_path / name).symlink_to("gone.csv")
    refused(read, tmp_path / name, pt.errors.MissingFileError, "a link to gone.csv")


@each_reader
def test_readers__a_folder(read, name, tmp_path):
    if read is pt.load:
        pytest.skip("load takes folders: those of stored tables and of runs")
    (tmp_path / name).mkdir()
    (tmp_path / name / "part.csv").touch()
    refused(read, tmp_path / name, pt.errors.NotAFileError, "is a folder", "give one of its files, part.csv")
    with pytest.raises(IsADirectoryError):
        read(tmp_path / name)


@each_reader
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX")
def test_readers__a_pipe_that_nobody_writes(read, name, tmp_path):
    os.mkfifo(tmp_path / name)
    refused(read, tmp_path / name, pt.errors.UnreadableFileError, "is a pipe or a device", "copy its content")


@each_reader
def test_readers__no_right_to_read(read, name, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_bytes(b"a,b\n1,2\n")

    def guarded(file, *arguments, **options):
        if os.fspath(file) == str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(file, *arguments, **options)

    opened = builtins.open
    monkeypatch.setattr(builtins, "open", guarded)
    monkeypatch.setattr(type(path), "open", guarded)
    refused(read, path, pt.errors.ForbiddenFileError, "may not be opened", "get permission")
    with pytest.raises(PermissionError):
        read(path)


@each_reader
def test_readers__a_name_that_is_too_long_or_none(read, name, tmp_path):
    stem, _, ending = name.partition(".")
    refused(
        read, tmp_path / f"{'a' * 300}.{ending}", pt.errors.UnreadableFileError, "cannot be opened: File name too long"
    )
    with pytest.raises(pt.errors.MissingFileError, match="is not a valid path"):
        read(tmp_path / f"{stem}\0.{ending}")


STORES = {"load": (pt.load, "people.zarr"), "open_table": (pt.results.open_table, "people")}


@pytest.mark.parametrize(("read", "name"), STORES.values(), ids=STORES)
def test_stores__nothing_there(read, name, tmp_path):
    (tmp_path / "peoples").mkdir()
    refused(read, tmp_path / name, pt.errors.MissingStoreError, "similar names are peoples/")
    with pytest.raises(pt.errors.StoreError):
        read(tmp_path / name)


@pytest.mark.parametrize("read", [pt.load, pt.results.open_table], ids=["load", "open_table"])
def test_stores__another_folder(read, tmp_path):
    (tmp_path / "counts.csv").touch()
    with pytest.raises(pt.errors.StoreError, match=r"no zarr\.json: give one of its files, counts\.csv"):
        read(tmp_path)


def test_stores__a_file(tmp_path):
    (tmp_path / "counts.csv").touch()
    with pytest.raises(pt.errors.StoreError, match=r"counts\.csv is not a stored table.*purtensor\.load"):
        pt.results.open_table(tmp_path / "counts.csv")


def test_readers__a_store_where_a_file_is_wanted(tmp_path):
    pt.store_table(pt.tabulate({"a": [1, 2]}), tmp_path / "t.csv")
    refused(
        read_csv,
        tmp_path / "t.csv",
        pt.errors.NotAFileError,
        "a Zarr store, which can be opened by",
    )


@pytest.mark.parametrize(
    "given", [None, 3, b"people.csv", "", ["people.csv"], object()], ids=lambda given: type(given).__name__
)
@pytest.mark.parametrize("read", [pt.load, pt.results.open_table], ids=["load", "open_table"])
def test_readers__what_is_no_path(read, given):
    with pytest.raises(pt.InvalidOptionError, match=r"a path must be text, or a pathlib\.Path, and not empty"):
        read(given)


WRITERS = [".csv", ".csv.gz", ".nc", ".parquet"]


@pytest.mark.parametrize("ending", WRITERS)
def test_save__a_folder_that_is_not_there_or_a_folder_itself(ending, tmp_path):
    counts = pt.tabulate({"a": [1, 2]})
    with pytest.raises(
        pt.errors.MissingFileError, match=rf"away is not a folder, so t\{ending} cannot be written.*create it"
    ):
        pt.save(counts, tmp_path / "away" / f"t{ending}")
    (tmp_path / f"t{ending}").mkdir()
    with pytest.raises(pt.errors.NotAFileError, match="is a folder: give the path of a file"):
        pt.save(counts, tmp_path / f"t{ending}")
    assert [found.name for found in tmp_path.iterdir()] == [f"t{ending}"]


@pytest.mark.skipif(
    sys.platform == "win32" or not hasattr(os, "geteuid") or os.geteuid() == 0,
    reason="rights are of POSIX, and root has all",
)
def test_load__a_file_without_rights(tmp_path):
    pt.save(pt.tabulate({"a": [1, 2]}), tmp_path / "t.csv")
    (tmp_path / "t.csv").chmod(stat.S_IWUSR)
    with pytest.raises(pt.errors.ForbiddenFileError, match=r"t\.csv may not be opened"):
        pt.load(tmp_path / "t.csv")


def test_errors__survive_a_process_boundary(tmp_path):
    with pytest.raises(pt.errors.MissingFileError) as caught:
        pt.load(tmp_path / "away.csv")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is pt.errors.MissingFileError
    assert str(again) == str(caught.value)
