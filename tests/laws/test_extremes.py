"""A grid over the ends of the range of floats: every answer certified, and its bound true against 60 digits."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import purtensor as pt
from tests import oracles
from tests.strategies import table_from

NAMES = ("y", "s", "x")
CATEGORIES = [("no", "yes"), ("f", "m"), ("a", "b", "c")]
PROFILES = oracles.all_profiles(CATEGORIES)
COUNTS = dict(zip(PROFILES, (40, 30, 2, 12, 5, 9, 10, 20, 6, 30, 1, 2), strict=True))
OTHERS = dict(zip(PROFILES, reversed(COUNTS.values()), strict=True))
ALL_PAIRS = (("y", "s"), ("y", "x"), ("s", "x"))

SOLVERS = {"IPF": pt.IPF(), "Newton": pt.Newton(), "chosen": None}


def some_daily(daily, others):
    """Parameters of which some are tried every day, the others by the slow tests."""
    return [*daily, *(pytest.param(value, marks=pytest.mark.slow) for value in others)]


each_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)

SWEEPS = {
    "under-relaxed": pt.IPF(relaxation=0.7),
    "over-relaxed": pt.IPF(relaxation=1.5),
    "self-tuned": pt.IPF(relaxation="auto"),
    "Anderson": pt.IPF(acceleration=5),
    "both": pt.IPF(relaxation=1.3, acceleration="anderson"),
    "GIS": pt.GIS(),
}
each_sweep = pytest.mark.parametrize("solver", SWEEPS.values(), ids=SWEEPS)
"""These have logarithmic forms of their own."""

ROUNDING = 1e-15
"""Of comparing: masses of the table are float64 numbers, and so are their total and the bound."""

NATS = 1e-13
"""What rounding of the targets is in nats, where the answer's mass is e^-100 of the table's on some profile."""


def tabled(masses, names=NAMES, layout="sparse"):
    return table_from(names, [CATEGORIES[NAMES.index(name)] for name in names], masses, layout)


def constraints_of(masses, scopes):
    return [pt.Marginal(tabled(oracles.marginal(masses, NAMES, scope), scope)) for scope in scopes]


def exact_answer(reference, constraints, digits=oracles.DIGITS):
    """The projection in decimals, as fractions of the total; targets are taken as the float64 numbers that they are."""
    masses = oracles.masses_of(reference)
    matrix, targets = [], []
    for constraint in constraints:
        scope = oracles.attributes_of(constraint.target)
        at = [NAMES.index(name) for name in scope]
        for label, target in oracles.masses_of(constraint.target).items():
            matrix.append([int(tuple(profile[i] for i in at) == label) for profile in masses])
            targets.append(target)
    found, _ = oracles.projection(list(masses.values()), matrix, targets, digits)
    return oracles.normalised({profile: Fraction(value) for profile, value in zip(masses, found, strict=True)})


def judged(result, exact, slack=Fraction(0), nats=NATS):
    """Compare a result with the exact answer, known to within `slack` in total variation, and have it verified."""
    assert result.termination is pt.results.Termination.CONVERGED, result.termination.value
    p = oracles.normalised(oracles.masses_of(result.table))
    distance = oracles.total_variation(exact, p)
    assert result.certified
    assert distance <= Fraction(result.tv_bound) + slack + Fraction(ROUNDING)
    assert distance <= 1e-5
    here = {
        profile: mass for profile, mass in exact.items() if profile in p
    }  # the others are below 5e-324 of the total
    assert oracles.kl(here, p) <= result.bound + nats
    seen = pt.verify(result)
    assert seen.passed, seen.failures


@cache
def pairs_answer():
    return exact_answer(tabled(COUNTS), constraints_of(OTHERS, ALL_PAIRS))


def with_a_small_row(power, scope):
    """A reference of which one row is scaled by a power of two."""
    at = [NAMES.index(name) for name in scope]
    first = tuple(PROFILES[0][i] for i in at)
    return tabled(
        {
            profile: mass * (Fraction(1, 2**power) if tuple(profile[i] for i in at) == first else 1)
            for profile, mass in COUNTS.items()
        }
    )


each_scope = pytest.mark.parametrize("scope", [("y",), ("s", "x"), ("y", "s")], ids="".join)


@pytest.mark.parametrize("power", some_daily([0, 332, 1074], [100, 665, 997]))
@each_scope
@each_solver
def test_extremes__rows_of_the_reference_down_to_denormals(power, scope, solver):
    """Scaling rows of a constraint by powers of two changes no digit of the answer: their potentials take it."""
    reference = with_a_small_row(power, scope)
    result = pt.project(reference, constraints_of(OTHERS, ALL_PAIRS), solver=solver, on_failure="return")
    judged(result, pairs_answer())


@pytest.mark.parametrize("power", some_daily([510, 1074], [490, 997, 1030]))
@each_scope
@each_sweep
def test_extremes__rows_of_the_reference_down_to_denormals_by_other_sweeps(power, scope, solver):
    """Factors of some rows are beyond float64 from 2^-1024 on; before, these ended as not finite."""
    reference = with_a_small_row(power, scope)
    result = pt.project(reference, constraints_of(OTHERS, ALL_PAIRS), solver=solver, on_failure="return")
    judged(result, pairs_answer())


def tied(smallest):
    """A table that falls apart but for three profiles of very small mass."""
    return {profile: Fraction(smallest) if i % 5 == 0 else mass for i, (profile, mass) in enumerate(COUNTS.items())}


@cache
def tied_answer(smallest):
    return exact_answer(tabled(tied(smallest)), constraints_of(OTHERS, ALL_PAIRS), 60 + (40 if smallest < 1e-9 else 0))


def test_extremes__ties_weaker_than_1e_30_give_one_answer():
    """What the next test takes as exact: the masses that are not next to nothing do not change any more."""
    assert oracles.total_variation(tied_answer(1e-20), tied_answer(1e-30)) < 1e-19


@pytest.mark.parametrize("smallest", [1e-30, 1e-100, 1e-200, 1e-300, 5e-324])
@each_solver
def test_extremes__what_ties_a_reference_together_down_to_denormals(smallest, solver):
    """At 1e-30 rounding decides whether the end of `None` has a certificate; without one, going on brings it."""
    reference, constraints = tabled(tied(smallest)), constraints_of(OTHERS, ALL_PAIRS)
    result = pt.project(reference, constraints, solver=solver, on_failure="return")
    if (smallest, solver, result.certified) == (1e-30, None, False):
        result = pt.project(reference, constraints, start=result, tolerance=1e-6, stop_on="tv_bound")
    judged(result, tied_answer(1e-30), Fraction(1, 10**25))
    assert result.iterations <= (2500 if isinstance(solver, pt.IPF) else 150)


@pytest.mark.parametrize("smallest", some_daily([1e-30, 5e-324], [1e-200, 1e-300]))
@each_sweep
def test_extremes__what_ties_a_reference_together_by_other_sweeps(smallest, solver):
    """They take so many iterations for each power of ten that the ties are weaker, which is all that ends them late."""
    result = pt.project(
        tabled(tied(smallest)),
        constraints_of(OTHERS, ALL_PAIRS),
        solver=solver,
        max_iterations=20_000,
        on_failure="return",
    )
    judged(result, tied_answer(1e-30), Fraction(1, 10**25))
    digits = -math.log10(smallest)
    most = 31 * digits + 300 if isinstance(solver, pt.GIS) else 10.2 * digits + 100
    assert result.iterations <= most
    if isinstance(solver, pt.GIS):
        assert result.iterations >= 30 * digits + 200


def independent_targets(ratio):
    """b(y, s) and b(x) with such a ratio between some targets, and their product, the projection of the uniform."""
    pairs = {("no", "f"): ratio, ("no", "m"): 2.0, ("yes", "f"): ratio, ("yes", "m"): 2.0}
    alone = {("a",): ratio, ("b",): ratio, ("c",): 4.0}
    constraints = [pt.Marginal(tabled(pairs, ("y", "s"))), pt.Marginal(tabled(alone, ("x",)))]
    own, others = (oracles.normalised({key: Fraction(b) for key, b in one.items()}) for one in (pairs, alone))
    return constraints, {(y, s, x): own[y, s] * others[(x,)] for y, s, x in PROFILES}


@pytest.mark.parametrize("ratio", [1e-300, 1e-200, 1e-100, 1e-30, 1e-12, 1e-6, 1.0])
@each_solver
def test_extremes__ratios_of_targets(ratio, solver):
    """b(y, s) and b(x) of a reference whose attributes are independent: the answer is their product."""
    constraints, exact = independent_targets(ratio)
    result = pt.project(tabled(dict.fromkeys(PROFILES, 1.0)), constraints, solver=solver, on_failure="return")
    judged(result, exact, nats=0.0)


@pytest.mark.parametrize("ratio", some_daily([1e-310, 1e-150, 1e-18, 1e-6], [1e-300, 1e-200, 1e-100, 1e-30, 1e-12]))
@pytest.mark.parametrize(
    "solver", [*SWEEPS.values(), pt.LBFGS(), pt.Newton(warm_up=0)], ids=[*SWEEPS, "LBFGS", "Newton at once"]
)
def test_extremes__ratios_of_targets_by_other_solvers(ratio, solver):
    """A residual of 1e-10 says nothing of targets below: they are met to it, and what is not proved is not claimed."""
    constraints, exact = independent_targets(ratio)
    result = pt.project(tabled(dict.fromkeys(PROFILES, 1.0)), constraints, solver=solver, on_failure="return")
    assert result.converged
    p = oracles.normalised(oracles.masses_of(result.table))
    assert oracles.total_variation(exact, p) <= 1e-9
    assert result.certified == (result.tv_bound < 1.0)
    assert oracles.total_variation(exact, p) <= Fraction(result.tv_bound) + Fraction(ROUNDING)
    assert all(np.isfinite(one.values).all() for one in result.potentials)


@pytest.mark.parametrize("ratio", some_daily([1e-310, 1e-100, 1e-12], [1e-300, 1e-30]))
@each_sweep
def test_extremes__ratios_of_targets_proved(ratio, solver):
    """Asked for a proof, sweeps go on until the small targets are met as well."""
    constraints, exact = independent_targets(ratio)
    result = pt.project(
        tabled(dict.fromkeys(PROFILES, 1.0)),
        constraints,
        solver=solver,
        stop_on="tv_bound",
        tolerance=1e-9,
        on_failure="return",
    )
    judged(result, exact, nats=1e-17)


def with_a_small_category(ratio):
    return constraints_of({p: mass * Fraction(ratio if p[2] == "a" else 1) for p, mass in OTHERS.items()}, ALL_PAIRS)


@cache
def small_category_answer(ratio):
    return exact_answer(tabled(COUNTS), with_a_small_category(ratio), 60 if ratio > 1e-9 else 100)


@pytest.mark.parametrize("ratio", [1e-300, 1e-200, 1e-100, 1e-30, 1e-3])
@each_solver
def test_extremes__a_category_whose_targets_are_next_to_nothing(ratio, solver):
    """Beside 1e-30 and less of their mass, the answer on the other categories is that without it."""
    result = pt.project(tabled(COUNTS), with_a_small_category(ratio), solver=solver, on_failure="return")
    judged(result, small_category_answer(max(ratio, 1e-30)), Fraction(1, 10**25))


@pytest.mark.parametrize("ratio", some_daily([1e-310, 1e-100, 1e-18, 1e-3], [1e-300, 1e-200, 1e-30]))
@each_sweep
def test_extremes__a_category_whose_targets_are_next_to_nothing_by_other_sweeps(ratio, solver):
    result = pt.project(tabled(COUNTS), with_a_small_category(ratio), solver=solver, on_failure="return")
    exact = small_category_answer(max(ratio, 1e-30))
    judged(result, exact, Fraction(1, 10**25))


@pytest.mark.parametrize("ratio", [1e-310, 1e-300, 1e-100, 1e-30])
@pytest.mark.parametrize("solver", [pt.LBFGS(), pt.Newton(warm_up=0)], ids=["LBFGS", "Newton at once"])
def test_extremes__a_small_category_without_sweeps_ends_by_name(ratio, solver):
    """What is far from the answer in some rows alone is hard for these: they end well, or say how they ended."""
    result = pt.project(
        tabled(COUNTS), with_a_small_category(ratio), solver=solver, max_iterations=500, on_failure="return"
    )
    named = (pt.results.Termination.CONVERGED, pt.results.Termination.STALLED, pt.results.Termination.ITERATION_LIMIT)
    assert result.termination in named
    assert result.converged == (result.residual <= 1e-10)
    distance = oracles.total_variation(
        small_category_answer(max(ratio, 1e-30)), oracles.normalised(oracles.masses_of(result.table))
    )
    assert distance <= Fraction(result.tv_bound) + Fraction(ROUNDING)


@cache
def regularized(people, strength):
    counts = {profile: count * people for profile, count in COUNTS.items() if profile != ("yes", "m", "b")}
    f = pt.regularize(tabled(counts), strength, response="y")
    constraints = pt.pur(f, response="y", protected="s")
    return f, constraints, exact_answer(f, constraints)


@pytest.mark.parametrize("strength", [1e-12, 1e-4, 1.0, 1e6])
@pytest.mark.parametrize("people", [1, 10**6, 10**13])
@each_solver
def test_extremes__people_and_strengths(people, strength, solver):
    """167 to 1.7e15 people, one profile unseen: it has from 1e-27 of the mass to as much as the others."""
    f, constraints, exact = regularized(people, strength)
    judged(pt.project(f, constraints, solver=solver, max_iterations=5000, on_failure="return"), exact)
