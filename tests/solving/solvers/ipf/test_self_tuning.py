"""Over-relaxation that tunes itself: what it saves, and that it never costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.solving.solvers.ipf import self_tuning
from purtensor.solving.solvers.ipf.self_tuning import young
from tests.convergence.test_prediction import drawn

AUTO = pt.IPF(relaxation="auto")


def swept(problem, solver, **options):
    reference, constraints = problem
    return pt.project(reference, constraints, solver=solver, certificate=False, **{"max_iterations": 100_000} | options)


def named(name):
    problem = pt.problems.load(name)
    return problem.reference, problem.constraints


@pytest.mark.parametrize(("name", "most"), [("b", 400), ("b_hard", 500), ("b_lam0", 45)])
def test_self_tuning__saves_sweeps_where_it_is_slow(name, most):
    result = swept(named(name), AUTO)
    assert result.converged
    assert result.iterations < most
    exact = pt.project(*named(name), solver=pt.Newton(), tolerance=1e-13)
    plain = swept(named(name), pt.IPF())
    off, plain_off = (pt.total_variation(found.table, exact.table) for found in (result, plain))
    assert off < max(2.0 * plain_off, 1e-8)


def test_self_tuning__tells_the_factor_that_it_took():
    (note,) = swept(named("b"), AUTO).notes
    assert note.startswith("relaxation 1.961, from a rate of 5,")


def test_self_tuning__is_the_plain_sweep_where_that_is_fast():
    plain, tuned = swept(named("a"), pt.IPF()), swept(named("a"), AUTO)
    assert tuned.iterations == plain.iterations
    assert tuned.table.equals(plain.table)


@pytest.mark.parametrize("seed", range(0, 30, 2))
def test_self_tuning__is_never_much_slower_than_plain_sweeps(seed):
    try:
        plain = swept(drawn(seed), pt.IPF(), max_iterations=5000, on_failure="return")
    except pt.InfeasibleError:
        return
    tuned = swept(drawn(seed), AUTO, max_iterations=5000, on_failure="return")
    assert tuned.iterations <= 1.05 * plain.iterations + 20


def test_self_tuning__goes_back_where_young_is_wrong():
    """One of the tables on which over-relaxation by Young's formula takes 2.9 times the sweeps of none."""
    masses = np.array(
        [
            [[0.0024093, 0.1544], [0.50295, 8.0567e-5]],
            [[1.8522e-4, 0.080653], [9.4244e-4, 0.25839]],
        ]
    )
    table = xr.DataArray(masses / masses.sum(), dims=list("ysx"), coords={name: [0, 1] for name in "ysx"})
    problem = table, pt.pur(table, response="y", protected="s")
    plain, tuned = swept(problem, pt.IPF()), swept(problem, AUTO)
    constant = swept(problem, pt.IPF(relaxation=young(math.log(10.0) / 828.5)))
    assert constant.iterations > 2 * plain.iterations
    assert tuned.iterations < 1.05 * plain.iterations


def test_self_tuning__gives_up_a_factor_that_proves_slow(monkeypatch):
    monkeypatch.setattr(self_tuning.SelfTuning, "_decay_seen", lambda self: 0.0)
    result = swept(named("b"), pt.IPF(relaxation="auto"), tolerance=1e-13, max_iterations=1000, on_failure="return")
    assert result.notes[-1] == "over-relaxed sweeps were slower than plain ones: continued with plain sweeps"
    assert not result.converged


def test_self_tuning__on_the_boundary_finds_the_face_as_others_do():
    problem = pt.problems.load("staircase")
    result = pt.project(problem.reference, problem.constraints, solver=AUTO)
    assert result.converged
    assert result.diagnosis.implied_zeros.sum() > 0


def test_self_tuning__goes_on_from_a_memory_and_a_start():
    reference, constraints = named("b")
    early = swept((reference, constraints), AUTO, max_iterations=50, on_failure="return")
    again = swept((reference, constraints), AUTO, start=early)
    assert again.converged
    assert again.iterations < 400


def test_self_tuning__goes_with_no_acceleration():
    with pytest.raises(pt.InvalidOptionError, match="combined with acceleration"):
        pt.IPF(relaxation="auto", acceleration=5)


@pytest.mark.parametrize("rho", [0.1, 0.9, 0.9999])
def test_young__is_his_formula(rho):
    assert young(-math.log(rho)) == pytest.approx(2 / (1 + math.sqrt(1 - rho)), rel=1e-12)


def test_self_tuning__leaves_a_large_problem_alone_that_ends_soon(monkeypatch):
    looked = []
    real = self_tuning._decay_at
    monkeypatch.setattr(self_tuning, "_decay_at", lambda *near: looked.append(near) or real(*near))
    quick, slow = pt.problems.load("a"), pt.problems.load("b")
    found = [pt.project(quick.reference, quick.constraints, solver=pt.IPF(relaxation="auto"))]
    assert len(looked) == 1
    monkeypatch.setattr(self_tuning, "_DEAR", 0)  # as if it were large
    found.append(pt.project(quick.reference, quick.constraints, solver=pt.IPF(relaxation="auto")))
    assert len(looked) == 1
    assert found[0].iterations == found[1].iterations
    tuned = pt.project(slow.reference, slow.constraints, solver=pt.IPF(relaxation="auto"))
    assert len(looked) > 1
    assert tuned.iterations < 500
