"""Projections on disk that begin from earlier ones."""

from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore.project import project_stored
from tests.outofcore.test_project import SETS, assert_equal, by_profile, in_memory, people, targets

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def shuffled(table, seed=0):
    return table[np.random.default_rng(seed).permutation(table.size)]


@pytest.mark.parametrize("scopes", [SETS["PUR"], SETS["UPR"], SETS["three inside"]])
def test_start__at_the_answer_takes_no_iteration(tmp_path, scopes):
    table = people(81, share=0.8)
    constraints = targets(table, scopes)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=70)
    first = project_stored(stored, constraints, part_profiles=100)
    assert first.iterations > 2
    again = project_stored(stored, constraints, part_profiles=100, start=first)
    assert again.converged
    assert again.iterations == 0
    assert again.certified
    assert_equal(again, in_memory(table, constraints))
    elsewhere = pt.store_table(shuffled(table), tmp_path / "other.zarr", chunk=33)
    other = project_stored(elsewhere, constraints, part_profiles=37, start=again)
    assert other.iterations == 0
    assert_equal(other, in_memory(table, constraints))


@pytest.mark.parametrize("scopes", [SETS["PUR"], SETS["one inside"]])
def test_start__from_memory_and_from_tables(tmp_path, scopes):
    table = people(82)
    constraints = targets(table, scopes)
    expected = in_memory(table, constraints)
    stored = pt.store_table(shuffled(table), tmp_path / "t.zarr", chunk=70)
    for start in (expected, expected.potentials, [p.unstack() for p in reversed(expected.potentials)]):
        found = project_stored(stored, constraints, part_profiles=100, start=start)
        assert found.iterations == 0
        assert_equal(found, expected)


def test_start__other_targets_and_other_profiles(tmp_path):
    table = people(83, (3, 4, 30))
    first = project_stored(pt.store_table(table, tmp_path / "t.zarr"), targets(table, SETS["PUR"]), part_profiles=60)
    more = people(83, (3, 4, 40))
    other = targets(more, SETS["PUR"], seed=11)
    stored = pt.store_table(more, tmp_path / "more.zarr", chunk=50)
    expected = in_memory(more, other)
    started = project_stored(stored, other, part_profiles=100, start=first)
    assert_equal(started, expected, 1e-9)  # both stop at a residual of 1e-10
    # the labels were found: where both know a slab, the cross ratios of the first point are those of the first answer
    begun = project_stored(stored, other, part_profiles=100, start=first, max_iterations=0, on_failure="return")
    mine = np.log(by_profile(begun.table.to_table()) / by_profile(more)).unstack("x")
    its = np.log(by_profile(first.table.to_table()) / by_profile(table)).unstack("x")
    shared = its.columns.intersection(mine.columns)
    assert len(shared) == 30
    difference = (mine[shared] - its[shared]).values
    assert np.ptp(difference) < 1e-9
    assert abs(mine[[35]].values).max() > 1e-6


def test_start__zero_targets_leave_no_infinities(tmp_path):
    table = people(84, zeros=0.1)
    goal = table * np.exp(np.random.default_rng(1).normal(size=table.shape))
    goal[(goal["x"].values == 7) | ((goal["y"].values == 1) & (goal["x"].values % 5 == 3))] = 0.0
    constraints = pt.marginals_of(goal, SETS["PUR"])
    expected = in_memory(table, constraints)
    assert any(np.isneginf(p.values).any() for p in expected.potentials)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=70)
    found = project_stored(stored, constraints, part_profiles=100, start=expected)
    assert found.iterations == 0
    assert_equal(found, expected, 1e-10)


def test_start__goes_on_after_resume(tmp_path):
    table = people(85)
    constraints = targets(table, SETS["PUR"])
    stored = pt.store_table(table, tmp_path / "t.zarr")
    rough = in_memory(table, constraints, max_iterations=2, on_failure="return")
    options = {"part_profiles": 100, "start": rough, "solver": pt.Newton(warm_up=0)}
    stopped = project_stored(stored, constraints, max_iterations=1, on_failure="return", **options)
    resumed = pt.resume(stopped.path, max_iterations=50)
    assert resumed.converged
    bits = by_profile(resumed.table.to_table()).values
    whole = project_stored(stored, constraints, **options)
    assert np.array_equal(by_profile(whole.table.to_table()).values, bits)


def test_start__refuses_what_is_no_start(tmp_path):
    table = people(86, (2, 2, 9))
    stored = pt.store_table(table, tmp_path / "t.zarr")
    with pytest.raises(pt.InvalidOptionError, match="start must be a Projection"):
        pt.project(stored, targets(table, SETS["PUR"]), start=3)
    single = targets(table, SETS["one inside"])
    huge = [pt.marginal(table, name) * 0 + 1e4 for name in "ysx"]
    with pytest.raises(pt.InvalidOptionError, match="total mass"):
        pt.project(stored, single, start=huge)
    # as in memory: potentials of other constraints, or that are no potentials
    for solver in (None, pt.LBFGS()):
        with pytest.raises(pt.InvalidOptionError, match=r"one table of potentials per constraint, over y \| s \| x"):
            pt.project(stored, single, solver=solver, start=[*huge[:2], pt.marginal(table, ["y", "x"])])
        with pytest.raises(pt.InvalidOptionError, match="NaN or infinite"):
            pt.project(stored, single, solver=solver, start=[*huge[:2], huge[2] * np.inf])
