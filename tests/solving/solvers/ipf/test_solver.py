from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given

import purtensor as pt
from purtensor.errors import InvalidOptionError
from purtensor.problems.classical import proxy
from purtensor.solving.iterate import Budget, iterate_at, starting_potentials
from tests import oracles
from tests.solving.drawn import arrays_of, coefficients, labelled_from, labels_of, single_sweeps, solved, variation
from tests.strategies import cases, random_case

FORMS = {
    "plain": (pt.IPF(), 50_000),
    "under-relaxed": (pt.IPF(relaxation=0.6), 50_000),
    "over-relaxed": (pt.IPF(relaxation=1.6), 50_000),
    "accelerated": (pt.IPF(acceleration=4), 1000),
    "GIS": (pt.GIS(), 50_000),
    "LBFGS": (pt.LBFGS(), 1000),
    "Newton": (pt.Newton(), 1000),
}


def test_ipf__staircase_sweep_by_sweep():
    """Cell (1, 1) of [[1, 1], [1, 0]] with all marginals 1 has exactly 1 / (2n + 1) after n sweeps."""
    labelled = labelled_from("staircase")
    at = labels_of(labelled).index((1, 1))
    for n, iterate in enumerate(single_sweeps(labelled.arrays, pt.IPF(), 50), 1):
        assert 2 * iterate.masses[at] / iterate.masses.sum() == pytest.approx(1 / (2 * n + 1), rel=1e-13)


def test_ipf__and_gate_sweep_by_sweep():
    """Profile 110 has exactly 1 / (12 n) after n sweeps in the order xy, yz, xz."""
    labelled = labelled_from("and_gate")
    at = labels_of(labelled).index((1, 1, 0))
    for n, iterate in enumerate(single_sweeps(labelled.arrays, pt.IPF(), 50), 1):
        assert iterate.masses[at] / iterate.masses.sum() == pytest.approx(1 / (12 * n), rel=1e-13)


def test_ipf__and_gate_in_another_order_takes_another_way():
    labelled = labelled_from("and_gate")
    at = labels_of(labelled).index((1, 1, 0))
    masses = [iterate.masses[at] for iterate in single_sweeps(labelled.arrays, pt.IPF(order=(2, 1, 0)), 3)]
    assert masses[2] != pytest.approx(1 / 36, rel=1e-3)


def test_ipf__all_orders_of_pur_have_one_limit():
    problem = arrays_of("a")
    solvers = [pt.IPF(order=order) for order in permutations(range(3))]
    answers = [solved(problem, solver, tolerance=1e-14).iterate.masses for solver in solvers]
    assert max(variation(answers[0], other) for other in answers[1:]) <= 1e-12
    first = [next(single_sweeps(problem, solver, 1)).masses for solver in solvers]
    assert max(variation(one, other) for one, other in combinations(first, 2)) > 1e-3  # on different ways


@pytest.mark.parametrize("seed", range(8))
def test_ipf__sweeps_are_those_in_fractions(seed):
    case = random_case(Random(seed), count=3)
    labelled = labelled_from(case)
    pairs = list(zip(case.scopes, case.targets, strict=True))
    exact = oracles.ipf_half_steps(case.reference_masses, case.attributes, pairs, 3)
    labels = labels_of(labelled)
    for n, iterate in enumerate(single_sweeps(labelled.arrays, pt.IPF(), 3), 1):
        wanted = oracles.normalised(exact[n * len(pairs)])
        assert iterate.masses / iterate.masses.sum() == pytest.approx([float(wanted[p]) for p in labels], rel=1e-12)


@given(cases(spread=4))
def test_ipf__identity_of_the_paper_at_every_step(case):
    """D(p || p(n)) = D(p || p(n+1)) + D(p(n+1) || p(n)) for feasible p.

    The steps are the solver's, on each constraint alone.
    """
    labelled = labelled_from(case)
    feasible = oracles.normalised(case.feasible_masses)
    p = np.array([float(feasible[label]) for label in labels_of(labelled)])
    masses = starting_masses(labelled.arrays)
    for k in range(len(labelled.arrays.index)):
        alone = single_constraint(labelled.arrays, k, masses)
        after = next(single_sweeps(alone, pt.IPF(), 1)).masses
        log_step = np.log(after / masses)
        # D(p || masses) - D(p || after) is sum p log(after / masses), and so is D(after || masses)
        share = after / after.sum()
        assert p @ log_step == pytest.approx(share @ log_step, abs=4e-15 * (1 + np.abs(log_step).max()))
        masses = after


def starting_masses(problem):
    return iterate_at(problem, starting_potentials(problem)).masses


def single_constraint(problem, k, masses):
    """The problem of constraint k alone, from these masses."""
    system = problem.system
    block = system.block(k)
    alone = replace(
        system,
        index=system.index[k : k + 1],
        offsets=system.offsets[k : k + 2] - block.start,
        targets=system.targets[block],
        scopes=system.scopes[k : k + 1],
        row_codes=system.row_codes[k : k + 1],
    )
    return replace(problem, system=alone, reference=masses)


@pytest.mark.parametrize(("solver", "iterations"), FORMS.values(), ids=FORMS)
def test_ipf__stays_in_the_family_however_long(solver, iterations):
    problem = arrays_of(proxy(0.0501))  # next to the boundary at 0.05: slow
    iterate, left = iterate_at(problem, starting_potentials(problem)), iterations
    while left > 0:
        step = solver.step(problem, iterate, Budget(min(1000, left), -1.0, -1.0))
        iterate, left = step.iterate, left - step.iterations
    t = iterate.potentials.astype(np.longdouble)
    exact = problem.reference * np.exp(coefficients(problem).T.astype(np.longdouble) @ t)
    assert np.abs(iterate.masses / exact - 1).max() < 1e-14 * (1 + np.abs(t).max())


def test_ipf__drifts_off_the_family_without_folds():
    """What the folds are for: this fails to hold when masses are only scaled in place."""
    problem = arrays_of("a")
    rows = coefficients(problem)
    masses, t = problem.reference.copy(), np.zeros(problem.system.rows)
    for _ in range(3000):
        for k in range(3):
            block = problem.system.block(k)
            factor = problem.targets[block] / (rows[block] @ masses)
            masses, t[block] = masses * (rows[block].T @ factor), t[block] + np.log(factor)
    exact = problem.reference * np.exp(rows.T.astype(np.longdouble) @ t)
    assert np.abs(masses / exact - 1).max() > 2e-14 * (1 + np.abs(t).max())


def test_ipf__relaxation_1_is_the_plain_sweep_bit_by_bit():
    problem = arrays_of("a")
    plain, one = (solved(problem, pt.IPF(relaxation=r), tolerance=1e-10) for r in (1, 1.0))
    assert plain.iterate.potentials.tolist() == one.iterate.potentials.tolist()
    assert plain.iterations == one.iterations


def test_ipf__over_relaxation_and_acceleration_save_sweeps_where_it_is_slow():
    problem = arrays_of(proxy(0.051))
    plain = solved(problem, pt.IPF(), tolerance=1e-10).iterations
    relaxed = solved(problem, pt.IPF(relaxation=1.7), tolerance=1e-10).iterations
    accelerated = solved(problem, pt.IPF(acceleration="anderson"), tolerance=1e-10).iterations
    assert relaxed < plain / 4
    assert accelerated < plain / 30


@pytest.mark.parametrize("relaxation", [0.0, 2.0, -1.0, float("nan")])
def test_ipf__refuses_a_relaxation_that_does_not_converge(relaxation):
    with pytest.raises(InvalidOptionError, match=r"exponent in \(0, 2\)"):
        pt.IPF(relaxation=relaxation)


@pytest.mark.parametrize("acceleration", [0, -3, "aitken", 2.5])
def test_ipf__refuses_an_acceleration_that_is_none(acceleration):
    with pytest.raises(InvalidOptionError, match="acceleration must be None, 'anderson', or how many"):
        pt.IPF(acceleration=acceleration)


@pytest.mark.parametrize("order", [(0, 1), (0, 1, 1), (1, 2, 3)])
def test_ipf__refuses_an_order_that_is_no_permutation(order):
    with pytest.raises(InvalidOptionError, match=r"permutation of 0 \.\. 2"):
        solved(arrays_of("a"), pt.IPF(order=order))


def test_ipf__anderson_is_a_depth_of_ten():
    problem = arrays_of("a")
    named, ten = (solved(problem, pt.IPF(acceleration=how), tolerance=1e-12) for how in ("anderson", 10))
    assert named.iterate.potentials.tolist() == ten.iterate.potentials.tolist()
