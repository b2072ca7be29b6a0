"""Every command x what may be wrong with the path of a file: one line with the path and what to do, and exit code 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import purtensor as pt
from purtensor.cli.main import BAD_INPUT, main

ROLES = ["--response", "hired", "--protected", "sex"]
GOOD = "hired,sex,degree\n" + "no,f,no\nno,m,yes\nyes,f,yes\nyes,m,no\n" * 2

WORDS = {
    "project": (["project", "FILE", *ROLES, "--out", "o.csv"], "people.csv"),
    "project, packed": (["project", "FILE", *ROLES, "--out", "o.csv"], "people.csv.gz"),
    "project, Parquet": (["project", "FILE", *ROLES, "--out", "o.csv"], "people.parquet"),
    "project, stored": (["project", "FILE", *ROLES, "--out", "o.csv"], "people.zarr"),
    "project, no ending": (["project", "FILE", *ROLES, "--out", "o.csv"], "people"),
    "diagnose": (["diagnose", "FILE", *ROLES], "people.csv"),
    "diagnose, stored": (["diagnose", "FILE", *ROLES], "people.zarr"),
    "relax": (["relax", "FILE", *ROLES, "--out", "o.csv"], "people.csv"),
    "curve": (["curve", "FILE", *ROLES, "--out", "o.csv"], "people.tsv"),
    "compare, records": (["compare", "FILE", *ROLES, "--solvers", "ipf", "--out", "c"], "people.csv"),
    "compare, a result": (["compare", "FILE", "--solvers", "ipf", "--out", "c"], "people.nc"),
    "reference, CSV": (["project", "good.csv", *ROLES, "--reference", "FILE", "--out", "o.csv"], "people.csv"),
    "reference, NetCDF": (["project", "good.csv", *ROLES, "--reference", "FILE", "--out", "o.csv"], "people.nc"),
    "reference, a word": (["project", "good.csv", *ROLES, "--reference", "FILE", "--out", "o.csv"], "people"),
    "wage, survey": (["reproduce", "wage", "--cps", "FILE", "--out", "w"], "people.dta"),
    "wage, sectors": (["reproduce", "wage", "--sector-map", "FILE", "--out", "w"], "people.csv"),
    "wage, education": (["reproduce", "wage", "--education-map", "FILE", "--out", "w"], "people.csv"),
}
PATHS = {
    "nothing there": (lambda path: path.with_name("peoples.txt").touch(), "MissingFileError", "peoples.txt"),
    "a folder": (lambda path: (path.mkdir(), (path / "part.csv").touch()), "NotAFileError", "files, part.csv"),
    "a dangling link": (lambda path: path.symlink_to("gone.csv"), "MissingFileError", "a link to gone.csv"),
    "a pipe": (lambda path: os.mkfifo(path), "UnreadableFileError", "copy its content"),
}


@pytest.mark.parametrize(("make", "error", "told"), PATHS.values(), ids=PATHS)
@pytest.mark.parametrize(("words", "name"), WORDS.values(), ids=WORDS)
def test_commands__a_path_that_is_no_file(words, name, make, error, told, tmp_path, monkeypatch, capsys):
    if error == "NotAFileError" and name.endswith(".nc") and words[0] == "compare":
        error = "StoreError"  # what `load` is asked for may be the folder of a run
    if not hasattr(os, "mkfifo") and told == "copy its content":
        pytest.skip("pipes with names are of POSIX")
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(GOOD)
    make(Path(name))
    assert main([name if word == "FILE" else word for word in words]) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.startswith((f"purtensor: {error}: {name} is ", f"purtensor: {error}: {name} does not exist"))
    assert told in said
    assert said.count("\n") == 1
    assert not [path for path in ("o.csv", "c") if os.path.lexists(path)]


def test_project__the_reference_of_a_stored_table_that_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pt.store_table(pt.tabulate({"hired": ["no", "yes"], "sex": ["f", "m"]}), "good.zarr")
    words = ["diagnose", "good.zarr", *ROLES, "--reference", "gooood.zarr"]
    assert main(words) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.startswith("purtensor: MissingStoreError: there is no stored table gooood.zarr")
    assert "similar names are good.zarr/" in said


def test_debug__shows_where(tmp_path):
    with pytest.raises(pt.errors.MissingFileError):
        main(["--debug", "diagnose", str(tmp_path / "away.csv"), *ROLES])
