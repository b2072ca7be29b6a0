from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.kernels.log_sweep import add_in_logarithms, sweep_in_logarithms
from purtensor.solving.iterate import iterate_at, row_sums, starting_potentials
from tests.kernels.drawn import both
from tests.solving.drawn import arrays_of, single_sweeps


@both(add_in_logarithms)
def test_add_in_logarithms__of_masses_that_float64_has_no_number_for(kernel):
    logs = np.array([-2000.0, -2000.0 + np.log(3.0), 5.0, -1e4])
    sums = np.empty(2)
    kernel(logs, np.array([0, 0, 1, 1]), np.empty(2), sums)
    assert sums == pytest.approx([-2000.0 + np.log(4.0), 5.0], rel=1e-15)


@both(sweep_in_logarithms)
def test_sweep_in_logarithms__is_a_sweep(kernel):
    problem = arrays_of("haberman")
    t, order, log_targets = starting_potentials(problem), np.arange(len(problem.index)), np.log(problem.targets)
    rows, profiles = problem.system.rows, len(problem.reference)
    for swept in single_sweeps(problem, pt.IPF(), 3):
        gain = kernel(
            np.log(problem.reference), problem.index, problem.offsets, problem.targets, log_targets, order, t,
            np.empty(profiles), np.empty(rows), np.empty(rows),
        )  # fmt: skip
        masses = iterate_at(problem, t).masses
        assert masses == pytest.approx(swept.masses, rel=1e-13)
        last = problem.system.block(len(problem.index) - 1)
        assert row_sums(problem, masses)[last] == pytest.approx(problem.targets[last], rel=1e-14)
        assert gain > 0.0
