from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

import purtensor as pt
from purtensor.errors import InfeasibleError
from purtensor.solving.problem import build_problem
from tests import oracles
from tests.solving.drawn import labelled_from, labels_of, single_sweeps, solved, variation
from tests.strategies import random_case


def sweeps_with_zeros(masses, attributes, constraints, count):
    """Sweeps in fractions on the whole support; a row without mass stays as it is."""
    steps = []
    for _ in range(count):
        for scope, target in constraints:
            now = oracles.marginal(masses, attributes, scope)
            at = [attributes.index(name) for name in scope]
            rows = {profile: tuple(profile[i] for i in at) for profile in masses}
            masses = {
                profile: mass * target.get(rows[profile], Fraction(0)) / now[rows[profile]] if mass else mass
                for profile, mass in masses.items()
            }
        steps.append(masses)
    return steps


def emptied_problem(seed):
    """A random case whose targets come from a table that is zero on some profiles, and the problem of it."""
    random = Random(seed)
    case = random_case(random, count=3, kind="full")
    goal = {profile: mass for profile, mass in case.feasible_masses.items() if random.random() < 0.6}
    if not goal:
        pytest.skip("no profile is left")
    pairs = [(scope, oracles.marginal(goal, case.attributes, scope)) for scope in case.scopes]
    constraints = [pt.Marginal(case.table(target, scope)) for scope, target in pairs]
    return case, pairs, build_problem(case.reference, constraints)


@pytest.mark.parametrize("seed", range(30))
def test_first_sweep__is_that_on_the_whole_support(seed):
    case, pairs, labelled = emptied_problem(seed)
    labels = labels_of(labelled)
    exact = sweeps_with_zeros(case.reference_masses, case.attributes, pairs, 2)
    for wanted, iterate in zip(exact, single_sweeps(labelled.arrays, pt.IPF(), 2), strict=True):
        assert {profile for profile, mass in wanted.items() if mass} == set(labels)
        shares = oracles.normalised(wanted)
        assert iterate.masses / iterate.masses.sum() == pytest.approx([float(shares[p]) for p in labels], rel=1e-12)


def test_first_sweep__tries_something_here():
    emptied = [emptied_problem(seed)[2].arrays.emptied for seed in range(30)]
    assert sum(one is not None for one in emptied) > 15


def test_first_sweep__changes_no_limit():
    labelled = labelled_from("and_gate")
    answers = [solved(labelled.arrays, solver, tolerance=1e-6).iterate.masses for solver in (pt.IPF(), pt.LBFGS())]
    assert variation(*answers) <= 1e-5
    assert np.all(answers[0] > 0)


def test_first_sweep__is_refused_as_before_where_zero_targets_empty_a_row():
    ones = pt.to_dense(pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}))
    rows = pt.tabulate({"a": [0, 1]}, weights=[0, 2])
    columns = pt.tabulate({"b": [0, 1]}, weights=[1, 1])
    kept = build_problem(ones, [pt.Marginal(rows), pt.Marginal(columns)]).arrays
    assert kept.emptied is not None
    assert kept.emptied.rows.tolist() == [[-1, -1], [0, 1]]
    support = pt.tabulate({"a": [0, 1], "b": [0, 1]})
    with pytest.raises(InfeasibleError, match="targets of 0 exclude all its profiles"):
        build_problem(support, [pt.Marginal(rows), pt.Marginal(columns)])


@pytest.mark.parametrize(
    "solver",
    [pt.IPF(), pt.Newton(), pt.Newton(warm_up=0), pt.GIS(), None],
    ids=["IPF", "Newton", "Newton at once", "GIS", "chosen"],
)
def test_first_sweep__the_trace_counts_from_the_whole_reference(solver):
    """The dual begins at 0, the reference as it came, and rises by what the iterations gain."""
    tried = 0
    for seed in range(30):
        case, pairs, labelled = emptied_problem(seed)
        if labelled.arrays.emptied is None:
            continue
        constraints = [pt.Marginal(case.table(target, scope)) for scope, target in pairs]
        result = pt.project(case.reference, constraints, solver=solver, max_iterations=9, on_failure="return")
        dual, step = result.trace.dual.values, result.trace.kl_step.values[1:]
        if result.trace.iteration.values.tolist() != list(range(result.iterations + 1)) or len(dual) < 2:
            continue
        tried += 1
        assert dual[0] == pytest.approx(0.0, abs=1e-15)
        if result.converged or not isinstance(solver, pt.Newton):  # Newton's points have the total only in the end
            assert step.sum() == pytest.approx(dual[-1], rel=1e-7, abs=1e-9)
        assert np.diff(dual).min() >= -1e-14
    assert tried > 10
