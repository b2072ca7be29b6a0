"""Powers of a linearised sweep: against the sweeps themselves, and the bound on what a basis misses."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.convergence import forecast
from purtensor.solving.convergence.forecast import Interval, linear_sweeps_left
from purtensor.solving.convergence.grouped_sweep import GroupedSweep
from purtensor.solving.convergence.linear_sweep import LinearSweep
from purtensor.solving.iterate import row_sums
from purtensor.solving.problem import build_problem
from tests.convergence.test_prediction import drawn


def near(seed):
    """A sweep at the reference, and an error of its potentials."""
    reference, constraints = drawn(seed)
    problem = build_problem(reference, constraints).arrays
    sweep = GroupedSweep.at(problem, problem.reference)
    return sweep, 1e-2 * np.random.default_rng(seed).standard_normal(problem.system.rows)


def by_sweeps(sweep, error, tolerance):
    """Make linearised sweeps until their misses are met, one after the other."""
    problem = sweep.problem
    linear = LinearSweep.at(problem, sweep.masses / sweep.masses.sum())
    for n in range(100_000):
        misses = np.abs(row_sums(problem.system, linear.masses * linear.exponents(error)))
        blocks = [misses[problem.system.block(k)].sum() for k in range(len(problem.index))]
        if misses.max() <= tolerance and max(blocks) <= 100 * tolerance:
            return n
        error = linear.sweep(error)
    raise AssertionError("no end")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tolerance", [1e-3, 1e-10])
def test_linear_sweeps_left__are_those_that_sweeps_take(seed, tolerance):
    sweep, error = near(seed)
    found = linear_sweeps_left(sweep, error, [tolerance])[0]
    n = by_sweeps(sweep, error, tolerance)
    assert found.lower - 1 <= n <= found.upper + 1
    assert abs(found.sweeps - n) <= max(1, 2e-3 * n)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_linear_sweeps_left__encloses_them_also_with_a_basis_that_is_too_small(monkeypatch, size):
    monkeypatch.setattr(forecast, "_SIZES", (size,))
    wide = 0
    for seed in range(12):
        sweep, error = near(seed)
        found = linear_sweeps_left(sweep, error, [1e-8])[0]
        assert found.lower <= by_sweeps(sweep, error, 1e-8) <= found.upper
        wide += not found.is_tight
    assert wide > 0 or size > 3


def test_linear_sweeps_left__nothing_is_left_of_no_error():
    sweep, error = near(0)
    assert linear_sweeps_left(sweep, 0 * error, [1e-10]) == [Interval(0.0, 0.0, 0.0)]
    assert linear_sweeps_left(sweep, error, [1.0])[0].sweeps == 0.0


def test_linear_sweeps_left__makes_leaps_on_slow_problems():
    problem = pt.problems.variant("b", records=45_000, strength=1e-6)
    arrays = build_problem(problem.reference, problem.constraints).arrays
    sweep = GroupedSweep.at(arrays, arrays.reference)
    error = np.random.default_rng(0).standard_normal(arrays.system.rows)
    found = [one.sweeps for one in linear_sweeps_left(sweep, error, [1e-11, 1e-12])]
    decades = np.diff(found)
    rate = pt.convergence.predict(problem.reference, problem.constraints).sweeps_per_decade
    assert (decades < 1.01 * rate).all()
    assert decades[-1] == pytest.approx(rate, rel=0.1)
    assert all(math.isfinite(n) for n in found)


def test_linear_sweeps_left__is_left_out_where_a_basis_is_too_large(monkeypatch):
    monkeypatch.setattr(forecast, "_ENTRIES", 1)
    sweep, error = near(0)
    assert linear_sweeps_left(sweep, error, [1e-10]) is None
