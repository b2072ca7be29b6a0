"""What sweeps do as the pseudo-counts vanish: the statements of notes/small_pseudo_counts.md, one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.convergence.grouped_sweep import GroupedSweep, leading_eigenvalue
from purtensor.solving.loop import run
from purtensor.solving.problem import build_problem
from purtensor.solving.stopping import Stopping
from tests.convergence.test_prediction import table_of


def slabs(**masses):
    """A table over two responses, two protected profiles and the slabs A and B, from names such as A12."""
    table = np.zeros((2, 2, 2))
    for name, mass in masses.items():
        table[int(name[1]) - 1, int(name[2]) - 1, "AB".index(name[0])] = mass
    return table


def gap_of(masses):
    """1 - rho of PUR on the table itself, at its projection; the table is not scaled."""
    table = table_of(masses).copy(data=masses)
    problem = build_problem(table, pt.pur(table, response="y", protected="s")).arrays
    exact = run(problem, pt.Newton(), Stopping(1e-16, "residual", 80, math.inf)).iterate
    return leading_eigenvalue(GroupedSweep.at(problem, exact.masses)).gap.real


@pytest.mark.parametrize(("strength", "gap"), [(1e-2, 8.694e-4), (1e-3, 9.176e-6), (1e-4, 9.225e-8)])
def test_rank_drop__may_make_the_rate_quadratic(strength, gap):
    without = slabs(A12=1 / 8, A21=1 / 4, B11=1 / 4, B12=1 / 8, B22=1 / 4)
    pseudo = slabs(A11=3.0, A22=1.0)
    assert gap_of(without + strength * pseudo) == pytest.approx(gap, rel=1e-3)


@pytest.mark.parametrize(("strength", "scaled"), [(1e-4, 7.41), (1e-5, 7.89), (1e-6, 8.06)])
def test_implied_zeros__may_make_it_a_root(strength, scaled):
    limit = slabs(A11=1 / 4, A21=1 / 8, A22=1 / 8, B12=1 / 4, B21=1 / 8, B22=1 / 8)
    without = limit + slabs(A11=-0.05, A22=-0.05, A12=0.05, A21=0.05)
    pseudo = slabs(B11=1.0)
    assert gap_of(without + strength * pseudo) / math.sqrt(strength) == pytest.approx(scaled, abs=0.006)


@pytest.mark.parametrize(
    ("records", "constant", "grouped"), [(45_000, 0.578, 2.014), (9000, 0.645, 5.82), (3000, 0.764, 24.8)]
)
def test_b__has_a_rate_in_proportion_to_one_over_lambda(records, constant, grouped):
    problem = pt.problems.variant("b", records=records, strength=1e-6)
    found = pt.convergence.predict(problem.reference, problem.constraints, at="solution")
    assert found.sweeps_per_decade * 1e-6 == pytest.approx(constant, rel=2e-3)
    assert 0.85 < found.weakest.sweeps_per_decade / found.sweeps_per_decade < 1.01  # one link of several in its slab
    assert found.merged == pytest.approx(grouped, rel=3e-3)


def test_b__projections_tend_to_that_without_pseudo_counts():
    limit = pt.problems.variant("b", records=9000, strength=0.0)
    exact = pt.project(limit.reference, limit.constraints, solver=pt.Newton(), tolerance=1e-13)
    distances = []
    for strength in (1e-2, 1e-3, 1e-4):
        problem = pt.problems.variant("b", records=9000, strength=strength)
        found = pt.project(problem.reference, problem.constraints, solver=pt.Newton(), tolerance=1e-13)
        distances.append(pt.total_variation(found.table, exact.table))
    early, late = np.array(distances[:-1]) / distances[1:]
    assert 7.0 < early < late < 10.0  # in proportion to lambda in the end
