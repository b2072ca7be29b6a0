"""Workspaces whose files are damaged, gone, or exchanged: named errors that name the file, and never another answer."""

from __future__ import annotations

import shutil

import dask
import pytest

import purtensor as pt
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.project import project_stored
from tests.outofcore.test_project import SETS, people, targets

pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """The folder of a stored table with a run that was stopped after two iterations."""
    folder = tmp_path_factory.mktemp("workspace")
    with dask.config.set(scheduler="synchronous"):
        table = people(22)
        stored = pt.store_table(table, folder / "t.zarr")
        project_stored(stored, targets(table, SETS["PUR"]), part_profiles=100, max_iterations=2, on_failure="return")
    return folder


@pytest.fixture
def run(workspace, tmp_path):
    """A copy of the run alone; its table lies where it lay."""
    with dask.config.set(scheduler="synchronous"):
        yield shutil.copytree(next((workspace / "t.zarr.work").glob("[!.]*")), tmp_path / "run")


def file_of(run, name):
    """A file of the run; of several alike the one with this number in their order."""
    folder, _, number = name.partition(" ")
    return sorted(one for one in (run / folder).rglob("*") if one.is_file())[int(number)] if number else run / name


def cut(name, share=0.5):
    def damage(run):
        content = file_of(run, name).read_bytes()
        file_of(run, name).write_bytes(content[: int(len(content) * share)])

    return damage


def garbage(name):
    return lambda run: file_of(run, name).write_bytes(bytes(range(256)) * 8)


def exchanged(name, other):
    return lambda run: shutil.copy(file_of(run, other), file_of(run, name))


def retold(name, **facts):
    """Write a file anew, whole and sealed, with other facts."""

    def damage(run):
        packed = read_packed(file_of(run, name))
        write_packed(file_of(run, name), packed.arrays, {**packed.facts, **facts})

    return damage


def without(name, array):
    def damage(run):
        packed = read_packed(file_of(run, name))
        del packed.arrays[array]
        write_packed(file_of(run, name), packed.arrays, packed.facts)

    return damage


DAMAGED = {
    "the problem is cut off": (cut("problem"), "problem is truncated"),
    "the problem is empty": (cut("problem", 0), "problem is truncated"),
    "the problem is garbage": (garbage("problem"), "problem is truncated, or was written by another program"),
    "the problem is a checkpoint": (
        exchanged("problem", "checkpoint"),
        "problem is not the expected file.*written as 'checkpoint'",
    ),
    "the problem is a part": (exchanged("problem", "parts 0"), "problem is not the expected file.*written as '000000'"),
    "the problem lacks targets": (without("problem", "outer_targets"), "problem has no (entry|valid)"),
    "the problem has another shape": (
        retold("problem", outside=[0, 1, 2]),
        "problem has no (entry|valid)",
    ),
    "the problem's table is gone": (retold("problem", table="nowhere"), "there is no stored table"),
    "the checkpoint is cut off": (cut("checkpoint", 0.9), "checkpoint is truncated|checkpoint is damaged"),
    "the checkpoint is garbage": (garbage("checkpoint"), "checkpoint is truncated, or was written by another program"),
    "the checkpoint is a problem": (exchanged("checkpoint", "problem"), "checkpoint is not the expected file"),
    "the checkpoint is a state": (exchanged("checkpoint", "states 0"), "checkpoint is not the expected file"),
    "the checkpoint lacks its clock": (
        without("checkpoint", "clock"),
        "checkpoint has no (entry|valid)",
    ),
    "the checkpoint's token is a number": (
        retold("checkpoint", token=5),
        "checkpoint has no (entry|valid)",
    ),
    "the checkpoint names other states": (retold("checkpoint", token="00000077.0"), "has no potentials for part"),
    "the checkpoint leads outside": (
        retold("checkpoint", token="../../elsewhere"),
        "checkpoint has no (entry|valid)",
    ),
    "a part is gone": (lambda run: file_of(run, "parts 1").unlink(), "parts/000001 cannot be read"),
    "a part is cut off": (cut("parts 1"), "parts/000001 is truncated|parts/000001 is damaged"),
    "a part is a state": (exchanged("parts 1", "states 1"), "parts/000001 has no entry"),
    "a state is gone": (lambda run: file_of(run, "states 0").unlink(), "has no potentials for part 0"),
    "states are gone": (lambda run: shutil.rmtree(run / "states"), "has no potentials for part 0"),
    "a state is cut off": (cut("states 0"), "000000 is truncated|000000 is damaged"),
    "a state is a part": (exchanged("states 0", "parts 0"), "000000 has no entry .potentials"),
    "a state is of another part": (
        exchanged("states 0", "states 1"),
        "000000 is not the expected.*written as .000001",
    ),
}


@pytest.mark.parametrize(("damage", "match"), DAMAGED.values(), ids=DAMAGED)
def test_resume__from_what_is_no_run(run, damage, match):
    damage(run)
    with pytest.raises(pt.errors.StoreError, match=match) as caught:
        pt.resume(run, max_iterations=50)
    assert "\n" not in str(caught.value)


def test_resume__what_was_not_touched_goes_on(run):
    assert pt.resume(run, max_iterations=50).converged


def test_project__a_workspace_that_is_a_file(workspace, tmp_path):
    (tmp_path / "work").write_text("mine")
    stored = pt.results.open_table(workspace / "t.zarr", workspace=tmp_path / "work")
    with pytest.raises(pt.errors.StoreError, match=r"work.* cannot be created"):
        pt.project(stored, targets(people(22), SETS["PUR"]))
    assert (tmp_path / "work").read_text() == "mine"


def test_project__no_permission_for_the_workspace(workspace, tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    stored = pt.results.open_table(workspace / "t.zarr", workspace=tmp_path / "work")
    monkeypatch.setattr("pathlib.Path.mkdir", refused)
    with pytest.raises(pt.errors.StoreError, match="cannot be created: Permission denied"):
        pt.project(stored, targets(people(22), SETS["PUR"]))


def test_resume__where_nothing_is(tmp_path):
    (tmp_path / "away").mkdir()
    with pytest.raises(pt.errors.MissingStoreError, match=r"there is no run .*awya: .* similar names are away/"):
        pt.resume(tmp_path / "awya")
    with pytest.raises(pt.errors.StoreError, match="has 0 runs with a checkpoint"):
        pt.resume(tmp_path / "away")


def test_resume__no_room_for_another_folder(run, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.mkdir", full)
    with pytest.raises(pt.errors.StoreError, match=r"cannot be created: No space left on device.*then resume"):
        pt.resume(run, max_iterations=50)
    monkeypatch.undo()
    assert pt.resume(run, max_iterations=50).converged


def test_table__labels_that_are_damaged(run):
    result = pt.resume(run, max_iterations=50)
    cut("labels 2")(run)
    with pytest.raises(pt.errors.StoreError, match="labels/000002 is"):
        _ = result.table
    assert not list(run.glob("*.partial"))
