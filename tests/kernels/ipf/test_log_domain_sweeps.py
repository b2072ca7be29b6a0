from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

import purtensor as pt
from purtensor.kernels.ipf.log_domain_sweeps import (
    add_in_logarithms,
    gain_of_a_relaxed_row,
    gain_of_a_row,
    scaling_in_logarithms,
    sweep_in_logarithms,
)
from purtensor.solving.iterate import Budget, iterate_at, row_sums, starting_potentials
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
            np.log(problem.reference),
            problem.index,
            problem.offsets,
            problem.targets,
            log_targets,
            order,
            t,
            np.empty(profiles),
            np.empty(rows),
            np.empty(rows),
            1.0,
        )
        masses = iterate_at(problem, t).masses
        assert masses == pytest.approx(swept.masses, rel=1e-13)
        last = problem.system.block(len(problem.index) - 1)
        assert row_sums(problem.system, masses)[last] == pytest.approx(problem.targets[last], rel=1e-14)
        assert gain > 0.0


def in_plain_numbers(problem, solver, count):
    """Masses and gains of iterations made one at a time in plain numbers."""
    iterate = iterate_at(problem, starting_potentials(problem))
    for _ in range(count):
        step = solver.step(problem, iterate, Budget(1, -1.0, -1.0))
        iterate = step.iterate
        yield iterate.masses.copy(), step.records[0].kl_step * problem.total


def check_the_same_iterations(kernel, name, solver, *more):
    problem = arrays_of(name)
    t, order, log_targets = starting_potentials(problem), np.arange(len(problem.index)), np.log(problem.targets)
    rows, profiles = problem.system.rows, len(problem.reference)
    for masses, gained in in_plain_numbers(problem, solver, 4):
        gain = kernel(
            np.log(problem.reference),
            problem.index,
            problem.offsets,
            problem.targets,
            log_targets,
            order,
            t,
            np.empty(profiles),
            np.empty(rows),
            np.empty(rows),
            *more,
        )
        assert iterate_at(problem, t).masses == pytest.approx(masses, rel=1e-12)
        assert gain == pytest.approx(gained, rel=1e-9, abs=1e-16)
        assert gain > 0.0


@pytest.mark.parametrize("name", ["haberman", "a"])
@pytest.mark.parametrize("omega", [0.5, 1.4, 1.9])
@both(sweep_in_logarithms)
def test_sweep_in_logarithms__is_a_relaxed_sweep(kernel, omega, name):
    check_the_same_iterations(kernel, name, pt.IPF(relaxation=omega), omega)


@pytest.mark.parametrize("name", ["haberman", "a"])
@both(scaling_in_logarithms)
def test_scaling_in_logarithms__is_generalised_iterative_scaling(kernel, name):
    check_the_same_iterations(kernel, name, pt.GIS())


ROWS = [(2.0, 1.0), (1.0, 1.0 + 2**-30), (1e-3, 1.0), (0.7, 0.9), (0.9, 0.7), (3.0, 1e-5), (1.0, 2.9)]


@pytest.mark.parametrize(("target", "found"), ROWS)
@both(gain_of_a_row)
def test_gain_of_a_row__against_fifty_digits(kernel, target, found):
    with localcontext(prec=50):
        b, s = Decimal(target), Decimal(found)
        exact = b * (b / s).ln() - b + s
    assert kernel(math.log(target / found), target, math.log(found)) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(("target", "found"), ROWS)
@pytest.mark.parametrize("omega", [0.4, 1.6])
@both(gain_of_a_relaxed_row)
def test_gain_of_a_relaxed_row__against_fifty_digits(kernel, omega, target, found):
    with localcontext(prec=50):
        b, s, power = Decimal(target), Decimal(found), Decimal(omega)
        ratio = (b / s).ln()
        exact = power * b * ratio - s * (power * ratio).exp() + s
    told = kernel(math.log(target / found), omega, target, math.log(found))
    assert told == pytest.approx(float(exact), rel=1e-8)


@both(gain_of_a_row)
def test_gain_of_a_row__of_targets_next_to_nothing(kernel):
    """e^744 is beyond float64, what is gained is the whole sum."""
    assert kernel(math.log(5e-324), 5e-324, 0.0) == 1.0
