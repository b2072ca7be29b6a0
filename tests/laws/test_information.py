"""Laws of the divergences, over random domains, supports, layouts and scales."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from tests import oracles
from tests.strategies import cases, pairs_of_tables

# sums are rounded once and every term is right to a few ulp: one ulp of double precision is 2.2e-16
CLOSE = 2e-15


@given(pairs_of_tables(spread=12))
def test_kl_divergence__equals_sixty_digits(drawn):
    case, p, q = drawn
    expected = oracles.kl(oracles.normalised(p), oracles.normalised(q))
    assert pt.kl_divergence(case.table(p), case.table(q)) == pytest.approx(expected, rel=CLOSE, abs=1e-32)


@given(cases(least=2), st.integers(4, 15), st.integers(0, 2**32))
def test_kl_divergence__keeps_its_digits_near_zero(case, digits, seed):
    random = Random(seed)
    p = case.feasible_masses
    q = {k: Fraction(float(v) * (1 + random.uniform(-1, 1) * 10.0**-digits)) for k, v in p.items()}
    expected = oracles.kl(oracles.normalised(p), oracles.normalised(q))
    answer = pt.kl_divergence(case.table(p), case.table(q))
    assert answer >= 0
    assert answer == pytest.approx(expected, rel=1e-13, abs=1e-46)


@given(cases(spread=300), cases(spread=300))
def test_kl_divergence__spans_the_range_of_floats(one, other):
    profiles = list(one.reference_masses)
    values = [*other.reference_masses.values()]
    q = {profile: values[i % len(values)] for i, profile in enumerate(profiles)}
    p = one.reference_masses
    expected = oracles.kl(oracles.normalised(p), oracles.normalised(q))
    assert pt.kl_divergence(one.table(p), one.table(q)) == pytest.approx(expected, rel=CLOSE, abs=1e-300)


@given(pairs_of_tables(), st.permutations(range(6)), st.integers(0, 2**32))
def test_measures__do_not_see_order_layout_or_scale_by_powers_of_two(drawn, order, seed):
    case, p, q = drawn
    names = tuple(case.attributes[i] for i in order if i < len(case.attributes))
    categories = {name: list(labels) for name, labels in zip(case.attributes, case.categories)}
    shuffled = list(oracles.reordered(q, case.attributes, names).items())
    Random(seed).shuffle(shuffled)
    for labels in categories.values():
        Random(seed).shuffle(labels)
    moved = replace(case, attributes=names, categories=tuple(tuple(categories[name]) for name in names), layout="dense")
    here, there = case.table(q), moved.table(dict(shuffled)) * 2.0**-40
    for measure in (pt.kl_divergence, pt.total_variation):
        assert measure(case.table(p), there) == measure(case.table(p), here)
        assert measure(there, case.table(p)) == measure(here, case.table(p))
    assert pt.entropy(there) == pt.entropy(here)


@given(pairs_of_tables())
def test_kl_divergence__is_zero_only_for_equal_shares(drawn):
    case, p, q = drawn
    assert pt.kl_divergence(case.table(p), 3 * case.table(p)) <= 1e-31
    same = oracles.normalised(p) == oracles.normalised(q)
    assert (pt.kl_divergence(case.table(p), case.table(q)) > 1e-20) != same


@given(pairs_of_tables(spread=6))
def test_total_variation__equals_fractions_and_meets_pinsker(drawn):
    case, p, q = drawn
    distance = pt.total_variation(case.table(p), case.table(q))
    expected = float(oracles.total_variation(oracles.normalised(p), oracles.normalised(q)))
    assert distance == pytest.approx(expected, rel=CLOSE, abs=1e-300)
    assert distance == pt.total_variation(case.table(q), case.table(p))
    assert 2 * distance**2 <= pt.kl_divergence(case.table(p), case.table(q)) * (1 + CLOSE)


@given(cases(spread=200))
def test_entropy__equals_sixty_digits(case):
    expected = oracles.entropy(oracles.normalised(case.reference_masses))
    assert pt.entropy(case.reference) == pytest.approx(expected, rel=CLOSE, abs=1e-300)


@given(cases(spread=3))
def test_entropy__is_log_of_the_profiles_less_the_divergence_from_uniform(case):
    profiles = len(case.reference_masses)
    uniform = case.table(dict.fromkeys(case.reference_masses, 1))
    identity = math.log(profiles) - pt.kl_divergence(case.reference, uniform)
    assert pt.entropy(case.reference) == pytest.approx(identity, rel=1e-14, abs=1e-14)


@given(cases(least=2, spread=4))
def test_kl_divergence__never_grows_by_marginalizing(case):
    scope = case.scopes[0]
    p, q = case.reference_masses, case.feasible_masses
    coarse = [case.table(oracles.marginal(masses, case.attributes, scope), scope) for masses in (p, q)]
    assert pt.kl_divergence(*coarse) <= pt.kl_divergence(case.table(p), case.table(q)) * (1 + CLOSE) + 1e-31


@given(cases(least=2, spread=4))
def test_kl_divergence__splits_at_every_half_step_of_ipf(case):
    """The paper's identity: D(p || p(n)) = D(p || p(n+1)) + D(p(n+1) || p(n)) for every p that meets the targets."""
    feasible = oracles.normalised(case.feasible_masses)
    constraints = [
        (scope, oracles.marginal(feasible, case.attributes, scope)) for scope in case.scopes
    ]  # two sweeps in fractions are enough: the law holds at each half-step on its own
    steps = oracles.ipf_half_steps(oracles.normalised(case.reference_masses), case.attributes, constraints, 2)
    tables = [case.table(step) for step in steps]
    p = case.table(feasible)
    for before, after in pairwise(tables):
        whole = pt.kl_divergence(p, before)
        parts = pt.kl_divergence(p, after) + pt.kl_divergence(after, before)
        assert whole == pytest.approx(parts, rel=1e-13, abs=1e-15)


class Projected:
    """Stands for a Projection: a reference, and its projection onto one marginal in closed form."""

    def __init__(self, case):
        target = oracles.marginal(case.feasible_masses, case.attributes, case.scopes[0])
        masses = oracles.scaled_to(case.reference_masses, case.attributes, case.scopes[0], target)
        self.reference, self.table = case.reference, case.table(masses)


@given(cases(least=2, spread=4))
def test_pythagorean_defect__is_zero_for_feasible_and_the_three_divergences_for_any(case):
    projected = Projected(case)
    assert abs(pt.pythagorean_defect(case.feasible, projected)) <= 1e-14
    p = case.table(dict.fromkeys(case.reference_masses, 1))
    first, second = pt.kl_divergence(p, projected.reference), pt.kl_divergence(p, projected.table)
    third = pt.kl_divergence(projected.table, projected.reference)
    size = max(first, second, third, 1e-2)
    assert pt.pythagorean_defect(p, projected) == pytest.approx(first - second - third, abs=1e-14 * size)


@given(cases(), st.integers(1, 40))
def test_kl_divergence__is_what_multiplicities_grow_by(case, thousands):
    """log mult(N p; q) = -N D(p || q) + O(log N), with the bounds of notes/multiplicity.md, eq. 3."""
    counts = {k: int(v) * thousands for k, v in case.feasible_masses.items()}
    q = {k: float(v) for k, v in oracles.normalised(case.reference_masses).items()}
    size, cells = sum(counts.values()), len(counts)
    p, reference = case.table(counts), case.table(case.reference_masses)
    rounding = 1e-15 * size * (20 + cells)  # of lgamma and of its large terms
    excess = oracles.log_multiplicity(counts, q) + size * pt.kl_divergence(p, reference)
    stirling = (math.log(2 * math.pi * size) - sum(math.log(2 * math.pi * n) for n in counts.values())) / 2
    lower = stirling + 1 / (12 * size + 1) - sum(1 / (12 * n) for n in counts.values())
    upper = stirling + 1 / (12 * size) - sum(1 / (12 * n + 1) for n in counts.values())
    assert lower - rounding <= excess <= min(upper, 0.0) + rounding
    assert excess >= -(cells - 1) * math.log(size + 1) - rounding
