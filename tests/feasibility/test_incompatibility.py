"""The share of the mass without a place: against the primal program, and its proof in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import purtensor as pt
from purtensor.feasibility import violation as module
from purtensor.feasibility.diagnose import memory_witness_of
from purtensor.feasibility.farkas import spread_whole
from tests.constraints.exact import dense_matrix


def diagnosed(name):
    problem = pt.problems.load(name)
    return pt.diagnose(problem.reference, problem.constraints)


@pytest.mark.parametrize(("name", "share"), [("cut_3x3", Fraction(1, 3)), ("proxy", Fraction(1, 5))])
def test_incompatibility__known_ones(name, share):
    found = diagnosed(name).incompatibility()
    assert found.proved == share
    assert found.value == pytest.approx(float(share), abs=1e-9)


@pytest.mark.parametrize("name", ["a", "staircase", "b_lam0"])
def test_incompatibility__is_nothing_where_the_constraints_can_be_met(name):
    found = diagnosed(name).incompatibility()
    assert found.value == pytest.approx(0.0, abs=1e-9)
    assert found.proved == 0


def drawn(seed):
    """Marginals of two tables on a support with holes: the first pair of one, the others of another."""
    rng = np.random.default_rng(seed)
    support = pt.as_table((rng.random((3, 3, 3)) < 0.6).astype(float), {name: [0, 1, 2] for name in "abc"})
    one, other = (support * rng.integers(1, 9, support.shape) for _ in range(2))
    other = other * (float(one.sum()) / float(other.sum()))
    share = rng.choice([0.0, 0.3, 1.0])
    mixed = (1 - share) * one + share * other
    return support, (*pt.marginals_of(one, "a b"), *pt.marginals_of(mixed, "c"), *pt.marginals_of(one, "a")), share


@pytest.mark.parametrize("seed", range(20))
def test_incompatibility__is_what_the_largest_mass_leaves(seed):
    support, constraints, share = drawn(seed)
    diagnosis = pt.diagnose(support, constraints)
    found = diagnosis.incompatibility()
    system = memory_witness_of(diagnosis).system
    matrix = dense_matrix(system).astype(float)
    targets = system.targets / system.targets[system.block(0)].sum()
    largest = -linprog(-np.ones(matrix.shape[1]), A_ub=matrix, b_ub=targets, method="highs").fun
    assert found.value == pytest.approx(1.0 - largest, abs=1e-9)
    assert -1e-12 <= found.value <= share + 1e-9
    assert (found.value > 1e-9) == (diagnosis.verdict is pt.Verdict.INFEASIBLE)


@pytest.mark.parametrize("name", ["cut_3x3", "proxy", "b_inf"])
def test_incompatibility__weights_prove_it(name):
    diagnosis = diagnosed(name)
    found = diagnosis.incompatibility()
    finding = memory_witness_of(diagnosis)
    assert found.weights.min() >= 0
    assert spread_whole(finding.system.index, finding.system.offsets, found.weights).min() >= found.unit
    assert found.proved == 1 - finding.decision.targets.dot(found.weights) / found.unit
    assert 0 < found.proved <= Fraction(found.value) + Fraction(1, 10**9)
    assert float(found.proved) == pytest.approx(found.value, abs=1e-8)


def test_incompatibility__without_the_program_is_none(monkeypatch):
    monkeypatch.setattr(module, "covering_weights", lambda system: None)
    assert diagnosed("proxy").incompatibility() is None
