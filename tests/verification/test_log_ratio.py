"""The norm of the projection on the row space, and the largest log ratio, in the second opinion."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.verification.exact_sums import Rows
from purtensor.verification.log_ratio import MOST_PROFILES, log_ratio_from, norm_of_projection
from purtensor.verification.spanning import spanning_profiles
from tests import oracles
from tests.constraints.exact import dense_matrix
from tests.laws.test_ill_conditioned import doubling_chain
from tests.solving.drawn import labelled_problem, random_arrays


def rows_of(problem):
    index = problem.index.astype(np.int64) + problem.offsets[:-1, None]
    constraint = np.repeat(np.arange(len(index)), np.diff(problem.offsets))
    return Rows(index, problem.targets.astype(np.longdouble), constraint)


@pytest.mark.parametrize("seed", range(25))
def test_norm_of_projection__is_that_of_the_matrix(seed):
    problem = random_arrays(seed)
    rows, masses = rows_of(problem), problem.reference
    found = norm_of_projection(rows, spanning_profiles(rows.index, len(rows.targets), masses), masses, 1e-16)
    root = np.sqrt(masses)
    vectors, sizes, _ = np.linalg.svd((dense_matrix(problem.system).astype(float) * root).T, full_matrices=False)
    vectors = vectors[:, sizes > 1e-10 * sizes[0]]
    norm = np.abs((vectors @ vectors.T) * root / root[:, None]).sum(axis=1).max()
    assert norm * (1 - 1e-9) <= found <= norm * (1 + 1e-6)


def test_norm_of_projection__is_infinite_where_an_eigenvalue_is_rounding():
    """A profile of next to no mass frees a row: a cut at rounding would take the row for dependent."""
    index = np.array([[0, 0, 1, 1], [2, 3, 3, 4]])
    rows = Rows(index, np.ones(5, dtype=np.longdouble), np.array([0, 0, 1, 1, 1]))
    found = []
    for tie in (1e-3, 1e-20):
        masses = np.array([1.0, tie, 1.0, 1.0])
        found.append(norm_of_projection(rows, spanning_profiles(index, 5, masses), masses, 1e-16))
    assert found[0] == pytest.approx(1.0)  # as many independent rows as profiles: any table is in the row space
    assert found[1] == math.inf
    assert norm_of_projection(rows, None, np.ones(4), 1e-16) == math.inf


@pytest.mark.parametrize("norm", [1.0, 3.0, 40.0])
def test_log_ratio_from__solves_the_equation_or_says_that_there_is_none(norm):
    most = (1 + norm) * math.log1p(1 / norm) - 1
    for size in (1e-12, 0.1 * most, 0.9 * most):
        z = log_ratio_from(np.array([-size / 2]), np.array([size / (2 * norm)]), norm)
        assert z - norm * (math.exp(z) - 1 - z) == pytest.approx(size, rel=1e-3)
    assert log_ratio_from(np.array([1.1 * most]), np.zeros(1), norm) == math.inf


@pytest.mark.parametrize("case", ["PUR", "PUR without regularisation", "no freedom left", "cube"])
def test_verify__bounds_the_log_ratios_of_a_table(case):
    reference, constraints = labelled_problem(case)
    assert reference.size <= MOST_PROFILES
    result = pt.project(reference, constraints, solver=pt.IPF(), tolerance=1e-6)
    better = pt.project(reference, constraints, tolerance=1e-13, on_failure="return")
    one, other = (oracles.masses_of(table) for table in (result.table, better.table))
    truth = max(abs(math.log(other[profile] / mass)) for profile, mass in one.items())
    found = pt.verify(result).log_ratio_bound
    assert truth - better.log_ratio_bound <= found <= 1.5 * truth + 1e-9


def test_verify__bounds_no_log_ratio_where_the_condition_forbids_it():
    case = doubling_chain(28, 0)
    found = pt.verify(pt.project(case.reference, case.constraints))
    assert found.tv_bound < 1.0
    assert found.log_ratio_bound == math.inf or found.log_ratio_bound > 1e-9
