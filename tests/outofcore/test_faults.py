from __future__ import annotations

import os
import shutil
from pathlib import Path

import dask
import pytest

import purtensor as pt
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.project import project_stored
from tests.outofcore.test_boundary import forced_case
from tests.outofcore.test_project import SETS, people, targets

pytest.importorskip("zarr")


@pytest.fixture
def run(tmp_path):
    """A run that was stopped after two iterations."""
    with dask.config.set(scheduler="synchronous"):
        table = people(22)
        stored = pt.store_table(table, tmp_path / "t.zarr")
        yield project_stored(
            stored, targets(table, SETS["PUR"]), part_profiles=100, max_iterations=2, on_failure="return"
        )


def files(run, folder):
    return sorted(file for file in (run.path / folder).rglob("*") if file.is_file())


@pytest.mark.parametrize("folder", ["parts", "states"])
def test_resume__damage_is_told(run, folder):
    path = files(run, folder)[1]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    with pytest.raises(pt.errors.StoreError, match="damaged"):
        pt.resume(run.path, max_iterations=50)


def test_project__ctrl_c_waits_for_no_proof_and_can_be_gone_on_from(run, tmp_path, monkeypatch):
    """A callback that stops the run is not in a hurry: what it leaves is proved."""
    reference, constraints = run.reference, run.constraints

    def pressed(stage):
        if stage.iteration == 3:
            raise KeyboardInterrupt

    stopped = pt.project(reference, constraints, callback=lambda stage: stage.iteration == 3, on_failure="return")
    assert (stopped.termination, stopped.certified) == (pt.results.Termination.INTERRUPTED, True)
    monkeypatch.setattr("purtensor.outofcore.parts_space.certify", None)
    result = pt.project(reference, constraints, callback=pressed, on_failure="return")
    assert (result.termination, result.certified, result.tv_bound) == (pt.results.Termination.INTERRUPTED, False, 1.0)
    assert result.divergence == pytest.approx(stopped.divergence, rel=1e-14)  # not rebuilt at its total: that is a pass
    monkeypatch.undo()
    assert pt.resume(result.path).certified


@pytest.mark.parametrize(
    "options",
    [{"max_iterations": "7"}, {"max_iterations": -1}, {"max_iterations": 2.5}, {"progress": "no"}, {"callback": 3}],
    ids=str,
)
def test_resume__options_of_another_type(run, options):
    with pytest.raises(pt.InvalidOptionError, match=next(iter(options))):
        pt.resume(run.path, **options)


def test_resume__a_state_is_gone(run):
    files(run, "states")[0].unlink()
    with pytest.raises(pt.errors.StoreError, match="has no potentials"):
        pt.resume(run.path)


def test_resume__a_full_disk_leaves_the_last_checkpoint(run, monkeypatch):
    whole = pt.resume(run.path, max_iterations=2, on_failure="return").residual
    written = [0]
    real = os.fsync

    def filling(handle):
        written[0] += 1
        if written[0] > 5:
            raise OSError(28, "No space left on device")
        return real(handle)

    monkeypatch.setattr("os.fsync", filling)
    with pytest.raises(pt.errors.StoreError, match=r"No space left.*then resume"):
        pt.resume(run.path, max_iterations=50)
    monkeypatch.undo()
    assert pt.resume(run.path, max_iterations=2, on_failure="return").residual == whole
    assert pt.resume(run.path, max_iterations=50).converged


def test_resume__nothing_to_go_on_from(tmp_path, run):
    with pytest.raises(pt.errors.StoreError, match="there is no run"):
        pt.resume(tmp_path / "elsewhere")
    (run.path / "checkpoint").unlink()
    with pytest.raises(pt.errors.StoreError, match="has no checkpoint"):
        pt.resume(run.path)


def test_resume__knows_what_was_asked(run):
    result = pt.resume(run.path.parent, max_iterations=60)
    assert result.converged
    assert [one.scope for one in result.constraints] == SETS["PUR"]
    assert result.reference.profiles == run.reference.profiles


def full_at(monkeypatch, ending):
    """Let folders whose name ends so find the disk full."""
    real = Path.mkdir

    def mkdir(path, *arguments, **options):
        if path.name.endswith(ending):
            raise OSError(28, "No space left on device")
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)


FILLED = {
    "witness": lambda run, _: pt.resume(run.path, max_iterations=50),
    ".start": lambda run, _: pt.project(run.reference, run.constraints, start=run),
    "proof": lambda _, folder: pt.diagnose(pt.results.open_table(folder / "forced.zarr"), forced_case(10)[1]),
    ".partial": lambda run, folder: pt.save(run, folder / "late"),
}


@pytest.mark.parametrize("ending", FILLED)
def test_a_full_disk_where_a_folder_is_made_is_told(run, tmp_path, monkeypatch, ending):
    pt.store_table(forced_case(10)[0], tmp_path / "forced.zarr")
    full_at(monkeypatch, ending)
    with pytest.raises(pt.errors.StoreError, match="No space left"):
        FILLED[ending](run, tmp_path)
    assert not (tmp_path / "late").exists()


def test_load__a_result_that_does_not_say_how_it_ended(run):
    place = run.path / "result"
    packed = read_packed(place)
    for facts in ({"termination": "WELL"}, {"trace": 3}, {"face": "../elsewhere"}, {"notes": 1}):
        write_packed(place, packed.arrays, {**packed.facts, **facts})
        with pytest.raises(pt.errors.StoreError):
            pt.load(run.path)
    write_packed(place, packed.arrays, packed.facts)
    assert pt.load(run.path).iterations == 2


def test_project__a_reference_that_is_gone(run):
    shutil.rmtree(run.reference.path)
    with pytest.raises(pt.errors.StoreError, match="cannot be read"):
        pt.project(run.reference, run.constraints)


@pytest.mark.parametrize("path", [None, 3, [], b"x", ""], ids=repr)
def test_resume__what_is_no_path(path):
    with pytest.raises(pt.InvalidOptionError, match="a path must be text"):
        pt.resume(path)
