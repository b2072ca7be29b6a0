from __future__ import annotations

import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import dask
import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.outofcore.project import project_stored
from purtensor.projection.result import as_stored

pytest.importorskip("zarr")


def people(seed, sizes=(3, 4, 20), share=1.0, zeros=0.0):
    """Counts over (y, s, x), each profile there with a probability."""
    rng = np.random.default_rng(seed)
    profiles = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, 3)
    profiles = profiles[rng.random(len(profiles)) < share]
    weights = rng.gamma(0.5, 100.0, len(profiles)) + 0.01
    weights[rng.random(len(weights)) < zeros] = 0.0
    records = {name: profiles[:, k] for k, name in enumerate("ysx")}
    return pt.tabulate(records, weights=weights)


def targets(table, scopes, seed=9):
    """Targets that have a positive solution on the table's support."""
    rng = np.random.default_rng(seed)
    other = table * np.exp(rng.normal(size=table.shape))
    return pt.marginals_of(other, scopes)


SETS = {
    "PUR": [("y", "s"), ("y", "x"), ("s", "x")],
    "UPR": [("y", "x"), ("y", "s"), ("s", "x")],
    "two outside": [("y",), ("y", "x"), ("s",), ("s", "x")],
    "PU": [("y", "s"), ("y", "x")],
    "one inside": [("y",), ("s",), ("x",)],
    "one": [("y", "s")],
    "three inside": [("y", "x"), ("s", "x"), ("x",), ("y", "s")],
}


def by_profile(table):
    return table.to_series().sort_index()


def in_memory(table, constraints, **options):
    return pt.project(table, constraints, solver=pt.Newton(), **options)


def assert_equal(stored_result, result, tolerance=1e-12):
    mine, its = by_profile(stored_result.table.to_table()), by_profile(result.table)
    assert mine.index.equals(its.index)
    assert np.abs(mine.values - its.values).max() <= tolerance * its.sum()


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize(
    ("name", "share"), [*((name, 1.0) for name in SETS), ("PUR", 0.5), ("two outside", 0.5), ("one inside", 0.5)]
)
def test_project__equals_the_answer_in_memory(tmp_path, name, share):
    table = people(1, share=share)
    constraints = targets(table, SETS[name])
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=77)
    result = project_stored(stored, constraints, part_profiles=100)
    expected = in_memory(table, constraints)
    assert_equal(result, expected)
    assert result.iterations == expected.iterations
    assert result.converged
    assert result.certified
    assert result.divergence == pytest.approx(expected.divergence, rel=1e-10)
    assert result.tv_bound <= 4 * expected.tv_bound + 1e-12


@pytest.mark.parametrize(
    ("scopes", "share"),
    [(SETS["PUR"], 1.0), (SETS["PUR"], 0.5), (SETS["UPR"], 1.0), (SETS["two outside"], 0.5), (SETS["one inside"], 0.5)],
)
def test_project__sweeps_are_those_in_memory(tmp_path, scopes, share):
    table = people(2, share=share)
    constraints = targets(table, scopes)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=50)
    result = pt.project(stored, constraints, solver=pt.IPF(), max_iterations=7, on_failure="return")
    expected = pt.project(table, constraints, solver=pt.IPF(), max_iterations=7, on_failure="return")
    assert_equal(result, expected, 1e-14)
    assert result.residual == pytest.approx(expected.residual, rel=1e-6, abs=1e-15)
    for name in ("residual", "residual_l1", "dual"):
        wanted = expected.trace[name].values
        assert result.trace[name].values == pytest.approx(wanted, rel=1e-5, abs=1e-13)


@pytest.mark.parametrize("solver", [pt.Newton(), pt.IPF(), pt.LBFGS()], ids=["Newton", "IPF", "L-BFGS"])
def test_project__dual_rises_from_the_whole_reference_where_targets_are_zero(tmp_path, solver):
    """As in memory: what the first iteration gains has in it that profiles of zero targets are emptied."""
    table = people(5, (3, 3, 12))
    other = table.copy(data=np.where(table["x"].values % 4 == 1, 0.0, table.values[::-1]))
    constraints = pt.marginals_of(other, SETS["PUR"])
    stored = pt.store_table(table, tmp_path / "t.zarr")
    for reference in (table, stored):
        trace = pt.project(reference, constraints, solver=solver, tolerance=1e-9).trace
        dual, steps = trace["dual"].values, trace["kl_step"].values
        assert dual[0] == pytest.approx(0.0, abs=1e-12)
        assert dual[-1] > 0.2
        assert np.nansum(steps) == pytest.approx(dual[-1], rel=1e-9)
    started = pt.project(stored, constraints, start=pt.project(stored, constraints), max_iterations=3)
    assert started.trace["dual"].values[0] == pytest.approx(dual[-1], rel=1e-6)  # nothing is emptied a second time


def test_project__a_run_that_stopped_at_once_is_resumed_with_what_emptying_gains(tmp_path):
    table = people(5, (3, 3, 12))
    other = table.copy(data=np.where(table["x"].values % 4 == 1, 0.0, table.values[::-1]))
    constraints = pt.marginals_of(other, SETS["PUR"])
    stored = pt.store_table(table, tmp_path / "t.zarr")
    whole = pt.project(stored, constraints, solver=pt.IPF(), tolerance=1e-9).trace
    stopped = pt.project(stored, constraints, solver=pt.IPF(), tolerance=1e-9, max_iterations=0, on_failure="return")
    resumed = pt.resume(stopped.path, max_iterations=1000).trace
    for name in ("dual", "kl_step", "residual"):
        assert np.array_equal(resumed[name].values, whole[name].values)


def test_project__targets_on_disk_are_those_in_memory(tmp_path):
    table, other = people(3), people(4)
    data = pt.store_table(other, tmp_path / "other.zarr", chunk=90)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=60)
    on_disk = project_stored(stored, pt.marginals_of(data, SETS["PUR"]), part_profiles=120)
    assert_equal(on_disk, in_memory(table, pt.marginals_of(other, SETS["PUR"])))
    own = project_stored(stored, pt.marginals_of(stored, SETS["PUR"][1:]))
    assert np.abs(by_profile(own.table.to_table()).values - by_profile(table).values).max() < 1e-10


def test_project__any_chunks_and_parts_have_the_same_answer(tmp_path):
    table = people(5, share=0.7)
    constraints = targets(table, SETS["PUR"])
    expected = in_memory(table, constraints)
    for number, (chunk, part) in enumerate([(1000, 1000), (13, 20), (200, 1)]):
        stored = pt.store_table(table, tmp_path / f"{number}.zarr", chunk=chunk)
        assert_equal(project_stored(stored, constraints, part_profiles=part), expected)
    shuffled = table[np.random.default_rng(0).permutation(table.size)].chunk({"profile": 31})
    assert_equal(as_stored(pt.project(shuffled, constraints)), expected)


@pytest.mark.parametrize(
    ("layout", "solver"),
    [*((layout, pt.Newton()) for layout in ("shuffled profiles", "with zeros", "dense")), ("with zeros", pt.LBFGS())],
)
def test_project__a_table_in_chunks_has_an_answer_in_chunks(tmp_path, layout, solver):
    table = people(5, (2, 3, 12), share=0.9, zeros=0.2 if layout == "with zeros" else 0.0)
    constraints = targets(table, SETS["PUR"])
    given = {
        "shuffled profiles": table[np.random.default_rng(0).permutation(table.size)],
        "with zeros": table,
        "dense": pt.to_dense(table),
    }[layout]
    lazy = given.chunk(dict.fromkeys(given.dims, 7))
    with dask.config.set({"temporary-directory": str(tmp_path)}):
        found = pt.project(lazy, constraints, solver=solver, tolerance=1e-9)
        assert found.reference is lazy
        assert found.table.chunks == lazy.chunks
        assert all(found.table.indexes[name].equals(lazy.indexes[name]) for name in lazy.dims)
        expected = pt.project(given, constraints, tolerance=1e-9)
        xr.testing.assert_allclose(found.table.compute(), expected.table, atol=1e-6 * float(table.sum()))
        assert pt.verify(found).failures == ()
        assert pt.project(lazy, constraints, start=found, tolerance=1e-9).iterations <= 1
        if solver == pt.Newton():
            pt.save(found, tmp_path / "kept")
            again = pt.load(tmp_path / "kept")
            assert np.abs(again.table.laid_like(lazy, name="projection") - found.table).max() < 1e-15
            assert found.log_ratio_bound < 1e-3
        with pytest.raises(pt.InvalidOptionError, match="stored"):
            pt.verify(replace(found, table=2 * found.table))
        with pytest.raises(pt.InvalidOptionError, match="in memory only"):
            _ = found.rows


def test_empirical__keeps_chunks():
    table = people(5, share=0.7).chunk({"profile": 31})
    for made in (pt.empirical(table), pt.uniform(table)):
        assert made.chunks == table.chunks
        assert float(made.sum()) == pytest.approx(1.0)


def test_project__chunks_of_dask_stay_on_disk_as_long_as_somebody_can_read_what_came_of_them(tmp_path):
    table = people(5, share=0.7)
    chunked = table.chunk({"profile": 31})
    constraints = targets(table, SETS["PUR"])
    with dask.config.set({"temporary-directory": str(tmp_path)}):
        for call in (pt.project, pt.diagnose):
            with pytest.raises(pt.UnknownAttributeError):
                call(chunked, pt.Marginal(pt.tabulate({"z": [1, 2]})))
        with pytest.raises(pt.InvalidOptionError):
            pt.project(chunked, constraints, solver=pt.GIS())
        assert not list(tmp_path.iterdir())
        with pytest.raises(pt.NotConvergedError) as stopped:
            pt.project(chunked, constraints, max_iterations=0)
        assert pt.resume(stopped.value.projection.path, max_iterations=50).converged
        assert len(list(tmp_path.iterdir())) == 1


def test_project__zeros_in_reference_and_targets(tmp_path):
    table = people(6, zeros=0.2)
    goal = table * np.exp(np.random.default_rng(1).normal(size=table.shape))
    y, s, x = (table[name].values for name in "ysx")
    goal[(x == 11) | ((y == 1) & (x % 5 == 3)) | ((s == 2) & (x == 20))] = 0.0
    constraints = pt.marginals_of(goal, SETS["PUR"])
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=77)
    bare = pt.Newton(warm_up=0)  # in memory the profiles that zeros empty weigh in the first sweep
    result = project_stored(stored, constraints, part_profiles=50, solver=bare)
    expected = pt.project(table, constraints, solver=bare)
    assert_equal(result, expected)
    assert result.divergence == pytest.approx(expected.divergence, rel=1e-9)
    assert (by_profile(result.table.to_table()) == 0).sum() > 20


@pytest.fixture(scope="module")
def pools():
    """What dask runs tasks on: threads, and one pool of processes for all calls."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield {
            "threads": {"scheduler": "threads", "num_workers": 2},
            "processes": {"scheduler": "processes", "pool": pool},
        }


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_project__threads_and_processes_have_the_same_bits(tmp_path, kind, pools):
    table = people(7)
    constraints = targets(table, SETS["PUR"])
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=200)
    alone = project_stored(stored, constraints, part_profiles=60)
    bits = by_profile(alone.table.to_table()).values
    with dask.config.set(**pools[kind]):
        again = project_stored(stored, constraints, part_profiles=60)
    assert np.array_equal(by_profile(again.table.to_table()).values, bits)
    assert again.tv_bound == alone.tv_bound


def test_project__stops_on_the_certificate(tmp_path):
    table = people(8)
    constraints = targets(table, SETS["PUR"])
    stored = pt.store_table(table, tmp_path / "t.zarr")
    with dask.config.set({"purtensor.part-profiles": 100}):
        result = pt.project(stored, constraints, stop_on="tv_bound", tolerance=1e-8)
    assert len(result.evidence.store.parts) >= 3
    assert result.tv_bound <= 1e-8
    exact = pt.project(table, constraints, tolerance=1e-14, on_failure="return")
    away = np.abs(by_profile(result.table.to_table()).values - by_profile(exact.table).values).sum()
    assert away / 2 / exact.table.values.sum() <= result.tv_bound + 1e-15


def test_project__coupling_potentials_and_chunks(tmp_path):
    table = people(9)
    constraints = targets(table, SETS["PUR"])
    result = project_stored(pt.store_table(table, tmp_path / "t.zarr"), constraints, part_profiles=60)
    whole = by_profile(result.table.to_table())
    pieces = list(result.chunks())
    assert len(pieces) > 3
    assert sum(float(piece.sum()) for piece in pieces) == pytest.approx(whole.sum(), rel=1e-14)
    (parity,) = result.evidence.coupling_potentials
    assert parity.sizes["profile"] == 12
    # potentials of slabs cancel in the cross ratio within one slab; those of the coupling stay
    ratio = np.log(whole / by_profile(table)).unstack("x")
    change = parity.to_series()
    for x in (0, 17):
        cross = ratio[x].loc[(0, 0)] - ratio[x].loc[(0, 1)] - ratio[x].loc[(1, 0)] + ratio[x].loc[(1, 1)]
        wanted = change[0, 0] - change[0, 1] - change[1, 0] + change[1, 1]
        assert cross == pytest.approx(wanted, abs=1e-9)


def refused(tmp_path, table, constraints, **options):
    return pt.project(pt.store_table(table, tmp_path / "t.zarr"), constraints, **options)


def test_project__refuses_constraints_without_slabs(tmp_path):
    rng = np.random.default_rng(0)
    wide = pt.tabulate({name: rng.integers(0, 3000, 6000) for name in "abc"})
    with pytest.raises(pt.errors.NoSlabsError, match="couple the slabs"):
        refused(tmp_path, wide, pt.marginals_of(wide, [("a", "b"), ("b", "c"), ("a", "c")]))


def test_project__refuses_what_does_not_fit(tmp_path):
    table = people(10)
    good = targets(table, SETS["PUR"])
    with pytest.raises(pt.InconsistentTargetsError):
        refused(tmp_path / "a", table, [good[0], pt.Marginal(good[1].target * 2)])
    with pytest.raises(pt.UnknownAttributeError):
        refused(tmp_path / "b", table, pt.Marginal(pt.tabulate({"z": [1]})))
    with pytest.raises(pt.InvalidOptionError, match="Newton"):
        refused(tmp_path / "c", table, good, solver=pt.GIS())
    with pytest.raises(pt.InvalidOptionError, match="without relaxation"):
        refused(tmp_path / "d", table, good, solver=pt.IPF(relaxation=1.5))
    with pytest.raises(pt.InvalidOptionError, match="acceleration or blocks"):
        refused(tmp_path / "blocks", table, good, solver=pt.IPF(blocks="auto"))


def test_project__profile_stored_twice(tmp_path):
    table = people(11)
    twice = [table, table[5:6]]
    with pytest.raises(pt.InvalidTableError, match="stored twice"):
        refused(tmp_path, twice, targets(table, SETS["PUR"]))


@pytest.mark.parametrize("scopes", [[("y", "x"), ("s", "x")], [("y", "s"), ("s", "x"), ("y", "x")]])
def test_project__a_target_without_profiles(tmp_path, scopes):
    table = people(12, (2, 2, 9))
    short = table[~((table["y"] == 1) & ((table["x"] == 3) if "x" in scopes[0] else (table["s"] == 1))).values]
    with pytest.raises(pt.InfeasibleError, match="no distribution meets"):
        refused(tmp_path, short, pt.marginals_of(table, scopes))


def test_project__unknown_categories(tmp_path):
    table = people(13, (2, 2, 9))
    with pytest.raises(pt.UnknownCategoryError, match="the target has mass in x=9"):
        refused(tmp_path / "a", table, pt.marginals_of(people(13, (2, 2, 10)), [("y", "x"), ("s", "x")]))
    with pytest.raises(pt.UnknownCategoryError, match="the reference has mass in x=9"):
        refused(tmp_path / "b", people(13, (2, 2, 10)), pt.marginals_of(table, [("y", "x"), ("s", "x")]))


def test_project__memory_and_disk_are_asked_first(tmp_path, monkeypatch):
    stored = pt.store_table(people(14), tmp_path / "t.zarr")
    constraints = pt.marginals_of(stored, SETS["PUR"])
    monkeypatch.setattr("purtensor.tables.memory.available_memory", lambda: 1000)
    monkeypatch.setattr("purtensor.tables.memory._NOT_ASKED", 0)
    with pytest.raises(pt.TooLargeError, match="needs"):
        pt.project(stored, constraints)
    monkeypatch.undo()
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(pt.errors.StoreError, match="are free"):
        pt.project(stored, constraints)
    assert not any(stored.workspace.glob("[!.]*"))  # but for the lock of the question, nothing is made


def test_project__the_disk_that_it_asks_for_suffices(tmp_path, monkeypatch):
    stored = pt.store_table(people(14, (5, 6, 4000)), tmp_path / "t.zarr")
    constraints = pt.marginals_of(stored, SETS["PUR"])
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(pt.errors.StoreError) as refusal:
        pt.project(stored, constraints)
    monkeypatch.undo()
    asked = int(re.search(r"need (\d+) bytes", str(refusal.value))[1])
    result = pt.project(stored, constraints)
    used = sum(file.stat().st_size for file in result.path.rglob("*") if file.is_file())
    assert used < asked < 3 * used


def test_pur__of_a_stored_table(tmp_path):
    counts = people(15, (2, 3, 30))
    f = pt.regularize(counts.round() + 1, response="y")
    stored = pt.store_table(f, tmp_path / "f.zarr", chunk=40)
    constraints = pt.pur(stored, response="y", protected="s")
    wanted = pt.pur(f, response="y", protected="s")
    for one, other in zip(constraints, wanted):
        assert one.scope == other.scope
        target = one.target if isinstance(one, pt.Marginal) else one.in_memory().target
        assert by_profile(target).values == pytest.approx(by_profile(other.target).values, rel=1e-14)
    assert_equal(project_stored(stored, constraints, part_profiles=50), in_memory(f, wanted))


@pytest.mark.parametrize("limit", [{"tolerance": 1e-3}, {"tolerance": 1e-15, "max_iterations": 2}])
def test_project__has_the_total_of_the_targets_at_whatever_ending(tmp_path, limit):
    problem = pt.problems.load("b")
    stored = pt.store_table(problem.reference, tmp_path / "f")
    on_disk = pt.project(stored, problem.constraints, solver=pt.Newton(), on_failure="return", **limit)
    in_memory = pt.project(problem.reference, problem.constraints, solver=pt.Newton(), on_failure="return", **limit)
    assert on_disk.table.total == pytest.approx(1.0, rel=1e-14)
    assert on_disk.residual == pytest.approx(in_memory.residual, rel=1e-8, abs=1e-16)
    assert float(on_disk.trace.residual[-1]) == on_disk.residual
    assert on_disk.trace.kl_step.values == pytest.approx(in_memory.trace.kl_step.values, rel=1e-8, abs=1e-14)
    assert pt.total_variation(on_disk.table, in_memory.table) < 1e-12
    # what is left of a miss is bounded in other ways on parts
    assert on_disk.bound == pytest.approx(in_memory.bound, rel=1e-4, abs=1e-16)
