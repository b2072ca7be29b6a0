"""The search for evidence on disk, against the one in memory: the same steps to the same kind of end."""

from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.feasibility.search import SWEEPS, search_evidence
from purtensor.feasibility.targets import read_targets
from purtensor.feasibility.verdict import ArrayEvidence
from purtensor.outofcore import search
from purtensor.outofcore.prepare import slab_store_of
from purtensor.solving.loop import begin
from purtensor.solving.problem import build_problem
from tests.outofcore.test_boundary import forced_case
from tests.outofcore.test_project import SETS, people, targets

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def small_parts():
    with dask.config.set({"scheduler": "synchronous", "purtensor.part-profiles": 30}):
        yield


def proxy():
    problem = pt.problems.load("proxy")
    return pt.to_sparse(problem.reference), problem.constraints


def interior():
    table = people(108, (2, 3, 12), share=0.8)
    return table, targets(table, SETS["PUR"])


@pytest.mark.parametrize("case", [interior, proxy, lambda: forced_case(10)], ids=["interior", "infeasible", "boundary"])
def test_search_parts__makes_the_steps_that_are_made_in_memory(tmp_path, monkeypatch, case):
    table, constraints = case()
    problem = build_problem(table, tuple(constraints)).arrays
    space = ArrayEvidence(problem, targets=read_targets(problem.system, []))
    mine = begin(space, space.warm_up(space.start(), None, SWEEPS)[0])
    expected = search_evidence(space, mine)

    kept = []

    def recorded(space, state):
        kept.append(state)
        return search_evidence(space, state)

    monkeypatch.setattr(search, "search_evidence", recorded)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=20)
    store = slab_store_of(stored, tuple(constraints), None)
    found = search.search_parts(store, stored.domain)

    assert kept[0].iterations == mine.iterations
    assert kept[0].lines.last.record == pytest.approx(mine.lines.last.record, rel=1e-9, abs=1e-14)
    assert isinstance(found, search.Solved) == hasattr(expected, "masses")
    if isinstance(found, search.Proven):
        assert found.infeasible == expected.infeasible
        assert found.infeasible or found.positive == np.count_nonzero(expected.zeros)
