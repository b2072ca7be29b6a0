"""Laws of the projection over problems of every verdict, on references that vary over up to 10^300."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import purtensor as pt
from tests import oracles
from tests.feasibility.oracle import decide
from tests.strategies import cases, problems, random_masses

EXAMPLES = 3000 if settings.get_current_profile_name() == "thorough" else 12
ROUNDING = 2e-15  # of sums over at most 48 profiles, as a share of the total

some = settings(max_examples=EXAMPLES)


@dataclass(frozen=True)
class Nothing:
    """Stands for the answer where targets leave no profile at all: even on_failure="return" has no table to return."""

    termination = pt.results.Termination.INFEASIBLE
    converged = certified = False
    table = None


def answered(case, **options):
    """The projection however it ends, its ending counted; a limit, as some references ask for very many sweeps."""
    options = {"max_iterations": 2000} | options
    try:
        result = pt.project(case.reference, case.constraints, on_failure="return", **options)
    except pt.InfeasibleError:
        event("no profile is left, verdict infeasible")
        return Nothing()
    verdict = result.diagnosis.verdict.value if result.diagnosis else "not asked"
    event(f"{result.termination.name}, verdict {verdict}")
    return result


def masses(result):
    return {profile: float(mass) for profile, mass in oracles.normalised(oracles.masses_of(result.table)).items()}


def distance(one, other):
    return sum(abs(one.get(profile, 0.0) - other.get(profile, 0.0)) for profile in {*one, *other}) / 2


def proved_equal(one, other):
    """Whether two answers are as close as their certificates say; problems without a proof are not judged."""
    if not (one.converged and other.converged and one.certified and other.certified):
        return True
    return distance(masses(one), masses(other)) <= one.tv_bound + other.tv_bound + ROUNDING


def rows_of(case):
    """The coefficient matrix over the reference's profiles and the exact targets."""
    matrix, values = [], []
    for scope, target in zip(case.scopes, case.targets, strict=True):
        at = [case.attributes.index(name) for name in scope]
        own = [tuple(profile[i] for i in at) for profile in case.reference_masses]
        for row in dict.fromkeys([*own, *target]):
            matrix.append([int(label == row) for label in own])
            values.append(Fraction(target.get(row, 0)))
    return matrix, values


@some
@given(case=problems(spreads=(0, 3)))
def test_project__ends_as_exact_arithmetic_says(case):
    verdict = decide(*rows_of(case)).verdict
    result = answered(case)
    if verdict == "infeasible":
        assert result.termination is pt.results.Termination.INFEASIBLE
    else:
        assert result.converged


@some
@given(case=problems())
def test_project__never_claims_what_is_not_so(case):
    """Whatever the ending: profiles of the reference alone, finite masses, and a residual that is the table's own."""
    result = answered(case, max_iterations=3000)
    if result.table is None:
        return
    table = oracles.masses_of(result.table)
    assert set(table) <= set(case.reference_masses)
    worst = Fraction(0)
    for scope, target in zip(case.scopes, case.targets, strict=True):
        found, total = oracles.marginal(table, case.attributes, scope), oracles.total(target)
        worst = max(worst, *(abs(found.get(row, 0) - target.get(row, 0)) / total for row in {*found, *target}))
    assert float(worst) == pytest.approx(result.residual, rel=1e-6, abs=ROUNDING)
    assert not result.converged or worst <= 1.01e-10
    if decide(*rows_of(case)).verdict == "infeasible":
        assert not result.converged
    else:
        assert result.termination is not pt.results.Termination.INFEASIBLE


@some
@given(case=problems(most=3, spreads=(0, 3)))
def test_project__certificate_holds_against_fifty_digits(case):
    matrix, targets = rows_of(case)
    answer = decide(matrix, targets)
    if answer.verdict == "infeasible" or len(matrix[0]) > 24:
        return
    left = [j for j in range(len(matrix[0])) if j not in answer.zeros]
    profiles, reference = list(case.reference_masses), list(case.reference_masses.values())
    rows = [[row[j] for j in left] for row in matrix]
    exact, _ = oracles.projection([reference[j] for j in left], rows, targets, digits=50)
    q = {profiles[j]: Fraction(mass) for j, mass in zip(left, exact, strict=True)}
    q = oracles.normalised(q)
    for solver in (pt.IPF(), None):
        result = answered(case, solver=solver, max_iterations=500)
        p = oracles.normalised(oracles.masses_of(result.table))
        assert float(oracles.total_variation(q, p)) <= result.tv_bound * (1 + 1e-9) + ROUNDING
        assert oracles.kl(q, p) <= result.bound * (1 + 1e-6) + 1e-28


@some
@given(case=problems())
def test_project__is_idempotent(case):
    first = answered(case)
    if first.converged:
        again = answered(replace(case, reference_masses=oracles.masses_of(first.table)))
        assert again.converged
        assert distance(masses(first), masses(again)) <= 1e-8
        assert proved_equal(first, again)
    else:  # 2,000 iterations are no promise where masses vary over 10^300: then the ending says so
        assert first.termination in (
            pt.results.Termination.INFEASIBLE,
            pt.results.Termination.STALLED,
            pt.results.Termination.ITERATION_LIMIT,
        )


@some
@given(case=problems(), seed=st.integers(0, 2**32))
def test_project__sees_no_order_label_or_layout(case, seed):
    random = Random(seed)
    order = random.sample(range(len(case.attributes)), len(case.attributes))
    fresh = {
        name: {label: f"{name} {i}" for i, label in enumerate(random.sample(labels, len(labels)))}
        for name, labels in zip(case.attributes, case.categories, strict=True)
    }

    def moved_masses(table):
        renamed = [
            (tuple(fresh[case.attributes[i]][profile[i]] for i in order), mass) for profile, mass in table.items()
        ]
        random.shuffle(renamed)
        return dict(renamed)

    names = tuple(case.attributes[i] for i in order)
    moved = replace(
        case,
        attributes=names,
        categories=tuple(tuple(random.sample(list(fresh[name].values()), len(fresh[name]))) for name in names),
        reference_masses=moved_masses(case.reference_masses),
        feasible_masses=moved_masses(case.feasible_masses),
        scopes=tuple(tuple(random.sample(scope, len(scope))) for scope in random.sample(case.scopes, len(case.scopes))),
        layout="dense" if case.layout == "sparse" else "sparse",
    )
    here, there = answered(case), answered(moved)
    assert (here.table is None) == (there.table is None)
    if here.table is None:
        return
    assert (here.termination is pt.results.Termination.INFEASIBLE) == (
        there.termination is pt.results.Termination.INFEASIBLE
    )
    back = {tuple(profile[order.index(i)] for i in range(len(order))): mass for profile, mass in masses(there).items()}
    renamed = {
        tuple(fresh[name][label] for name, label in zip(case.attributes, profile, strict=True)): mass
        for profile, mass in masses(here).items()
    }
    if here.converged and there.converged and here.certified and there.certified:
        assert distance(renamed, back) <= here.tv_bound + there.tv_bound + ROUNDING


@some
@given(case=problems(spreads=(0, 3)), power=st.integers(-300, 300), factor=st.floats(0.1, 10.0))
def test_project__scale_of_the_reference_changes_nothing(case, power, factor):
    here = answered(case)
    if here.table is None:
        return
    by_power = pt.project(case.reference * 2.0**power, case.constraints, on_failure="return", max_iterations=2000)
    assert by_power.table.identical(here.table.assign_attrs(by_power.table.attrs))
    scaled = pt.project(case.reference * factor, case.constraints, on_failure="return", max_iterations=2000)
    assert scaled.termination.converged == here.termination.converged
    assert proved_equal(here, scaled)


@some
@given(case=problems(spreads=(0, 3)))
def test_project__pythagoras_for_the_table_of_the_targets(case):
    result = answered(case, tolerance=1e-12)
    inside = set(case.feasible_masses) <= set(case.reference_masses)
    if result.converged and inside:
        whole = pt.kl_divergence(case.feasible, case.reference)
        parts = pt.kl_divergence(case.feasible, result.table) + result.divergence
        assert whole == pytest.approx(parts, abs=1e-8 * (1 + whole))


@some
@given(case=problems(spreads=(0, 3)))
def test_project__every_step_of_ipf_gains(case):
    """The dual never falls, and is never above the divergence of a table that meets the targets."""
    result = answered(case, solver=pt.IPF(), max_iterations=50, certificate=False)
    if result.table is None:
        return
    dual = result.trace.dual.values
    size = 1.0 + np.abs(dual).max(initial=0.0)
    assert all(after >= before - 1e-13 * size for before, after in pairwise(dual))
    if set(case.feasible_masses) <= set(case.reference_masses):
        assert dual.max(initial=0.0) <= pt.kl_divergence(case.feasible, case.reference) + 1e-12 * size


@some
@given(case=problems(least=2, spreads=(0, 3)))
def test_project__more_constraints_never_lower_the_divergence(case):
    few = replace(case, scopes=case.scopes[:1])
    fewer, all_of_them = answered(few), answered(case)
    if fewer.termination is pt.results.Termination.INFEASIBLE:
        assert all_of_them.termination is pt.results.Termination.INFEASIBLE
    if fewer.converged and all_of_them.converged:
        assert all_of_them.divergence >= fewer.divergence - 1e-8


@some
@given(case=cases(least=2, spread=3), seed=st.integers(0, 2**32))
def test_project__merging_categories_outside_of_all_constraints_commutes(case, seed):
    random = Random(seed)
    outside = random.choice(case.attributes)
    at = case.attributes.index(outside)
    scopes = tuple(scope for scope in case.scopes if outside not in scope)
    if not scopes:
        return
    case = replace(case, scopes=scopes)
    groups = {label: random.choice(case.categories[at][:2]) for label in case.categories[at]}

    def merged(table):
        sums = {}
        for profile, mass in table.items():
            own = (*profile[:at], groups[profile[at]], *profile[at + 1 :])
            sums[own] = sums.get(own, 0) + mass
        return sums

    coarse = replace(case, reference_masses=merged(case.reference_masses), feasible_masses=merged(case.feasible_masses))
    fine, small = answered(case), answered(coarse)
    assert fine.converged
    assert small.converged
    assert distance(merged(masses(fine)), masses(small)) <= fine.tv_bound + small.tv_bound + ROUNDING


@some
@given(case=cases(least=2, spread=3), seed=st.integers(0, 2**32))
def test_project__attributes_outside_of_all_constraints_keep_their_conditional(case, seed):
    """p(outside given the others) is that of the reference, exactly the same factor in each of its profiles."""
    outside = Random(seed).choice(case.attributes)
    scopes = tuple(scope for scope in case.scopes if outside not in scope)
    if not scopes:
        return
    result = answered(replace(case, scopes=scopes))
    at, found = case.attributes.index(outside), {}
    for profile, mass in masses(result).items():
        ratio = mass / float(case.reference_masses[profile])
        found.setdefault((*profile[:at], *profile[at + 1 :]), []).append(ratio)
    for ratios in found.values():
        assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-13)


@some
@given(case=cases(spread=3), seed=st.integers(0, 2**32), factor=st.integers(1, 10**6))
def test_project__is_that_of_any_table_of_the_same_family(case, seed, factor):
    """Multiplying the reference by a factor for each profile of one scope, and all targets by one, changes nothing."""
    scope = Random(seed).choice(case.scopes)
    at = [case.attributes.index(name) for name in scope]
    rows = list(dict.fromkeys(tuple(profile[i] for i in at) for profile in case.reference_masses))
    factors = random_masses(Random(seed), rows)
    tilted = {p: mass * factors[tuple(p[i] for i in at)] for p, mass in case.reference_masses.items()}
    more = {profile: mass * factor for profile, mass in case.feasible_masses.items()}
    here, there = answered(case), answered(replace(case, reference_masses=tilted, feasible_masses=more))
    assert here.converged
    assert there.converged
    assert proved_equal(here, there)
