"""Problems with 25 digits of every cell, proved by ball arithmetic; and exact rays where there is no solution."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

import purtensor as pt
from tests import oracles
from tests.strategies import table_from

PROBLEMS = json.loads((Path(__file__).parent / "certified.json").read_text())
SOLVED = [problem for problem in PROBLEMS if problem["verdict"] != "infeasible"]
REACHED = [problem for problem in SOLVED if problem["difficulty"] in ("lower", "average")]
EPS = 2.0**-52


def named(problem):
    return problem["name"].replace(" ", "-")


def stated(problem, layout="sparse"):
    """The reference and the constraints as tables of purtensor."""
    names, categories = problem["attributes"], [tuple(range(size)) for size in problem["sizes"]]
    reference = {tuple(profile): value for *profile, value in problem["reference"]}
    targets_of = {tuple(profile): value for *profile, value in problem["targets_of"]}
    constraints = []
    for scope in problem["scopes"]:
        own = [categories[names.index(name)] for name in scope]
        constraints.append(pt.Marginal(table_from(scope, own, oracles.marginal(targets_of, names, scope), layout)))
    return table_from(names, categories, reference, layout), constraints


def cells(problem):
    return {tuple(profile): (Fraction(mass), condition) for *profile, mass, condition in problem["cells"]}


def test_certified__are_thirty_of_every_class():
    assert len(PROBLEMS) == 30
    classes = {problem["difficulty"] for problem in PROBLEMS}
    assert classes == {"lower", "average", "upper", "boundary", "infeasible"}


@pytest.mark.parametrize("problem", SOLVED, ids=named)
def test_certified__potentials_give_the_cells(problem):
    """The file agrees with itself: reference * exp(C^T t), in decimals, is what its cells say."""
    reference = {tuple(profile): value for *profile, value in problem["reference"]}
    for profile, (mass, _) in cells(problem).items():
        exponent = Decimal(0)
        for scope, label, potential in problem["potentials"]:
            at = [problem["attributes"].index(name) for name in problem["scopes"][scope]]
            exponent += Decimal(potential) if [profile[i] for i in at] == label else 0
        assert float(reference[profile] * exponent.exp()) == pytest.approx(float(mass), rel=1e-15)


@pytest.mark.parametrize("solver", [pt.IPF(), pt.Newton()], ids=["IPF", "Newton"])
@pytest.mark.parametrize("problem", REACHED, ids=named)
def test_certified__digits_are_reached(problem, solver):
    """12 digits of the divergence; in each cell 13, or 20 times its own conditioning in units of rounding."""
    reference, constraints = stated(problem)
    result = pt.project(reference, constraints, solver=solver, tolerance=0.0, on_failure="return")
    assert result.divergence == pytest.approx(float(problem["kl"]), rel=1e-12)
    found = oracles.masses_of(result.table)
    assert set(found) == set(cells(problem))
    for profile, (mass, condition) in cells(problem).items():
        assert float(abs(found[profile] / mass - 1)) <= max(1e-13, 20 * condition * EPS), profile


@pytest.mark.parametrize("problem", SOLVED, ids=named)
def test_certified__bounds_hold_by_default(problem):
    reference, constraints = stated(problem, "dense")
    result = pt.project(reference, constraints)
    q = oracles.normalised({profile: mass for profile, (mass, _) in cells(problem).items()})
    p = oracles.normalised(oracles.masses_of(result.table))
    assert float(oracles.total_variation(q, p)) <= result.tv_bound + 1e-15
    assert set(p) == set(q)


@pytest.mark.parametrize("problem", PROBLEMS, ids=named)
def test_certified__verdicts_ranks_and_zeros(problem):
    reference, constraints = stated(problem)
    diagnosis = pt.diagnose(reference, constraints)
    assert diagnosis.verdict.value == problem["verdict"]
    assert diagnosis.verify()
    zeros = {tuple(profile) for profile in problem["implied_zeros"]}
    assert set(oracles.masses_of(diagnosis.implied_zeros)) == zeros
    if problem["verdict"] == "interior":
        assert pt.coefficients(reference, constraints).rank == problem["rank"]


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p["verdict"] == "infeasible"], ids=named)
def test_certified__rays_prove_infeasibility(problem):
    reference, constraints = stated(problem)
    ray = {(scope, *label): Fraction(value) for scope, label, value in problem["ray"]}
    for *profile, _ in problem["reference"]:
        places = [[problem["attributes"].index(name) for name in scope] for scope in problem["scopes"]]
        assert sum(ray.get((k, *(profile[i] for i in at)), 0) for k, at in enumerate(places)) >= 0
    targets = [oracles.masses_of(constraint.target) for constraint in constraints]
    assert sum(ray.get((k, *label), 0) * mass for k, target in enumerate(targets) for label, mass in target.items()) < 0
    with pytest.raises(pt.InfeasibleError):
        pt.project(reference, constraints)
