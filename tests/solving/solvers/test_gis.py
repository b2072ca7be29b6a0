from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.problem import build_problem
from tests.solving.drawn import arrays_of, coefficients, single_sweeps, solved, variation


def test_gis__does_not_care_for_the_order_of_the_constraints():
    named = pt.problems.load("a")
    answers = []
    for constraints in (named.constraints, named.constraints[::-1]):
        labelled = build_problem(named.reference, constraints)
        outcome = solved(labelled.arrays, pt.GIS(), tolerance=1e-10)
        by_profile = np.empty(len(labelled.profiles))
        by_profile[labelled.profiles] = outcome.iterate.masses
        answers.append((outcome.iterations, by_profile))
    assert answers[0][0] == answers[1][0]
    assert answers[0][1] == pytest.approx(answers[1][1], rel=1e-12)


def test_gis__of_one_constraint_is_ipf():
    table = pt.problems.load("a").reference
    alone = build_problem(pt.uniform(table), pt.marginals_of(table, [("y", "x")])).arrays
    one, other = (solved(alone, solver, tolerance=1e-14) for solver in (pt.GIS(), pt.IPF()))
    assert one.iterations == other.iterations == 1
    assert variation(one.iterate.masses, other.iterate.masses) <= 1e-15


def test_gis__each_iterate_moves_all_constraints_by_a_kth_of_their_ratio():
    problem = arrays_of("a")
    matrix = coefficients(problem)
    before = None
    for iterate in single_sweeps(problem, pt.GIS(), 3):
        if before is not None:
            ratio = problem.targets / (matrix @ before.masses)
            moved = before.masses * np.exp(matrix.T @ np.log(ratio) / 3)
            assert iterate.masses == pytest.approx(moved * (problem.total / moved.sum()), rel=1e-12)
        before = iterate


def test_gis__is_slower_than_sweeps_by_the_number_of_constraints_at_least():
    problem = arrays_of("a")
    one, other = (solved(problem, solver, tolerance=1e-10).iterations for solver in (pt.GIS(), pt.IPF()))
    assert one > 3 * other
