"""Nothing that is read is written over, whatever it is called; what else was there is replaced, and told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import purtensor as pt
from purtensor.cli.main import BAD_INPUT, main
from purtensor.errors import InvalidOptionError
from purtensor.tables.io.atomic import keep_files, replace_file

ROLES = ["--response", "hired", "--protected", "sex"]
GOOD = "hired,sex,degree\n" + "no,f,no\nno,m,yes\nyes,f,yes\nyes,m,no\n" * 2
COMMANDS = {
    "project": ["project", "people.csv", *ROLES],
    "relax": ["relax", "people.csv", *ROLES],
    "curve": ["curve", "people.csv", *ROLES, "--points", "2"],
    "project, the reference": ["project", "other.csv", *ROLES, "--reference", "people.csv"],
    "compare": ["compare", "people.csv", *ROLES, "--solvers", "ipf"],
}


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(GOOD)
    Path("other.csv").write_text(GOOD)
    return tmp_path / "people.csv"


def by_itself(path: Path) -> str:
    return "people.csv"


def by_another_way(path: Path) -> str:
    (path.parent / "sub").mkdir()
    return "sub/../people.csv"


def by_a_link(path: Path) -> str:
    os.symlink(path, "link.csv")
    return "link.csv"


def by_a_second_name(path: Path) -> str:
    os.link(path, "second.csv")
    return "second.csv"


@pytest.mark.parametrize("name", [by_itself, by_another_way, by_a_link, by_a_second_name])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_commands__refuse_to_write_over_what_they_read(words, name, people, capsys):
    out = name(people)
    assert main([*words, "--out", out]) == BAD_INPUT
    assert f"{out} would overwrite people.csv, which is an input" in capsys.readouterr().err
    assert people.read_text() == GOOD


def test_curve__refuses_a_picture_over_what_it_reads(people, capsys):
    people.rename("price.svg.csv")
    os.link("price.svg.csv", "price.svg")
    assert main(["curve", "price.svg.csv", *ROLES, "--points", "2", "--out", "price.csv"]) == BAD_INPUT
    assert "price.svg would overwrite price.svg.csv" in capsys.readouterr().err
    assert Path("price.svg").read_text() == GOOD


def test_project__says_which_file_it_replaced(people, capsys):
    words = [*COMMANDS["project"], "--out", "fair.csv"]
    assert main(words) == 0
    assert "replaced" not in capsys.readouterr().out
    first = Path("fair.csv").read_text()
    Path("fair.csv").write_text("of yesterday")
    assert main(words) == 0
    assert "replaced, having been there before: fair.csv" in capsys.readouterr().out
    assert Path("fair.csv").read_text() == first


def test_project__refuses_to_write_into_a_stored_table(people, capsys):
    pt.store_table(pt.tabulate({"hired": [0, 1, 0, 1], "sex": list("ffmm"), "degree": [1, 1, 1, 1]}), "people.zarr")
    assert main(["project", "people.zarr", *ROLES, "--out", "people.zarr/fair"]) == BAD_INPUT
    assert "people.zarr/fair would overwrite people.zarr" in capsys.readouterr().err
    assert not Path("people.zarr/fair").exists()


def test_project__refuses_labels_of_a_csv_before_it_solves(people, capsys):
    people.write_text(GOOD.replace("no,f", "no,=f()"))
    assert main([*COMMANDS["project"], "--out", "fair.csv"]) == BAD_INPUT
    told = capsys.readouterr()
    assert "which a spreadsheet would run as a formula" in told.err
    assert "projection" not in told.out


def test_save__refuses_the_file_that_a_lazy_table_is_read_from(tmp_path):
    pytest.importorskip("dask")
    import xarray as xr

    path = tmp_path / "table.nc"
    dense = pt.to_dense(pt.tabulate({"a": list("xyxz"), "b": [1, 2, 1, 2]}))
    dense.to_dataset(name="count").to_netcdf(path, engine="netcdf4")
    with xr.open_dataset(path, chunks={}) as opened:
        lazy = opened["count"]
        with pytest.raises(InvalidOptionError, match=r"table\.nc would overwrite"):
            pt.save(lazy, path)
        pt.save(lazy, tmp_path / "other.nc")
    assert pt.load(tmp_path / "other.nc").values.tolist() == dense.values.tolist()


def test_replaced_file__written_twice_was_not_there_before(tmp_path):
    path, old = tmp_path / "new.txt", tmp_path / "old.txt"
    old.write_text("old")
    with keep_files([]) as written:
        for text in ("once", "again"):
            for one in (path, old):
                with replace_file(one) as temporary:
                    temporary.write_text(text)
    assert written.replaced == [old]
    assert path.read_text() == "again"


@pytest.mark.parametrize("second", ["fair.csv", "./fair.csv", "sub/../fair.csv", "link.csv"])
def test_main__refuses_two_outputs_in_one_file(people, capsys, second):
    Path("sub").mkdir()
    os.symlink("fair.csv", "link.csv")
    assert main([*COMMANDS["project"], "--out", "fair.csv", "--weights-out", second]) == BAD_INPUT
    assert "--out and --weights-out must name different files, got" in capsys.readouterr().err
    assert not Path("fair.csv").exists()
