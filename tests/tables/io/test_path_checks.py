from __future__ import annotations

import errno
import os

import pytest

import purtensor as pt
from purtensor.tables.io.path_checks import missing_folder, path_text, require_file, require_store, unreadable


def complaint(path, what="a table"):
    with pytest.raises(pt.errors.UnreadableFileError) as caught:
        require_file(path, what)
    return str(caught.value)


def test_require_file__lets_files_pass(tmp_path):
    (tmp_path / "t.csv").touch()
    (tmp_path / "link.csv").symlink_to("t.csv")
    require_file(tmp_path / "t.csv")
    require_file(str(tmp_path / "link.csv"))
    assert sorted(os.listdir(tmp_path)) == ["link.csv", "t.csv"]


@pytest.mark.parametrize(
    ("there", "asked", "told"),
    [
        (["people.csv", "cities.csv"], "poeple.csv", "similar names are people.csv"),
        (["people.csv", "cities.csv"], "people.nc", "similar names are people.csv"),
        (["PEOPLE.CSV"], "people.csv", "similar names are PEOPLE.CSV"),
        (["cities.csv", "rivers.csv", "roads.nc"], "people.csv", "there are cities.csv, rivers.csv"),
        ([f"city{k}.csv" for k in range(5)], "people.csv", "there are city0.csv, city1.csv, city2.csv, ..."),
        (["cities.nc"], "people.csv", "no name there is similar"),
        ([".people.csv"], "people.csv", "no name there is similar"),
        ([], "people.csv", "no name there is similar"),
    ],
)
def test_require_file__names_what_may_be_meant(tmp_path, there, asked, told):
    for name in there:
        (tmp_path / name).touch()
    message = complaint(tmp_path / asked, "a survey")
    assert message == f"{tmp_path / asked} does not exist: searched for a survey in {tmp_path}; {told}"


def test_require_file__tells_where_a_relative_path_leads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complaint("t.csv") == f"t.csv does not exist: searched for a table in {tmp_path}; no name there is similar"


def test_require_file__a_folder_that_may_not_be_read(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refused)
    assert complaint(tmp_path / "t.csv").endswith("no name there is similar")
    assert complaint(tmp_path).endswith("there is no file in it")


def test_require_store__lets_pass_what_is_there(tmp_path):
    require_store(tmp_path)
    with pytest.raises(
        pt.errors.MissingStoreError, match=r"there is no stored table .*away\.zarr: searched for a stored table"
    ):
        require_store(tmp_path / "away.zarr")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FileNotFoundError(2, "No such file"), pt.errors.MissingFileError),
        (NotADirectoryError(20, "Not a directory"), pt.errors.MissingFileError),
        (ValueError("embedded null byte"), pt.errors.MissingFileError),
        (IsADirectoryError(21, "Is a directory"), pt.errors.NotAFileError),
        (PermissionError(13, "Permission denied"), pt.errors.ForbiddenFileError),
        (OSError(errno.ELOOP, "Too many levels of symbolic links"), pt.errors.UnreadableFileError),
    ],
)
def test_unreadable__is_of_the_built_in_kind(error, kind):
    found = unreadable(error, "t.csv")
    assert type(found) is kind
    assert isinstance(found, OSError)
    assert "t.csv" in str(found)
    assert found.filename == "t.csv"
    assert found.errno is not None


def test_missing_folder__says_what_to_do(tmp_path):
    found = missing_folder(tmp_path / "away", "t.csv")
    assert (
        str(found)
        == f"{tmp_path / 'away'} is not a folder, so t.csv cannot be written there: create it first, or give another"
    )


def test_path_text__of_paths_and_text(tmp_path):
    assert path_text(tmp_path) == path_text(str(tmp_path)) == str(tmp_path)
    with pytest.raises(pt.InvalidOptionError, match="got b't'"):
        path_text(b"t")
