"""Both ways to meet what a table misses: in fractions, and on a basis with a bound on what rounding leaves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import purtensor as pt
from purtensor.verification import repair
from purtensor.verification.evidence import gather
from purtensor.verification.exact_sums import Rows
from purtensor.verification.repair import InFractions, OnBasis, repair_of
from tests.laws.test_ill_conditioned import bridge, doubling_chain
from tests.verification.claimed import prove_of
from tests.verification.test_spanning import drawn


def exact_misses(rows, masses):
    missed = [Fraction(*target.as_integer_ratio()) for target in rows.targets]
    for own in rows.index:
        for profile, row in enumerate(own):
            missed[row] -= Fraction(*masses[profile].as_integer_ratio())
    return missed


@pytest.mark.parametrize("seed", range(30))
def test_repair__is_near_what_meets_all_rows_exactly(seed, monkeypatch):
    index, count, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    whole = rng.integers(1, 1 << 40, index.shape[1]).astype(np.longdouble)
    targets = np.zeros(count, dtype=np.longdouble)
    for own in index:
        np.add.at(targets, own, whole)
    constraint = np.concatenate([np.full(int(own.max() - own.min()) + 1, k) for k, own in enumerate(index)])
    rows = Rows(index, targets, constraint)
    masses = np.exp2(np.log2(whole) + rng.normal(size=len(whole)) * 1e-8)
    change = rng.normal(size=len(whole)).astype(np.longdouble)
    exact = repair_of(rows, masses.astype(np.float64))
    monkeypatch.setattr(repair, "MOST_WORK", 0)
    floats = repair_of(rows, masses.astype(np.float64))
    assert (type(exact), type(floats)) == (InFractions, OnBasis)
    one, other = exact.complete(masses, change), floats.complete(masses, change)
    assert one.left == 0
    assert (np.abs(one.masses - other.masses) <= one.rest + other.rest).all()
    assert all(abs(float(miss)) <= 1e-18 * float(targets.max()) for miss in exact_misses(rows, one.masses))
    assert other.rest.max() <= 1e-15 * float(whole.max())


def test_repair__in_fractions_gives_the_lightest_profile_what_is_its(monkeypatch):
    """A mass of 1e-300 that ties two parts together takes no rounding of the others, and never goes below 0."""
    index = np.array([[0, 0, 1, 1], [2, 3, 3, 4]])
    targets = np.array([1.5 + 2.0**-1000, 2.5, 1.5, 0.0, 2.5], dtype=np.longdouble)
    targets[3] = 2.0**-1000
    rows = Rows(index, targets, np.array([0, 0, 1, 1, 1]))
    masses = np.array([1.5, 2.0**-998, 2.0**-1000, 2.5], dtype=np.longdouble)
    found = repair_of(rows, masses.astype(np.float64)).complete(masses, np.zeros(4, dtype=np.longdouble))
    assert np.isfinite(found.rest).all()
    assert found.masses[1] + found.masses[2] == 2.0**-1000
    assert found.masses.min() >= 0


@pytest.mark.parametrize("case", [doubling_chain(8, 0), doubling_chain(12, 1), bridge(30, 1), bridge(40, 0)])
def test_prove__proves_much_the_same_both_ways(case, monkeypatch):
    result = pt.project(case.reference, case.constraints, tolerance=1e-6, max_iterations=200, on_failure="return")
    evidence = gather(result)
    exact = prove_of(evidence)
    monkeypatch.setattr(repair, "MOST_WORK", 0)
    floats = prove_of(evidence)
    assert floats.bound == pytest.approx(exact.bound, rel=1e-3)
    assert floats.tv_bound == pytest.approx(exact.tv_bound, rel=1e-3)
