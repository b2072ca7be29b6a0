"""Changes by sweeps: they meet the targets, prove what Newton's equations prove, and are left where sweeps are slow."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.engine import engine
from purtensor.solving.certificate import certify
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.iterate import Budget, iterate_at, row_sums, starting_potentials
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.spaces import swept_change
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.spaces.swept_change import potentials_by_sweeps
from tests.solving.drawn import arrays_of

pytestmark = pytest.mark.compiled("takes too long as plain Python")


@pytest.fixture(autouse=True)
def _small_problems_too(monkeypatch):
    monkeypatch.setattr(swept_change, "_SMALLEST", 0)
    monkeypatch.setattr(swept_change, "_SHARE", 100.0)
    with engine(plain=False):
        yield


def swept(problem, sweeps):
    start = iterate_at(problem, starting_potentials(problem))
    return iterate_at(problem, IPF().step(problem, start, Budget(sweeps, 0.0, 0.0)).iterate.potentials)


@pytest.mark.parametrize(("name", "sweeps"), [("i5", 16), ("a", 19), ("haberman", 8)])
def test_potentials_by_sweeps__meet_the_targets(name, sweeps):
    problem = arrays_of(name)
    point = swept(problem, sweeps)
    found = potentials_by_sweeps(problem, point.masses, 1e-8)
    tilts = sum(found[problem.system.block(k)][index] for k, index in enumerate(problem.index))
    missed, left = (
        np.abs(problem.targets - row_sums(problem.system, masses)).sum()
        for masses in (point.masses, point.masses * (1.0 + tilts))
    )
    assert 1e-12 < missed < 1e-6
    assert left < max(2e-14, 10.0 * missed**2)


@pytest.mark.parametrize(("name", "sweeps"), [("i5", 16), ("i5", 18), ("a", 19)])
def test_certify__by_sweeps_proves_what_equations_prove(name, sweeps):
    problem, other = arrays_of(name), arrays_of(name)
    hessian_of(other)  # built already, so that it is used
    by_sweeps = certify(ArraySpace(problem), swept(problem, sweeps))
    by_equations = certify(ArraySpace(other), swept(other, sweeps))
    assert not swept_change.has_form(problem)
    assert by_sweeps.bound == pytest.approx(by_equations.bound, rel=1e-3)
    assert by_sweeps.tv_bound == pytest.approx(by_equations.tv_bound, rel=0.05)


def test_potentials_by_sweeps__leaves_slow_problems_to_newtons_equations(monkeypatch):
    problem = arrays_of("b")
    monkeypatch.setattr(swept_change, "_SHARE", 0.5)
    assert potentials_by_sweeps(problem, swept(problem, 200).masses, 1e-8) is None


def test_potentials_by_sweeps__are_of_first_order():
    problem = arrays_of("i4")
    assert potentials_by_sweeps(problem, swept(problem, 4).masses, 1e-4) is None


def test_potentials_by_sweeps__begin_at_positive_masses_only():
    problem = arrays_of("i4")
    masses = swept(problem, 10).masses.copy()
    masses[0] = 0.0
    assert potentials_by_sweeps(problem, masses, 1e-8) is None


def test_factored_later__solves_as_the_form_does():
    problem = arrays_of("a")
    masses = swept(problem, 19).masses
    rhs = problem.targets - row_sums(problem.system, masses)
    later = swept_change.FactoredLater(problem, masses)
    expected, factored = hessian_of(problem).factor_and_solve(masses, rhs)
    assert later.solve(rhs).tolist() == expected.tolist()
    assert later.solve(2.0 * rhs).tolist() == factored.solve(2.0 * rhs).tolist()
