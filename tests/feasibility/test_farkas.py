"""Whole weights as proofs: repaired, tidied, extended, and of one empty profile; C^T t and b.t in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import purtensor as pt
from purtensor.feasibility import conflict as emptied
from purtensor.feasibility.conflict import emptying_proof
from purtensor.feasibility.diagnose import diagnose_table
from purtensor.feasibility.farkas import extend_proof, fit_type, prove, round_to_whole, spread_whole, tidy
from tests.constraints.exact import dense_matrix

NAMES = ["staircase", "cut_3x3", "proxy", "and_gate"]


def spread(system, weights):
    return spread_whole(system.index, system.offsets, weights)


def found(name):
    problem = pt.problems.load(name)
    return diagnose_table(problem.reference, problem.constraints).evidence


def value(finding, weights):
    """b.t in fractions of the total mass."""
    targets = finding.decision.targets
    return sum((Fraction(int(t)) * int(b) for t, b in zip(weights, targets.numerators)), Fraction(0)) / (
        targets.denominator
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(5))
def test_prove__weights_are_raised_until_no_profile_costs_less_than_nothing(name, seed):
    finding = found(name)
    weights = np.random.default_rng(seed).integers(-3, 4, finding.system.rows)
    proof = prove(finding.system, finding.decision.targets, weights)
    matrix = dense_matrix(finding.system)
    assert (matrix.T @ proof.weights).tolist() == proof.costs.tolist()
    assert proof.costs.min() >= 0
    assert (proof.weights >= weights).all()
    assert proof.infeasible == (value(finding, proof.weights) < 0)
    assert not proof.infeasible or finding.decision.verdict == "infeasible"
    if value(finding, proof.weights) == 0:
        assert (proof.zeros == (proof.costs > 0)).all()


def test_prove__weights_beyond_int64_stay_exact():
    finding = found("cut_3x3")
    weights = fit_type(finding.decision.weights.astype(object) * 2**80, len(finding.system.scopes))
    assert weights.dtype == object
    proof = prove(finding.system, finding.decision.targets, weights)
    assert proof.infeasible
    assert proof.costs.tolist() == (spread(finding.system, finding.decision.weights).astype(object) * 2**80).tolist()
    lowered = weights.copy()
    lowered[-1] -= 2**90
    assert min(prove(finding.system, finding.decision.targets, lowered).costs) >= 0


@pytest.mark.parametrize("name", NAMES)
def test_tidy__is_the_same_proof_without_a_common_factor(name):
    finding = found(name)
    weights = 6 * np.random.default_rng(1).integers(-3, 4, finding.system.rows)
    plain = tidy(finding.system, weights)
    assert np.gcd.reduce(plain) == 1
    costs, before = (
        spread(finding.system, plain),
        spread(finding.system, weights),
    )
    factor = int(before[np.flatnonzero(before)[0]]) // int(costs[np.flatnonzero(costs)[0]])
    assert factor >= 6
    assert (factor * costs == before).all()
    for k in range(1, len(finding.system.scopes)):
        values, counts = np.unique(plain[finding.system.block(k)], return_counts=True)
        assert counts[values == 0].sum() == counts.max()


def test_extended__holds_on_the_profiles_that_were_emptied_before():
    finding = found("staircase")
    earlier = finding.decision.weights
    assert spread(finding.system, earlier).tolist() == [1, 0, 0]
    matrix = dense_matrix(finding.system)
    later = np.linalg.lstsq(matrix.T.astype(float), np.array([-7.0, 0.0, 1.0]), rcond=None)[0]
    later = np.rint(4 * later).astype(np.int64)
    assert (matrix.T @ later).min() < 0
    whole = extend_proof(finding.system, later, earlier)
    assert (matrix.T @ whole).min() >= 0
    assert value(finding, whole) == value(finding, later)  # b.t of the earlier weights is 0
    assert extend_proof(finding.system, later, None) is later


def test_rounded__refuses_what_is_no_number_or_no_whole_float():
    assert round_to_whole(np.array([0.4, -1.6]), 2.0).tolist() == [1, -3]
    assert round_to_whole(np.array([np.nan, 1.0]), 1.0) is None
    assert round_to_whole(np.array([1.0, 3.0]), 2.0**52) is None


def test_emptying_proof__needs_exactly_what_its_places_have():
    finding = found("staircase")
    proof = emptying_proof(finding.system, finding.decision.targets, 0)
    assert spread(finding.system, proof.weights).tolist() == [1, 0, 0]
    assert proof.needed == proof.room > 0
    assert proof.missing == 0


def test_emptying_proof__none_for_a_profile_that_may_have_mass_or_a_large_system(monkeypatch):
    finding = found("staircase")
    assert emptying_proof(finding.system, finding.decision.targets, 1) is None
    monkeypatch.setattr(emptied, "_LARGEST_PROGRAM", 0)
    assert emptying_proof(finding.system, finding.decision.targets, 0) is None
