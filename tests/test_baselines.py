"""The loops that ratios are taken against do what they are compared for, or the ratios are worth nothing."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from benchmarks.baselines import NumbaCodes, NumpyCodes, NumpyDense, numpy_loop, support_masses
from benchmarks.interleaved import interleaved_seconds, ratio, scaling_in_place
from tests.problems.oracles import sweep

DENSE = ("a", "b_hard2", "b_lam0", "staircase", "haberman")


@pytest.mark.parametrize("loop", [NumpyDense, NumpyCodes, NumbaCodes])
@pytest.mark.parametrize("name", DENSE)
def test_sweep__equals_the_obvious_one(name, loop):
    problem = pt.problems.load(name)
    started = loop(problem)
    started.sweep(3)
    wanted = problem.masses
    for _ in range(3):
        wanted = sweep(wanted, problem.targets)
    got = started.masses if loop is NumpyDense else _dense(problem, started.masses)
    assert got == pytest.approx(wanted, rel=1e-13, abs=0)


def _dense(problem, values):
    dense = np.zeros(problem.masses.shape)
    dense[problem.masses > 0] = values
    return dense


@pytest.mark.parametrize("loop", [NumpyDense, NumpyCodes, NumbaCodes])
@pytest.mark.parametrize(
    ("name", "tolerance", "sweeps"),
    [
        ("a", 1e-6, 8),
        ("a", 1e-10, 19),
        ("a", 1e-12, 25),
        ("b", 1e-6, 15),
        ("b_hard", 1e-6, 22),
        ("b_hard2", 1e-6, 97),
        ("b_lam0", 1e-6, 34),
        ("b_lam0", 1e-10, 87),
    ],
)
def test_solve__sweeps_of_the_benchmark_set(loop, name, tolerance, sweeps):
    assert loop(pt.problems.load(name)).solve(tolerance) == sweeps


@pytest.mark.parametrize("loop", [NumpyCodes, NumbaCodes])
def test_solve__records_meet_every_pair(loop):
    problem = pt.problems.generate("records", seed=4, profiles=3000, attributes=6)
    solved = loop(problem)
    assert 1 < solved.solve(1e-10) < 100
    for axes, target in problem.targets:
        sums = np.zeros(target.shape)
        np.add.at(sums, tuple(problem.codes[:, axis] for axis in axes), solved.masses)
        assert sums == pytest.approx(target, abs=1.01e-10)


@pytest.mark.parametrize("loop", [NumpyDense, NumpyCodes, NumbaCodes])
def test_solve__ends_at_the_limit(loop):
    assert loop(pt.problems.load("b_inf")).solve(1e-6, limit=7) == 7


def test_numpy_loop__by_layout():
    assert isinstance(numpy_loop(pt.problems.load("a")), NumpyDense)
    assert isinstance(numpy_loop(pt.problems.load("i4")), NumpyCodes)
    assert isinstance(numpy_loop(pt.problems.generate("binary", seed=1, attributes=6)), NumpyCodes)


def test_interleaved_seconds__and_their_ratio():
    work = np.ones(200_000)

    def thrice():
        for _ in range(3):
            work.sum()

    seconds = interleaved_seconds({"once": work.sum, "thrice": thrice}, rounds=5)
    assert [len(times) for times in seconds.values()] == [5, 5]
    assert ratio({"x": [2.0, 3.0, 9.0], "y": [1.0, 1.0, 2.0]}, "x", "y") == 3.0


def test_scaling_in_place__leaves_the_problem_alone():
    values = support_masses(pt.problems.load("a"))
    before = values.copy()
    assert scaling_in_place(values)() is not values
    assert np.array_equal(values, before)
