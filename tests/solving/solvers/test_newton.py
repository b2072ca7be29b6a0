"""Newton's method where masses are so small that rounding hides what they tie together."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.hessian.factored import even_shares
from purtensor.solving.iterate import iterate_at, row_sums, starting_potentials
from purtensor.solving.problem import build_problem
from purtensor.solving.solvers import newton
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.termination import Termination
from tests.solving.drawn import arrays_of, labelled_problem, solved, variation
from tests.strategies import table_from

CATEGORIES = [("no", "yes"), ("f", "m"), ("a", "b", "c")]
PROFILES = [(y, s, x) for y in CATEGORIES[0] for s in CATEGORIES[1] for x in CATEGORIES[2]]
COUNTS = [40, 30, 2, 12, 5, 9, 10, 20, 6, 30, 1, 2]


def with_small_profiles(smallest):
    """Three profiles that alone keep the rest from falling apart, of very small mass; all pairs are constrained."""
    masses = {profile: smallest if i % 5 == 0 else COUNTS[i] for i, profile in enumerate(PROFILES)}
    wanted = dict(zip(PROFILES, reversed(COUNTS), strict=True))
    constraints = pt.marginals_of(table_from(tuple("ysx"), CATEGORIES, wanted, "sparse"), "y s | y x | s x")
    return build_problem(table_from(tuple("ysx"), CATEGORIES, masses, "sparse"), constraints).arrays


@pytest.mark.parametrize("smallest", [1e-100, 1e-200, 1e-300])
@pytest.mark.parametrize("solver", [pt.Newton(), pt.Newton(warm_up=0), None], ids=["Newton", "at once", "chosen"])
def test_newton__needs_few_steps_whatever_the_smallest_mass(smallest, solver):
    problem = with_small_profiles(smallest)
    chosen = Automatic() if solver is None else solver
    found = solved(problem, chosen, tolerance=1e-10, iterations=200)
    swept = solved(problem, pt.IPF(), tolerance=1e-10)
    assert (found.termination, swept.termination) == (Termination.CONVERGED, Termination.CONVERGED)
    assert found.iterations < 100 < swept.iterations
    assert variation(found.iterate.masses, swept.iterate.masses) < 1e-9


def test_newton__where_no_step_gains_sweeps_follow(monkeypatch):
    monkeypatch.setattr(newton, "search", lambda *_: None)
    problem = arrays_of("haberman")
    found = solved(problem, pt.Newton(warm_up=0), tolerance=1e-8)
    assert found.termination is Termination.CONVERGED
    assert "sweeps of IPF where rounding prevents a Newton step" in found.notes[-1]
    assert [line.iteration for line in found.lines][:4] == [0, 1, 2, 3]
    assert variation(found.iterate.masses, solved(problem, pt.IPF(), tolerance=1e-8).iterate.masses) < 1e-8


def test_newton__a_callback_that_watches_changes_no_bit(monkeypatch):
    """Sweeps follow where no step gains; how many are asked for at once depends on the callback and on time."""
    real, calls = newton.search, []

    def rarely(*arguments):
        calls.append(arguments)
        return real(*arguments) if len(calls) > 6 else None

    monkeypatch.setattr(newton, "search", rarely)
    reference, constraints = labelled_problem("records")
    runs = []
    for callback in (None, lambda progress: None):
        calls.clear()
        runs.append(pt.project(reference, constraints, solver=pt.Newton(), tolerance=1e-12, callback=callback))
    alone, watched = runs
    assert "sweeps of IPF" in alone.notes[-1] or "sweeps of IPF" in alone.notes[0]
    assert alone.iterations == watched.iterations > 20
    assert np.array_equal(alone.table.values, watched.table.values)
    assert np.array_equal(alone.trace["dual"].values, watched.trace["dual"].values)


def test_newton__raises_no_masses_where_plain_steps_gain(monkeypatch):
    monkeypatch.setattr("purtensor.solving.spaces.arrays.even_shares", None)
    assert solved(arrays_of("b_hard2"), pt.Newton(), tolerance=1e-12).termination is Termination.CONVERGED


def test_even_shares__exceed_no_target_and_reach_every_profile():
    problem = arrays_of("b_hard2")
    shares = even_shares(problem)
    assert shares.min() > 0.0
    assert (row_sums(problem.system, shares) <= problem.targets * (1 + 1e-12)).all()
    start = iterate_at(problem, starting_potentials(problem)).masses
    assert variation(shares, start) > 0.01
    one = build_problem(*_one_row()).arrays
    assert np.array_equal(even_shares(one), np.full(4, one.total / 4))


def _one_row():
    cells = [("p", "u"), ("p", "v"), ("q", "u"), ("q", "v")]
    masses = dict(zip(cells, (1, 2, 3, 4), strict=True))
    reference = table_from(("a", "b"), [("p", "q"), ("u", "v")], masses, "dense")
    return reference, [pt.Marginal(table_from(("a",), [("p", "q")], {("p",): 1, ("q",): 1}, "dense"))]


@pytest.mark.parametrize("warm_up", [-1, 1.5, "3", None, True, float("nan")])
def test_newton__refuses_a_warm_up_that_is_no_count(warm_up):
    with pytest.raises(pt.InvalidOptionError, match="warm_up must be a number of sweeps"):
        pt.Newton(warm_up=warm_up)
