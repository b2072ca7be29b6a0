"""Results on disk, kept and loaded again."""

from __future__ import annotations

import shutil

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore import saved_results as saved
from purtensor.outofcore.project import project_stored
from tests.outofcore.test_project import SETS, by_profile, people, targets

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def result(tmp_path):
    table = people(51, (3, 3, 20))
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=70)
    return project_stored(stored, targets(table, SETS["PUR"]), part_profiles=60)


def assert_same(loaded, result):
    assert isinstance(loaded, pt.Projection)
    assert {**loaded.summary(), "on disk": ""} == {**result.summary(), "on disk": ""}
    for name in ("bound", "tv_bound", "residual", "divergence", "seconds"):
        assert getattr(loaded, name) == getattr(result, name)
    assert loaded.trace.identical(result.trace)
    assert [one.scope for one in loaded.constraints] == [one.scope for one in result.constraints]
    for one, other in zip(loaded.constraints, result.constraints, strict=True):
        assert by_profile(one.target).equals(by_profile(other.target))
    assert loaded.reference.path == result.reference.path


def test_load__a_run_from_its_folder(result):
    loaded = pt.load(result.path)
    assert_same(loaded, result)
    assert np.array_equal(loaded.table.to_table().values, result.table.to_table().values)
    assert pt.verify(loaded).passed


def test_save__a_result_that_later_runs_do_not_touch(result, tmp_path):
    bits = by_profile(result.table.to_table()).values
    pt.save(result, tmp_path / "kept")
    project_stored(
        result.reference, result.constraints, part_profiles=60, solver=pt.IPF(), max_iterations=3, on_failure="return"
    )
    shutil.rmtree(result.path)
    loaded = pt.load(tmp_path / "kept")
    assert_same(loaded, result)
    assert np.array_equal(by_profile(loaded.table.to_table()).values, bits)
    assert pt.verify(loaded).passed
    assert pt.resume(tmp_path / "kept").converged
    again = project_stored(result.reference, result.constraints, part_profiles=33, start=loaded)
    assert again.iterations == 0


def test_save__refuses(result, tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(pt.errors.StoreError, match="already exists"):
        pt.save(result, tmp_path / "there")
    for name in ("n\0", "n" * 300):
        with pytest.raises(pt.errors.StoreError, match=r"cannot be (written|made): (embedded null|File name too long)"):
            pt.save(result, tmp_path / name)
    project_stored(
        result.reference, result.constraints, part_profiles=60, solver=pt.IPF(), max_iterations=3, on_failure="return"
    )
    with pytest.raises(pt.errors.StoreError, match="now has another run"):
        pt.save(result, tmp_path / "late")
    assert not (tmp_path / "late").exists()
    with pytest.raises(pt.errors.StoreError):
        pt.load(tmp_path / "there")


def test_save__a_stored_table(tmp_path):
    table = people(52, (2, 2, 9))
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=7)
    pt.save(stored, tmp_path / "copy.zarr")
    shutil.rmtree(stored.path)
    copy = pt.load(tmp_path / "copy.zarr")
    assert isinstance(copy, pt.results.StoredTable)
    assert by_profile(copy.to_table()).equals(by_profile(table))


def test_save__a_copy_that_came_into_being_meanwhile_stays(result, tmp_path, monkeypatch):
    linked = saved._link

    def slow(source, target):
        if not (tmp_path / "kept").exists():
            (tmp_path / "kept").mkdir()
            (tmp_path / "kept" / "mine").write_text("mine")
        return linked(source, target)

    monkeypatch.setattr(saved, "_link", slow)
    with pytest.raises(pt.errors.StoreError, match="kept now exists"):
        pt.save(result, tmp_path / "kept")
    assert [one.name for one in (tmp_path / "kept").iterdir()] == ["mine"]
    assert not list(tmp_path.glob("*.partial"))


def test_save__two_copies_to_one_place_do_not_meet(result, tmp_path, monkeypatch):
    linked = saved._link

    def other_first(source, target):
        monkeypatch.setattr(saved, "_link", linked)
        pt.save(result, tmp_path / "kept")
        return linked(source, target)

    monkeypatch.setattr(saved, "_link", other_first)
    with pytest.raises(pt.errors.StoreError, match="kept now exists"):
        pt.save(result, tmp_path / "kept")
    assert_same(pt.load(tmp_path / "kept"), result)
    assert not list(tmp_path.glob("*.partial"))


def test_save__a_projection_by_rows(result, tmp_path):
    by_rows = project_stored(result.reference, result.constraints, solver=pt.LBFGS())
    masses = by_profile(by_rows.table.to_table())
    pt.save(by_rows, tmp_path / "kept")
    # later runs of the same question do not touch what was saved
    project_stored(result.reference, result.constraints, solver=pt.LBFGS(), max_iterations=1, on_failure="return")
    kept = pt.load(tmp_path / "kept")
    assert by_profile(kept.table.to_table()).equals(masses)
    assert (kept.iterations, kept.residual, kept.certified) == (by_rows.iterations, by_rows.residual, False)
    assert all(mine.equals(its) for mine, its in zip(kept.potentials, by_rows.potentials, strict=True))
    assert pt.verify(kept).passed
    with pytest.raises(pt.errors.StoreError, match="has no checkpoint"):
        pt.resume(kept.path)
