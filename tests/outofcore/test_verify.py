"""Second opinions on projections on disk."""

from __future__ import annotations

import shutil
from dataclasses import replace

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore import parts_space
from purtensor.outofcore.project import project_stored
from tests.outofcore.test_project import SETS, by_profile, in_memory, people, targets

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """One projection and its reference, for tests that leave the files as they are."""
    with dask.config.set(scheduler="synchronous"):
        return projected(tmp_path_factory.mktemp("solved"), 95, SETS["PUR"])[:2]


def projected(tmp_path, seed, scopes, zeros=0.0, **options):
    table = people(seed, zeros=zeros)
    goal = table * np.exp(np.random.default_rng(seed).normal(size=table.shape))
    if zeros:
        goal[(goal["x"].values == 7) | ((goal["y"].values == 1) & (goal["x"].values % 5 == 3))] = 0.0
    constraints = pt.marginals_of(goal, scopes)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=70)
    return project_stored(stored, constraints, part_profiles=100, **options), table, constraints


@pytest.mark.parametrize(
    ("scopes", "zeros"),
    [(SETS["PUR"], 0.0), (SETS["PUR"], 0.1), (SETS["UPR"], 0.1), (SETS["three inside"], 0.0), (SETS["one"], 0.1)],
)
def test_verify__confirms_what_it_would_in_memory(tmp_path, scopes, zeros):
    result, table, constraints = projected(tmp_path, 91, scopes, zeros, tolerance=1e-6)
    found = pt.verify(result)
    assert found.failures == ()
    assert found.passed
    assert found.support
    assert found.residual == pytest.approx(result.residual, rel=1e-4, abs=1e-15)
    assert found.residual_l1 == pytest.approx(result.residual_l1, rel=1e-4, abs=1e-15)
    # the dual at a better fit than the witness proves up to some percent more
    assert found.tv_bound == pytest.approx(result.tv_bound, rel=0.05, abs=1e-14)
    assert found.tv_bound <= result.tv_bound * 1.01 + 1e-14
    assert found.bound == pytest.approx(result.bound, rel=0.02, abs=1e-26)
    exact = in_memory(table, constraints, tolerance=1e-14, on_failure="return")
    away = np.abs(by_profile(result.table.to_table()).values - by_profile(exact.table).values).sum() / 2
    assert away / float(exact.table.sum()) <= found.tv_bound + 1e-15


def test_verify__targets_on_disk(tmp_path):
    f = pt.regularize(people(92, (2, 3, 30)).round() + 1, response="y")
    stored = pt.store_table(f, tmp_path / "f.zarr", chunk=40)
    assert pt.verify(pt.project(stored, pt.pur(stored, response="y", protected="s"))).passed


def test_verify__potentials_say_the_table(solved):
    result, table = solved
    whole = by_profile(result.table.to_table())
    logs = np.log(whole / by_profile(table))
    seen = 0
    for tables in result.potential_chunks():
        (parity, utility, realism) = (one.to_series().to_dict() for one in tables)
        for (y, x), own in utility.items():
            for s in range(4):
                if (s, x) in realism:
                    assert parity[y, s] + own + realism[s, x] == pytest.approx(logs[y, s, x], abs=1e-12)
                    seen += 1
    assert seen == len(logs)


def test_verify__an_unconverged_one_says_so(tmp_path):
    result, _, _ = projected(tmp_path, 94, SETS["PUR"], max_iterations=1, on_failure="return")
    found = pt.verify(result)
    assert not found.passed
    assert found.residual == pytest.approx(result.residual, rel=1e-6)


@pytest.mark.parametrize("name", ["residual", "residual_l1", "tv_bound", "bound"])
def test_verify__does_not_believe_a_better_figure(solved, name):
    result, _ = solved
    worse = replace(result, **{name: getattr(result, name) / 100 if name != "bound" else result.bound / 1e4})
    found = pt.verify(worse)
    assert [failure.split()[0] for failure in found.failures] == [name]


def test_verify__no_witness_no_proof(tmp_path):
    result, _, _ = projected(tmp_path, 96, SETS["PUR"])
    shutil.rmtree(result.evidence.store.witness(result.evidence.token))
    found = pt.verify(result)
    assert found.tv_bound == 1.0
    assert {failure.split()[0] for failure in found.failures} == {"tv_bound", "bound"}
    plain, _, _ = projected(tmp_path / "plain", 96, SETS["PUR"], certificate=False)
    assert pt.verify(plain).passed


def test_verify__the_proof_that_ended_the_run_is_made_once(tmp_path, monkeypatch):
    proved, certify = [], parts_space.certify

    def counted(space, point, *rest):
        proved.append(point.token)
        return certify(space, point, *rest)

    monkeypatch.setattr(parts_space, "certify", counted)
    result, _, _ = projected(tmp_path, 98, SETS["PUR"], stop_on="tv_bound", tolerance=1e-4)
    assert proved.count(result.evidence.token) == 1
    assert 0 < result.tv_bound <= 1e-4
    assert result.trace["tv_bound"].values[-1] == result.tv_bound
    assert pt.verify(result).passed
    assert [folder.name for folder in (result.path / "witness").iterdir()] == [result.evidence.token]


def test_verify__a_table_that_was_changed(tmp_path):
    result, _, _ = projected(tmp_path, 97, SETS["PUR"])
    table = result.table.to_table()
    place = result.table.path
    shutil.rmtree(place)
    pt.store_table(table * np.where(np.arange(table.size) == 5, 1 + 1e-9, 1.0), place)
    found = pt.verify(result)
    assert any("exponential family" in failure for failure in found.failures)
    shutil.rmtree(place)
    pt.store_table(table[::-1], place)
    with pytest.raises(pt.errors.StoreError, match="not the table of this run"):
        pt.verify(result)


def test_verify__a_reference_that_was_changed(tmp_path):
    result, table, _ = projected(tmp_path, 98, SETS["PUR"])
    shutil.rmtree(result.reference.path)
    pt.store_table(table * np.where(np.arange(table.size) == 5, 1.5, 1.0), result.reference.path)
    found = pt.verify(replace(result, reference=pt.results.open_table(result.reference.path)))
    assert not found.support
    assert "reference" in found.failures[0]


def test_verify__exact_is_refused(solved):
    with pytest.raises(pt.InvalidOptionError, match="small problems"):
        pt.verify(solved[0], exact=True)


def test_table__of_another_run_in_the_same_place_is_not_taken(tmp_path):
    table = people(90)
    constraints = targets(table, SETS["PUR"])
    stored = pt.store_table(table, tmp_path / "t.zarr")
    newton = pt.project(stored, constraints, solver=pt.Newton(warm_up=0), max_iterations=2, on_failure="return")
    sweeps = pt.project(stored, constraints, solver=pt.IPF(), max_iterations=2, on_failure="return")
    assert newton.path == sweeps.path
    assert newton.evidence.token != sweeps.evidence.token
    with pytest.raises(pt.errors.StoreError):
        newton.table  # noqa: B018
    assert sweeps.table.total == pytest.approx(float(table.sum()), rel=1.0)
