"""L-BFGS on stored tables, against the same method in memory."""

from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore import rows_space
from purtensor.outofcore.result import SlabEvidence
from tests.outofcore.test_project import SETS, assert_equal, by_profile, people, targets

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def both(tmp_path, table, constraints, **options):
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=max(1, table.size // 5))
    found = pt.project(stored, constraints, solver=pt.LBFGS(), **options)
    return found, pt.project(table, constraints, solver=pt.LBFGS(), **options)


@pytest.mark.parametrize("scopes", [SETS["PUR"], SETS["two outside"], SETS["one"]])
def test_lbfgs__equals_the_answer_in_memory(tmp_path, scopes):
    table = people(101, share=0.8)
    found, expected = both(tmp_path, table, targets(table, scopes), tolerance=1e-12)
    assert isinstance(found.evidence, SlabEvidence)
    assert found.evidence.store.inside == ()
    assert found.converged
    assert_equal(found, expected, 1e-10)
    assert found.divergence == pytest.approx(expected.divergence, rel=1e-9)
    assert not found.certified
    assert (found.bound, found.tv_bound) == (float("inf"), 1.0)
    assert pt.verify(found).passed


def test_lbfgs__steps_are_those_in_memory(tmp_path):
    table = people(102)
    found, expected = both(tmp_path, table, targets(table, SETS["PUR"]), max_iterations=6, on_failure="return")
    assert found.iterations == expected.iterations == 6
    assert found.termination is pt.results.Termination.ITERATION_LIMIT
    for name in ("residual", "residual_l1", "dual", "kl_step"):
        assert found.trace[name].values[1:] == pytest.approx(expected.trace[name].values[1:], rel=1e-6, abs=1e-13)


def test_lbfgs__constraints_without_slabs(tmp_path, monkeypatch):
    monkeypatch.setattr("purtensor.outofcore.prepare.LARGEST_DENSE", 200)
    rng = np.random.default_rng(0)
    wide = pt.tabulate({name: rng.integers(0, 30, 900) for name in "abc"}, weights=rng.random(900) + 0.1)
    constraints = pt.marginals_of(wide * np.exp(rng.normal(size=wide.shape)), [("a", "b"), ("b", "c"), ("a", "c")])
    stored = pt.store_table(wide, tmp_path / "t.zarr", chunk=200)
    with pytest.raises(pt.errors.NoSlabsError, match=r"LBFGS\(\)"):
        pt.project(stored, constraints)
    found = pt.project(stored, constraints, solver=pt.LBFGS(), tolerance=1e-11)
    expected = pt.project(wide, constraints, solver=pt.LBFGS(), tolerance=1e-11)
    assert_equal(found, expected, 1e-9)


def test_lbfgs__zeros_and_targets_on_disk(tmp_path):
    table = people(103, zeros=0.2)
    goal = table * np.exp(np.random.default_rng(1).normal(size=table.shape))
    y, s, x = (table[name].values for name in "ysx")
    goal[(x == 11) | ((y == 1) & (x % 5 == 3)) | ((s == 2) & (x == 20))] = 0.0
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=77)
    aims = pt.marginals_of(pt.store_table(goal, tmp_path / "g.zarr", chunk=50), SETS["PUR"])
    found = pt.project(stored, aims, solver=pt.LBFGS(), tolerance=1e-11)
    expected = pt.project(table, pt.marginals_of(goal, SETS["PUR"]), solver=pt.LBFGS(), tolerance=1e-11)
    assert_equal(found, expected, 1e-9)
    assert found.divergence == pytest.approx(expected.divergence, rel=1e-7)
    assert pt.verify(found).passed


def test_lbfgs__begins_from_its_potentials(tmp_path):
    table = people(104)
    constraints = targets(table, SETS["PUR"])
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=100)
    with dask.config.set({"purtensor.part-profiles": 100}):
        first = pt.project(stored, constraints, solver=pt.LBFGS())
    for start in (first, first.potentials, pt.project(table, constraints)):
        again = pt.project(stored, constraints, solver=pt.LBFGS(), start=start)
        assert again.iterations == 0
        assert again.converged
    assert pt.project(stored, constraints, start=first).iterations == 0
    logs = np.log(by_profile(first.table.to_table()) / by_profile(table))
    parity, utility, realism = (one.to_series().to_dict() for one in first.potentials)
    for (y, s, x), wanted in logs.items():
        assert parity[y, s] + utility[y, x] + realism[s, x] == pytest.approx(wanted, abs=1e-11)
    pieces = list(first.chunks())
    assert len(pieces) > 2
    assert sum(float(piece.sum()) for piece in pieces) == pytest.approx(float(first.table.total), rel=1e-14)


def test_lbfgs__refuses(tmp_path, monkeypatch):
    table = people(105, (2, 2, 9))
    constraints = targets(table, SETS["PUR"])
    stored = pt.store_table(table, tmp_path / "t.zarr")
    with pytest.raises(pt.InvalidOptionError, match="proves no bound"):
        pt.project(stored, constraints, solver=pt.LBFGS(), stop_on="tv_bound")
    for start in ([3], 3):
        with pytest.raises(pt.InvalidOptionError, match="start must be"):
            pt.project(stored, constraints, solver=pt.LBFGS(), start=start)
    with pytest.raises(pt.NotConvergedError):
        pt.project(stored, constraints, solver=pt.LBFGS(), max_iterations=1)
    short = table[~((table["y"] == 1) & (table["x"] == 3)).values]
    with pytest.raises(pt.InfeasibleError, match="y=1, x=3 has a positive target"):
        pt.project(pt.store_table(short, tmp_path / "s.zarr"), constraints, solver=pt.LBFGS())
    monkeypatch.setattr("purtensor.outofcore.prepare.MOST_ROWS", 10)
    with pytest.raises(pt.TooLargeError, match="rows"):
        pt.project(stored, constraints, solver=pt.LBFGS())


def test_lbfgs__an_iteration_is_one_pass_for_each_step_that_it_tries(tmp_path, monkeypatch):
    passes = []
    task = rows_space.step_pass
    monkeypatch.setattr(rows_space, "step_pass", lambda number, *rest: (passes.append(number), task(number, *rest))[1])
    table = people(102)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=max(1, table.size // 5))
    with dask.config.set({"purtensor.part-profiles": 100}):
        found = pt.project(stored, targets(table, SETS["PUR"]), solver=pt.LBFGS(), tolerance=1e-12)
    parts = len(set(passes))
    assert parts > 2
    assert found.iterations <= len(passes) / parts <= 1.25 * found.iterations  # it seldom tries a second step
