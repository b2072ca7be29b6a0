"""Laws of the projection for every solver, over random domains, supports and constraint sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import purtensor as pt
from tests import oracles
from tests.solving.drawn import SOLVERS
from tests.strategies import cases

each_solver = pytest.mark.parametrize("solver", [*SOLVERS.values(), None], ids=[*SOLVERS, "chosen"])
THOROUGH = settings.get_current_profile_name() == "thorough"
EXAMPLES = 300 if THOROUGH else 10
"""For each of the ten solvers: 3,000 examples a law."""


def at_iterate(case, solver, count):
    """The result after `count` iterations, converged or not."""
    return pt.project(
        case.reference,
        case.constraints,
        solver=solver,
        tolerance=1e-15,
        max_iterations=count,
        on_failure="return",
        certificate=False,
    )


def shares(table):
    """Masses of total 1, in the order of the case's own tables."""
    return table.values.ravel() / table.values.sum()


def another_feasible(case, seed):
    """A table with the same marginals as the feasible one: a projection of random masses, to rounding."""
    rng = np.random.default_rng(seed)
    base = case.feasible.copy(data=np.where(case.feasible.values > 0, rng.uniform(0.2, 1.0, case.feasible.shape), 0.0))
    return pt.project(base, case.constraints, tolerance=1e-13, on_failure="return")


def reach(result):
    """How far a potential, summed over the constraints, can lie from 0: what a miss of the targets counts with."""
    return sum(np.abs(one.values[np.isfinite(one.values)]).max(initial=0.0) for one in result.potentials)


def log_ratio(result):
    """log(table / reference) on the support, totals divided out, 0 elsewhere."""
    table, reference = shares(result.table), shares(result.reference)
    return np.log(np.divide(table, reference, out=np.ones_like(table), where=table > 0))


@each_solver
@settings(max_examples=EXAMPLES)
@given(case=cases(spread=3), seed=st.integers(0, 2**32 - 1), count=st.integers(0, 6))
def test_project__differences_of_feasible_tables_are_orthogonal_to_every_iterate(solver, case, seed, count):
    """sum (p - p') log(p(n) / p(0)) = 0 for feasible p and p': the relation of the paper's appendix."""
    result = at_iterate(case, solver, count)
    logs = log_ratio(result)
    other = another_feasible(case, seed)
    size = 1.0 + np.abs(logs).max()
    tolerance = 1e-13 * size + 4 * other.residual_l1 * (size + reach(result))
    assert abs((shares(case.feasible) - shares(other.table)) @ logs) <= tolerance


@each_solver
@settings(max_examples=EXAMPLES)
@given(case=cases(spread=3), seed=st.integers(0, 2**32 - 1))
def test_project__pythagoras_holds_for_every_feasible_table(solver, case, seed):
    """D(p || reference) = D(p || q) + D(q || reference)."""
    q = pt.project(
        case.reference, case.constraints, solver=solver, tolerance=1e-12, max_iterations=3000, on_failure="return"
    )
    slack = 1e-13 + 4 * q.residual_l1 * (1.0 + reach(q))
    other = another_feasible(case, seed)
    for p, miss in ((case.feasible, 0.0), (other.table, other.residual_l1)):
        if miss <= 1e-11:
            assert abs(pt.pythagorean_defect(p, q)) <= slack + 1e-9 * (miss > 0)
            whole = pt.kl_divergence(p, case.reference)
            parts = pt.kl_divergence(p, q.table) + q.divergence
            assert whole == pytest.approx(parts, rel=1e-7, abs=slack + 1e-9)


@each_solver
@settings(max_examples=EXAMPLES)
@given(case=cases(spread=3))
def test_project__no_feasible_table_is_closer(solver, case):
    q = pt.project(case.reference, case.constraints, solver=solver, max_iterations=2000, on_failure="return")
    if q.converged:
        assert q.divergence <= pt.kl_divergence(case.feasible, case.reference) + 1e-8
        assert q.table.values[case.reference.values == 0].sum() == 0.0
        assert (q.table.values[case.reference.values > 0] > 0).all()


@each_solver
@settings(max_examples=EXAMPLES)
@given(case=cases(spread=2))
def test_project__its_own_marginals_are_the_targets(solver, case):
    q = pt.project(case.reference, case.constraints, solver=solver, max_iterations=2000, on_failure="return")
    masses = oracles.masses_of(q.table)
    worst = 0.0
    for scope, target in zip(case.scopes, case.targets, strict=True):
        found = oracles.marginal(masses, case.attributes, scope)
        total = oracles.total(target)
        worst = max(worst, max(abs(float(found.get(row, 0) - mass) / float(total)) for row, mass in target.items()))
    assert worst == pytest.approx(q.residual, rel=1e-6, abs=1e-14)
    assert not q.converged or worst <= 1.01e-10


def nats(p, q):
    """KL of shares of total 1, in extended precision: as sum p (r - 1 - log r), r = q / p, no term is negative."""
    p, q = (np.asarray(one, dtype=np.longdouble)[p > 0] for one in (p, q))
    ratio = (q - p) / p
    with np.errstate(divide="ignore"):
        return float(np.sum(p * (ratio - np.log1p(ratio))))


@settings(max_examples=3000 if THOROUGH else EXAMPLES)
@given(case=cases(spread=2))
def test_project__each_solver_lies_within_its_own_bound_of_the_others(case):
    """All ten on one problem, each against each, and against Newton's answer to 1e-13."""
    reference, constraints = case.reference, case.constraints
    results = {
        name: pt.project(reference, constraints, solver=solver, tolerance=1e-9, max_iterations=300, on_failure="return")
        for name, solver in {**SOLVERS, "chosen": None}.items()
    }
    exact = pt.project(reference, constraints, solver=pt.Newton(), tolerance=1e-13, on_failure="return")
    event(f"Newton to 1e-13: {exact.termination.name}")
    q = shares(exact.table)
    masses = {name: shares(result.table) for name, result in results.items()}
    for name, result in results.items():
        event(f"{name}: {result.termination.name}{'' if result.certified else ', no bound'}")
        assert nats(q, masses[name]) <= result.bound + 1e-9
        assert np.abs(masses[name] - q).sum() / 2 <= result.tv_bound + exact.tv_bound
        assert 0.0 <= result.tv_bound <= 1.0
        assert not result.converged or result.certified
    for one, other in combinations(results, 2):
        distance = np.abs(masses[one] - masses[other]).sum() / 2
        assert distance <= results[one].tv_bound + results[other].tv_bound, (one, other)
