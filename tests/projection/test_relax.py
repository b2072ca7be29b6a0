"""Relaxed problems: optimal by their own multipliers, equal to linear programs and projections in the limit."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import purtensor as pt
from purtensor.projection.diagnose import diagnose
from tests import oracles
from tests.strategies import COSTLY, random_case, random_masses, table_from

ROLES = {"response": "income", "protected": ["gender", "race"]}
PENALTIES = ("kl", "l1", "quadratic")


def conflicting(seed, layout="sparse"):
    """Hard constraints that can be met, and soft ones whose targets come from another table on all profiles."""
    random = Random(seed)
    case = random_case(random, count=random.randint(2, 4), kind=random.choice(("sparse", "full")), layout=layout)
    everything = oracles.all_profiles(case.categories)
    other = random_masses(random, everything)
    total = oracles.total(case.feasible_masses)
    share = total / oracles.total(other)
    other = {profile: mass * share for profile, mass in other.items()}
    scopes = case.scopes
    chosen = sorted(random.sample(range(len(scopes)), random.randint(1, len(scopes))))
    constraints = list(case.constraints)
    for k in chosen:
        constraints[k] = pt.Marginal(case.table(oracles.marginal(other, case.attributes, scopes[k]), scopes[k]))
    return case, constraints, chosen


def values(table):
    """All entries of a sparse table by profile, of whatever sign."""
    sparse = table if table.dims == ("profile",) else table.stack(profile=table.dims)
    return dict(zip([tuple(label) for label in sparse.indexes["profile"]], sparse.values.tolist()))


def check_optimal(result, *, strength=None):
    """Prove a relaxation optimal: feasible, in the exponential family of its multipliers, and these as they must be.

    The problem is convex, so that these conditions are sufficient; nothing here knows how the answer was found.
    """
    strength = result.strength if strength is None else strength
    attributes = oracles.attributes_of(result.table)
    p, q = oracles.masses_of(result.table), oracles.masses_of(result.reference)
    total = float(oracles.total(p))
    logs = dict.fromkeys(q, 0.0)
    for k, constraint in enumerate(result.constraints):
        target = {key: float(mass) / total for key, mass in oracles.masses_of(constraint.target).items()}
        scope = constraint.scope
        reached = {key: float(mass) / total for key, mass in oracles.marginal(p, attributes, scope).items()}
        multipliers = values(result.multipliers[k])
        at = [attributes.index(name) for name in scope]
        for profile in q:
            logs[profile] += multipliers[tuple(profile[i] for i in at)]
        for key, t in multipliers.items():
            b, m = target.get(key, 0.0), reached.get(key, 0.0)
            if k not in result.soft:
                assert m == pytest.approx(b, abs=1e-9)
            else:
                check_multiplier(result.penalty, strength, t, b, m)
    scale = [math.log(float(p[profile]) / total / float(q[profile])) - logs[profile] for profile in p]
    assert np.ptp(scale) < 1e-7 * (1 + strength / 100)
    gone = [logs[profile] + np.mean(scale) for profile in q if profile not in p]
    assert max(gone, default=-math.inf) < -300  # nothing but what rounding or a target of 0 empties
    if len(result.soft) < len(result.constraints):
        units = float(oracles.total(q)) / float(oracles.total(p))
        assert np.mean(scale) == pytest.approx(math.log(1 / total) if units else 0.0, abs=1e-7 * (1 + strength / 100))


def check_multiplier(penalty, strength, t, b, m):
    if penalty == "kl":
        assert (
            (m == 0 and b == 0)
            or (m == 0 and t == math.inf)
            or t == pytest.approx(-strength * math.log(m / b), abs=1e-6 * strength)
        )
    elif penalty == "quadratic":
        assert t == pytest.approx(strength * (b - m), abs=1e-8 * strength + 1e-9)
    else:
        assert abs(t) <= strength * (1 + 1e-12)
        if abs(b - m) > 1e-8:
            assert t == pytest.approx(math.copysign(strength, b - m), rel=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
@COSTLY
@given(seed=st.integers(0, 2**32), strength=st.sampled_from([0.01, 0.7, 5.0, 40.0]))
def test_relax__is_optimal_by_its_own_multipliers(penalty, seed, strength):
    case, constraints, soft = conflicting(seed)
    result = pt.relax(case.reference, constraints, soft=soft, penalty=penalty, strength=strength)
    assert result.converged
    check_optimal(result)


@given(seed=st.integers(0, 2**32))
def test_relax__smallest_l1_misses_are_those_of_the_linear_program(seed):
    case, constraints, soft = conflicting(seed)
    result = pt.relax(case.reference, constraints, soft=soft, penalty="l1", strength=1e4)
    assert sum(result.misses_l1[k] for k in soft) == pytest.approx(smallest_l1(case, constraints, soft), abs=1e-9)


def smallest_l1(case, constraints, soft):
    """The smallest sum of misses of the soft constraints, by a linear program over the profiles of the reference."""
    profiles = list(case.reference_masses)
    total = float(oracles.total(case.feasible_masses))
    rows, targets, is_soft = [], [], []
    for k, constraint in enumerate(constraints):
        at = [case.attributes.index(name) for name in constraint.scope]
        target = oracles.masses_of(constraint.target)
        keys = {tuple(profile[i] for i in at) for profile in profiles} | set(target)
        for key in keys:
            rows.append([float(tuple(profile[i] for i in at) == key) for profile in profiles])
            targets.append(float(target.get(key, 0)) / total)
            is_soft.append(k in soft)
    c, b, is_soft = np.array(rows), np.array(targets), np.array(is_soft)
    slack = np.eye(len(b))[:, is_soft]
    whole = np.hstack([c, slack, -slack])
    total_row = np.concatenate([np.ones(len(profiles)), np.zeros(2 * is_soft.sum())])
    cost = np.concatenate([np.zeros(len(profiles)), np.ones(2 * is_soft.sum())])
    found = linprog(cost, A_eq=np.vstack([whole, total_row]), b_eq=np.append(b, 1.0), method="highs")
    return found.fun


@pytest.mark.parametrize(("penalty", "strength"), [("kl", 1e9), ("l1", 1e3), ("quadratic", 1e9)])
@COSTLY
@given(seed=st.integers(0, 2**32))
@example(seed=1248)  # the hard rows determine the soft ones: rounding left no gap to close, and the limit came
def test_relax__tends_to_the_projection_as_the_strength_grows(penalty, strength, seed):
    random = Random(seed)
    case = random_case(random, count=random.randint(2, 5), kind=random.choice(("sparse", "full", "disconnected")))
    soft = random.sample(range(len(case.scopes)), random.randint(1, len(case.scopes)))
    relaxed = pt.relax(case.reference, case.constraints, soft=soft, penalty=penalty, strength=strength)
    exact = pt.project(case.reference, case.constraints, tolerance=1e-12)
    assert pt.total_variation(relaxed.table, exact.table) < 1e-6
    assert relaxed.divergence == pytest.approx(exact.divergence, abs=1e-6)
    if penalty == "l1":  # exact from a finite strength on
        assert pt.total_variation(relaxed.table, exact.table) < 1e-9


@given(seed=st.integers(0, 2**32))
def test_relax__with_hardly_any_strength_is_the_projection_onto_the_hard_constraints(seed):
    case, constraints, soft = conflicting(seed)
    hard = [constraint for k, constraint in enumerate(constraints) if k not in soft]
    for penalty in ("l1", "quadratic"):
        relaxed = pt.relax(case.reference, constraints, soft=soft, penalty=penalty, strength=1e-9)
        alone = pt.project(case.reference, hard).table if hard else case.reference
        assert pt.total_variation(relaxed.table, alone) < 1e-6


@COSTLY
@given(seed=st.integers(0, 2**32), penalty=st.sampled_from(PENALTIES))
def test_relax__pays_less_penalty_and_more_divergence_as_the_strength_grows(seed, penalty):
    case, constraints, soft = conflicting(seed)
    path = [
        pt.relax(case.reference, constraints, soft=soft, penalty=penalty, strength=strength)
        for strength in (0.01, 0.1, 1.0, 10.0)
    ]
    paid, divergence = [r.penalty_paid for r in path], [r.divergence for r in path]
    assert np.all(np.diff(paid) <= 1e-9)
    assert np.all(np.diff(divergence) >= -1e-9)
    # the least objective is a concave function of the strength
    slopes = np.diff([r.objective for r in path]) / np.diff([0.01, 0.1, 1.0, 10.0])
    assert np.all(np.diff(slopes) <= 1e-9)


@COSTLY
@given(seed=st.integers(0, 2**32), penalty=st.sampled_from(PENALTIES))
def test_relax__proves_what_it_says(seed, penalty):
    case, constraints, soft = conflicting(seed)
    exact = pt.relax(case.reference, constraints, soft=soft, penalty=penalty, strength=2.0)
    assert exact.certified
    assert exact.tv_bound < 1e-6
    for steps in (0, 1, 2, 3):
        rough = pt.relax(
            case.reference,
            constraints,
            soft=soft,
            penalty=penalty,
            strength=2.0,
            max_iterations=steps,
            on_failure="return",
        )
        distance = pt.total_variation(rough.table, exact.table)
        assert distance <= rough.tv_bound + exact.tv_bound
        assert pt.kl_divergence(exact.table, rough.table) <= rough.bound + 1e-9


def test_relax__proxy_example_reaches_the_smallest_violation():
    # 0.4 at a = 0, feasible from 0.05 on exactly
    smallest = {}
    for added in (0.0, 0.01, 0.049, 0.05, 0.06):
        problem = pt.problems.proxy(added)
        result = pt.relax(problem.reference, problem.constraints, soft=0, penalty="l1", strength=1000)
        check_optimal(result, strength=max(abs(v) for v in values(result.multipliers[0]).values()))
        smallest[added] = result.misses_l1[0]
    assert smallest[0.0] == pytest.approx(0.4, abs=1e-12)
    assert smallest[0.01] == pytest.approx(0.32 / 1.08, abs=1e-12)
    assert smallest[0.049] == pytest.approx(0.008 / 1.392, abs=1e-11)
    assert max(smallest[0.05], smallest[0.06]) < 1e-12


def test_relax__adult_with_relationship():
    # smallest L1 parity violation 0.0826 on the 46,043 rows
    names = ("income", "gender", "race", "age_group", "workclass", "education", "relationship")
    f = pt.regularize(pt.datasets.adult(attributes=names), response="income")
    constraints = pt.pur(f, **ROLES)
    result = pt.relax(f, constraints, soft=constraints[0], penalty="l1", strength=100)
    assert result.misses_l1[0] == pytest.approx(0.0826, abs=5e-5)
    assert result.residual < 1e-10
    assert result.tv_bound < 1e-7  # the square root of a gap that is rounding, some 1e-15
    check_optimal(result)


def test_relax__b_inf():
    problem = pt.problems.load("b_inf")
    parity = next(c for c in problem.constraints if c.scope == ("y", "s"))
    result = pt.relax(problem.reference, problem.constraints, soft=parity, penalty="l1", strength=1000)
    assert sum(result.misses_l1[k] for k in result.soft) == pytest.approx(0.1957743258, abs=1e-10)
    assert result.tv_bound < 1e-11


def test_relax__soft_by_object_or_by_position():
    problem = pt.problems.proxy(0.01)
    p, u, r = problem.constraints
    by_object = pt.relax(problem.reference, [p, (u, r)], soft=[r, p])
    by_position = pt.relax(problem.reference, [p, u, r], soft=(0, np.int64(2)))
    assert by_object.soft == by_position.soft == (0, 2)
    assert np.array_equal(by_object.table.values, by_position.table.values)
    assert not np.array_equal(by_object.table.values, pt.relax(problem.reference, [p, u, r], soft=p).table.values)


@pytest.mark.parametrize("soft", [(), 3, -1, True, 1.5, "P", None, [0, "x"]])
def test_relax__refuses_what_names_no_constraint(soft):
    problem = pt.problems.proxy(0.01)
    with pytest.raises(pt.InvalidOptionError, match="soft"):
        pt.relax(problem.reference, problem.constraints, soft=soft)


def test_relax__refuses_a_constraint_that_is_not_among_them():
    problem = pt.problems.proxy(0.01)
    with pytest.raises(pt.InvalidOptionError, match="not one of the constraints"):
        pt.relax(problem.reference, problem.constraints[:2], soft=problem.constraints[2])


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": "L1"},
        {"strength": 0},
        {"strength": math.inf},
        {"strength": math.nan},
        {"strength": -1.0},
        {"strength": "1"},
        {"tolerance": 0},
        {"max_iterations": -1},
        {"on_failure": "ignore"},
    ],
)
def test_relax__refuses_options(options):
    problem = pt.problems.proxy(0.01)
    with pytest.raises(pt.InvalidOptionError, match=next(iter(options))):
        pt.relax(problem.reference, problem.constraints, soft=0, **options)


def test_relax__soft_targets_may_contradict_others_but_not_in_their_total():
    ones = table_from(("a", "b"), ((0, 1), (0, 1, 2)), {(i, j): 1 for i in (0, 1) for j in (0, 1, 2)})
    rows = pt.Marginal(table_from(("a",), ((0, 1),), {(0,): 40, (1,): 60}))
    other = pt.Marginal(table_from(("a",), ((0, 1),), {(0,): 52, (1,): 48}))
    with pytest.raises(pt.InconsistentTargetsError):
        pt.project(ones, [rows, other])
    result = pt.relax(ones, [rows, other], soft=other, penalty="l1")
    assert result.misses_l1[1] == pytest.approx(0.24)
    assert result.misses[1].values == pytest.approx([-12, 12])
    columns = pt.Marginal(table_from(("b",), ((0, 1, 2),), {(0,): 50, (1,): 31, (2,): 20}))
    with pytest.raises(pt.InconsistentTargetsError, match="101"):
        pt.relax(ones, [rows, columns], soft=columns)


def test_relax__rows_without_support_can_be_soft():
    # the support has no profile in column 0, whose target is 1
    support = table_from(("row", "column"), ((0, 1, 2), (0, 1, 2)), {(i, j): 1 for i in range(3) for j in (1, 2)})
    ones = [table_from((name,), ((0, 1, 2),), {(i,): 1 for i in range(3)}) for name in ("row", "column")]
    rows, columns = map(pt.Marginal, ones)
    with pytest.raises(pt.InfeasibleError, match="column=0"):
        pt.relax(support, [rows, columns], soft=rows)
    for penalty in PENALTIES:
        result = pt.relax(support, [rows, columns], soft=columns, penalty=penalty, strength=3.0)
        check_optimal(result)
        assert values(result.misses[1]) == pytest.approx({(0,): -1.0, (1,): 0.5, (2,): 0.5})
        assert result.misses_l1[1] == pytest.approx(2 / 3)


def test_relax__a_soft_target_of_zero_empties_with_kl_alone():
    ones = table_from(("a", "b"), ((0, 1), (0, 1)), {(i, j): 1 for i in (0, 1) for j in (0, 1)})
    a = pt.Marginal(table_from(("a",), ((0, 1),), {(0,): 1, (1,): 1}))
    b = pt.Marginal(table_from(("b",), ((0, 1),), {(0,): 2}))
    reached = {}
    for penalty in PENALTIES:
        result = pt.relax(ones, [a, b], soft=b, penalty=penalty, strength=0.5)
        check_optimal(result)
        reached[penalty] = float(pt.marginal(result.table, "b").sel(b=0).item()) / 2
    assert reached["kl"] == 1.0
    # l1: D - log 2 + 2 c (1 - x) at odds exp(2 c); quadratic: log odds = 2 c (1 - x)
    assert reached["l1"] == pytest.approx(math.e / (1 + math.e), abs=1e-9)
    x = reached["quadratic"]
    assert math.log(x / (1 - x)) == pytest.approx(2 * 0.5 * (1 - x), abs=1e-9)


def test_relax__two_by_two_in_closed_form():
    # one soft constraint alone is its own problem: m^(1 + c) is proportional to q b^c for kl
    q = table_from(("a",), ((0, 1),), {(0,): 1, (1,): 3})
    b = pt.Marginal(table_from(("a",), ((0, 1),), {(0,): 6, (1,): 4}))
    result = pt.relax(q, b, soft=0, strength=2.0)
    shares = np.array([1 / 4, 3 / 4]) ** (1 / 3) * np.array([0.6, 0.4]) ** (2 / 3)
    assert result.table.values == pytest.approx(10 * shares / shares.sum())
    assert result.objective == pytest.approx(-3 * math.log(shares.sum()))  # a Chernoff distance


@pytest.mark.parametrize("penalty", PENALTIES)
def test_relax__scale_layout_and_order_do_not_matter(penalty):
    case, constraints, soft = conflicting(11)
    options = {"penalty": penalty, "strength": 3.0}
    plain = pt.relax(case.reference, constraints, soft=soft, **options)
    scaled = pt.relax(case.reference * 1e-7, [pt.Marginal(c.target * 12.5) for c in constraints], soft=soft, **options)
    assert scaled.table.values == pytest.approx(12.5 * plain.table.values, rel=1e-7)
    assert scaled.objective == pytest.approx(plain.objective, abs=1e-10)
    assert scaled.misses_l1 == pytest.approx(plain.misses_l1, abs=1e-9)
    check_optimal(scaled)
    dense = pt.relax(pt.to_dense(case.reference), constraints, soft=soft, **options)
    assert dense.table.dims == case.attributes
    assert pt.total_variation(pt.to_sparse(dense.table), plain.table) < 1e-8
    turned = pt.relax(case.reference, constraints[::-1], soft=[len(constraints) - 1 - k for k in soft], **options)
    assert pt.total_variation(turned.table, plain.table) < 1e-8
    assert turned.misses_l1[::-1] == pytest.approx(plain.misses_l1, abs=1e-8)


def test_relax__not_converged_is_told():
    problem = pt.problems.proxy(0.01)
    options = {"soft": 0, "strength": 5.0, "max_iterations": 1}
    with pytest.raises(pt.NotConvergedError, match="after 1 iteration") as caught:
        pt.relax(problem.reference, problem.constraints, **options)
    assert isinstance(caught.value.projection, pt.results.Relaxation)
    with pytest.warns(pt.errors.NotConvergedWarning):
        warned = pt.relax(problem.reference, problem.constraints, on_failure="warn", **options)
    assert not warned.converged
    assert pt.relax(problem.reference, problem.constraints, on_failure="return", **options).iterations == 1


def test_relaxation__tells_its_facts():
    problem = pt.problems.proxy(0.01)
    result = pt.relax(problem.reference, problem.constraints, soft=0)
    told = result.summary()
    assert "soft" in told["missed of y x s"]
    assert f"{result.objective:.9g}" in told["objective"]
    assert "purtensor.results.Relaxation" in result._repr_html_()
    with pytest.raises(AttributeError):
        result.strength = 2.0
    assert result.objective == pytest.approx(result.divergence + result.penalty_paid)
    assert result.divergence == pytest.approx(pt.kl_divergence(result.table, problem.reference))
    assert Fraction(result.strength) == 1


@pytest.mark.slow
def test_relax__hard_constraints_that_cannot_be_met():
    # parity and utility of b_inf conflict already
    problem = pt.problems.load("b_inf")
    realism = next(c for c in problem.constraints if c.scope == ("s", "x"))
    hard = [c for c in problem.constraints if c is not realism]
    assert diagnose(problem.reference, hard).verdict == "infeasible"
    for penalty in PENALTIES:
        with pytest.raises(pt.InfeasibleError, match="hard constraints") as caught:
            pt.relax(problem.reference, problem.constraints, soft=realism, penalty=penalty, strength=30.0)
        assert caught.value.diagnosis.verify()
    returned = pt.relax(problem.reference, problem.constraints, soft=realism, on_failure="return")
    assert not returned.converged
    assert "hard constraints" in returned.summary()["ending"]
