"""What sweeps do as the pseudo-counts vanish: the statements of notes/small_pseudo_counts.md, one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.convergence.grouped_sweep import GroupedSweep, leading_eigenvalue
from purtensor.solving.problem import build_problem
from purtensor.solving.solve import run
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


def test_limit__has_the_least_mass_on_pseudo_profiles_where_it_needs_some():
    """Slab A has its diagonal only, B all profiles; parity moves .5 off the diagonals, of which B takes its .2."""
    without = slabs(A11=0.4, A22=0.4, B11=0.05, B12=0.05, B21=0.05, B22=0.05)
    pseudo = slabs(A12=1.0, A21=3.0)
    off = []
    for strength in (1e-3, 1e-5, 1e-7):
        table = table_of(without + strength * pseudo)
        found = pt.project(table, pt.pur(table, response="y", protected="s"), tolerance=1e-13)
        off.append(float(found.table.values[0, 1, 0] + found.table.values[1, 0, 0]) - 0.3)
    assert 0 < off[2] < off[1] < off[0]
    assert off[2] < 1e-3


def dimension(functions):
    return int(np.linalg.matrix_rank(functions)) if functions.size else 0


def shared_with_slabs(held):
    """dim J on a support: functions of (y,s) that are sums of functions of (y,x) and of (s,x)."""
    codes = np.argwhere(held)
    parity, *others = (
        np.all(codes[:, None, pair] == np.unique(codes[:, pair], axis=0), axis=2).astype(float)
        for pair in ([0, 1], [0, 2], [1, 2])
    )
    slabwise = np.hstack(others)
    return dimension(parity) + dimension(slabwise) - dimension(np.hstack([parity, slabwise]))


def test_implied_zeros__drop_the_rank_of_parity():
    rng, seen = np.random.default_rng(0), 0
    while seen < 8:
        limit = 2 * rng.integers(1, 6, (2, 2, 3))
        places = rng.integers(0, 2, 3)
        limit[places, places, range(3)] = 0  # each slab has as little on its diagonal as its sums allow
        joint = limit.sum(axis=2)
        if joint[0, 0] * joint[1, 1] != joint[0, 1] * joint[1, 0] or not joint.all():
            continue
        observed = limit + np.array([[1, -1], [-1, 1]])[:, :, None]  # the same sums, and no zeros
        table = table_of(observed)
        found = pt.diagnose(table, pt.pur(table, response="y", protected="s"))
        assert found.verdict is pt.Verdict.BOUNDARY
        assert found.implied_zeros.size == 3
        assert shared_with_slabs(limit > 0) > shared_with_slabs(observed > 0) == 3
        seen += 1
