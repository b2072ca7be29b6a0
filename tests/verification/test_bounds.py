"""The least-norm feasible point and what it proves."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings

from purtensor.verification import least_norm
from purtensor.verification.bounds import excess, gap_terms
from purtensor.verification.evidence import gather
from purtensor.verification.exact_sums import EPS
from tests import oracles
from tests.strategies import cases
from tests.verification.claimed import after_sweeps, exact_shares, prove_of

WS = [-0.99, -0.5, -0.1001, -0.0999, -1e-3, -1e-9, 1e-12, 1e-4, 0.0999, 0.1001, 0.7, 20.0]


def evaluated(w, formula):
    with localcontext() as context:
        context.prec = 80
        return float(formula(Decimal(w)))


@pytest.mark.parametrize("w", WS)
def test_excess__equals_eighty_digits(w):
    expected = evaluated(w, lambda x: (1 + x) * (1 + x).ln() - x)
    assert float(excess(np.array([w], dtype=np.longdouble))[0]) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("w", WS)
def test_gap_terms__equal_eighty_digits(w):
    expected = evaluated(w, lambda x: (1 + x) * ((1 + x).ln() - x) - (1 + x) + x.exp())
    at = np.array([w], dtype=np.longdouble)
    # log(1 + w) - w loses digits of a small w, which `blur` is there to count
    assert float(gap_terms(at, at, 4 * EPS * np.abs(at))[0]) == pytest.approx(expected, rel=1e-9, abs=1e-36)
    assert float(gap_terms(at, at, 4 * EPS * np.abs(at))[0]) >= expected


def test_excess__is_one_where_all_mass_goes():
    assert excess(np.array([-1.0], dtype=np.longdouble))[0] == 1


@given(cases(most=4, spread=2))
def test_prove__finds_a_table_that_meets_the_constraints(case):
    claimed = after_sweeps(case, 3)
    proof = prove_of(gather(claimed))
    if proof.bound == math.inf:
        return
    shares = exact_shares(claimed.table)
    near = {k: float(mass) for k, mass in zip(shares, proof.masses, strict=True)}
    total = float(oracles.total(case.feasible_masses))
    for scope, target in zip(case.scopes, case.targets, strict=True):
        for row, value in oracles.marginal(near, case.attributes, scope).items():
            assert value == pytest.approx(float(target[row]), rel=1e-14, abs=1e-14 * total)


@settings(max_examples=15)
@given(cases(most=4, spread=1, kinds=("sparse", "full")))
def test_prove__dense_and_sparse_solves_agree(case):
    evidence = gather(after_sweeps(case, 2))
    dense = prove_of(evidence)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(least_norm, "MOST_DENSE", 0)
        sparse = prove_of(evidence)
    assert sparse.bound == pytest.approx(dense.bound, rel=1e-8, abs=1e-26)
    assert sparse.tv_bound == pytest.approx(dense.tv_bound, rel=1e-6, abs=1e-13)


def test_prove__is_within_a_small_factor_of_the_truth():
    ratios = []

    @settings(max_examples=60)
    @given(cases(least=3, most=4, spread=1, kinds=("full",)))
    def collect(case):
        claimed, answer = after_sweeps(case, 4), after_sweeps(case, 150)
        if prove_of(gather(answer)).tv_bound > 1e-12:
            return
        distance = float(oracles.total_variation(exact_shares(claimed.table), exact_shares(answer.table)))
        if 1e-7 < distance < 1e-3:
            ratios.append(prove_of(gather(claimed)).tv_bound / distance)

    collect()
    assert len(ratios) > 1
    assert min(ratios) >= 1 - 1e-5
    assert max(ratios) <= 2  # near convergence; far from it the feasible point may be far too
