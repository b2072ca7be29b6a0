"""The classical problems behave as their documentation says: closed forms, published numbers, linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import purtensor as pt
from tests.problems.oracles import rows_of, smallest_parity_violation, sweep


def swept(problem, sweeps):
    masses, targets = problem.arrays()
    for _ in range(sweeps):
        masses = sweep(masses, targets)
    return masses


@pytest.mark.parametrize("sweeps", [1, 2, 7, 40])
def test_staircase__cell_after_n_sweeps(sweeps):
    corner = swept(pt.problems.load("staircase"), sweeps)[0, 0]
    assert corner == pytest.approx(1 / (2 * sweeps + 1), rel=1e-13)


@pytest.mark.parametrize("sweeps", [1, 2, 7, 40])
def test_and_gate__cell_after_n_sweeps(sweeps):
    masses = swept(pt.problems.load("and_gate"), sweeps)
    assert masses[1, 1, 0] == pytest.approx(1 / (12 * sweeps), rel=1e-13)


@pytest.mark.parametrize(("name", "profiles"), [("haberman", 6), ("haberman_boundary", 8)])
def test_haberman__only_one_table_has_the_marginals(name, profiles):
    problem = pt.problems.load(name)
    support = problem.masses > 0
    assert problem.profiles == profiles
    matrix = np.vstack([rows_of(support, axes).toarray() for axes, _ in problem.targets])
    goal = np.concatenate([target.ravel() for _, target in problem.targets])
    assert np.linalg.matrix_rank(matrix) == (6 if name == "haberman" else 7)
    extremes = [
        linprog(sign * np.eye(profiles)[i], A_eq=matrix, b_eq=goal).x for i in range(profiles) for sign in (1, -1)
    ]
    table = np.array([[[0, 2], [3, 5]], [[4, 6], [4, 0]]]) / 24
    for extreme in extremes:
        assert extreme == pytest.approx(table[support], abs=1e-12)


def test_proxy__smallest_parity_violation():
    assert smallest_parity_violation(pt.problems.load("proxy")) == pytest.approx(0.4, abs=1e-12)


@pytest.mark.parametrize(("added", "feasible"), [(0.0499, False), (0.05, True), (0.2, True)])
def test_proxy__feasible_from_a_twentieth_on(added, feasible):
    violation = smallest_parity_violation(pt.problems.proxy(added))
    assert (violation < 1e-12) == feasible


@pytest.mark.parametrize("added", [-0.1, np.inf, np.nan, 1e308])
def test_proxy__refuses(added):
    with pytest.raises(pt.InvalidOptionError, match="added must be a finite mass"):
        pt.problems.proxy(added)


def test_cut_3x3__two_rows_share_one_column_of_half_their_mass():
    masses, targets = pt.problems.load("cut_3x3").arrays()
    (_, rows), (_, columns) = targets
    assert rows[1] + rows[2] == 2
    assert np.flatnonzero(masses[1:].sum(axis=0)).tolist() == [2]
    assert columns[2] == 1
