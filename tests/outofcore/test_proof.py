"""Bounds of runs on disk on tables where a miss of the size of rounding hides a large distance, as in memory."""

from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore import proof
from purtensor.outofcore.project import project_stored
from tests.laws.test_ill_conditioned import bridge, doubling_chain, judge
from tests.outofcore.test_project import SETS, people, targets

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def on_disk(tmp_path, reference, constraints, part_profiles=10, **options):
    stored = pt.store_table(reference, tmp_path / "t.zarr", chunk=40)
    return project_stored(stored, constraints, part_profiles=part_profiles, on_failure="return", **options)


@pytest.mark.parametrize(
    ("case", "tolerance"),
    [
        (doubling_chain(8, 0), 1e-3),
        (doubling_chain(28, 1), 1e-10),
        (bridge(20, 1), 1e-10),
        (bridge(36, 1), 1e-3),
        (bridge(36, 1), 1e-10),
        (bridge(45, 1), 1e-10),
    ],
)
def test_bounds__on_disk_hold_where_tables_are_ill_conditioned(tmp_path, case, tolerance):
    result = on_disk(tmp_path, case.reference, case.constraints, tolerance=tolerance, max_iterations=40)
    table = result.table.to_table()
    judge(case, result, table)
    assert result.certified
    checked = pt.verify(result)
    judge(case, checked, table)
    assert checked.bound == pytest.approx(result.bound, rel=0.01)
    assert checked.passed == result.converged


@pytest.mark.parametrize("scopes", [SETS["PUR"], SETS["two outside"], SETS["PU"], SETS["three inside"]])
def test_bounds__on_disk_are_those_of_memory(tmp_path, scopes):
    table = people(5, zeros=0.1)
    constraints = targets(table, scopes)
    result = on_disk(tmp_path, table, constraints, 40, tolerance=1e-6)
    again = result.table.to_table()
    start = pt.project(again, constraints, solver=pt.Newton(), max_iterations=0, on_failure="return")
    assert result.bound == pytest.approx(start.bound, rel=0.05, abs=1e-24)
    assert result.tv_bound == pytest.approx(start.tv_bound, rel=0.05, abs=1e-14)


def with_three_within():
    rng = np.random.default_rng(1)
    records = {name: rng.integers(0, 3, 300) for name in "abc"} | {"k": rng.integers(0, 12, 300)}
    table = pt.tabulate(records, weights=rng.random(300) + 0.1)
    return table, targets(table, [("a", "k"), ("b", "k"), ("c", "k"), ("a", "b")])


def test_bounds__of_three_constraints_within_the_parts_are_those_of_memory(tmp_path):
    """The third one's rows are met by profiles that close cycles, as those that couple the parts."""
    table, constraints = with_three_within()
    result = on_disk(tmp_path, table, constraints, 40, tolerance=1e-6)
    start = pt.project(result.table.to_table(), constraints, max_iterations=0, on_failure="return")
    assert result.bound == pytest.approx(start.bound, rel=0.05, abs=1e-24)
    assert result.tv_bound == pytest.approx(start.tv_bound, rel=0.05, abs=1e-14)


def test_bounds__claim_nothing_where_cycles_have_to_meet_too_many_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(proof, "MOST_CLOSING", 10)
    table, constraints = with_three_within()
    result = on_disk(tmp_path, table, constraints, 40)
    assert result.converged
    assert (result.certified, result.bound, result.tv_bound) == (False, np.inf, 1.0)
