"""Runs of one-pass sweeps on tables so small that plain Python may make them: where they end, and when they fold."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from purtensor.kernels.ipf.slab_runs import fold, has_large_factors
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.solving.iterate import iterate_at
from purtensor.solving.solvers.ipf import slab_layout as layouts
from tests.solving.solvers.ipf.test_slab_sweeps import drawn, one_pass_at
from tests.solving.solvers.plain import plain_run

ORDERS = list(permutations(range(3)))


@pytest.fixture(autouse=True)
def _tiny_tables_too(monkeypatch):
    monkeypatch.setattr(layouts, "SMALLEST", 0)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_run_crossing_sweeps__ends_at_the_first_sweep_within_the_tolerance(order, chunked, monkeypatch):
    if chunked:
        monkeypatch.setattr(layouts, "SMALLEST_IN_CHUNKS", 1)
        monkeypatch.setattr(layouts, "CELLS_PER_CHUNK", 1)
    problem = drawn(2, sizes={"y": 3, "s": 3, "x": 20, "z": 1}, density=1.0)
    goal = 1e-4 * problem.total, 1e-2 * problem.total
    expected, lines, _ = plain_run(problem, order, goal, 400)
    assert 1 < expected < 400
    run = one_pass_at(problem, order)
    assert (len(run.crossing.chunks) > 1) == chunked
    records = np.empty((256, 6))
    made, written = run.sweep(Goal(*goal, 1, run.start), 400, records)
    assert made == expected
    assert records[written - 1, 0] == lines[-1, 0] == expected
    np.testing.assert_allclose(records[written - 1, 1:3], lines[-1, 1:3], rtol=1e-9)


@pytest.mark.parametrize("which", ["u", "v", "w"])
@pytest.mark.parametrize("size", [2.0**70, 2.0**-70])
def test_fold__moves_large_factors_into_the_potentials(which, size):
    problem = drawn(2, sizes={"y": 3, "s": 3, "x": 20, "z": 1}, density=1.0)
    run = one_pass_at(problem, (0, 1, 2))
    run.sweep(Goal(-1.0, -1.0, 1, run.start), 3, np.empty((256, 6)))
    state, blocks = run.state, run.state.base.shape[0]
    assert not has_large_factors(state, run.now, 0, blocks)
    getattr(state, which)[run.now].reshape(-1)[0] *= size
    assert has_large_factors(state, run.now, 0, blocks)
    before = run.potentials()
    fold(run.source, run.crossing.layout, state, run.now)
    assert not has_large_factors(state, run.now, 0, blocks)
    np.testing.assert_allclose(run.potentials(), before, rtol=1e-14)
    np.testing.assert_allclose(state.t, before, rtol=1e-14)
    masses = iterate_at(problem, before).masses
    cells = np.sort(masses[masses > 0])
    np.testing.assert_allclose(np.sort(state.base[state.base > 0]), cells, rtol=1e-12)
