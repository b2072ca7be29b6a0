"""The loop: how many iterations a step takes changes nothing but the time."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving import loop
from purtensor.solving.certificate import DualCertifier
from purtensor.solving.iterate import Record, iterate_at
from purtensor.solving.problem import build_problem
from purtensor.solving.run_state import LARGEST_CHUNK, WINDOW, Lines, Standstill, State, TraceLine, next_stop
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination
from tests.laws.test_ill_conditioned import doubling_chain
from tests.solving.drawn import SOLVERS, arrays_of, single_sweeps


class Counted:
    """A solver that counts how often it is asked."""

    def __init__(self, solver):
        self.solver = solver
        self.calls = 0

    def step(self, problem, iterate, budget):
        self.calls += 1
        return self.solver.step(problem, iterate, budget)


@pytest.mark.parametrize("name", ["IPF", "over-relaxed", "GIS", "Newton"])
def test_run__watched_or_not_gives_the_same_bits(name):
    problem = arrays_of("a")
    stopping = Stopping(1e-10, "residual", 10_000, math.inf)
    alone = run(problem, SOLVERS[name], stopping)
    watched = run(problem, SOLVERS[name], stopping, callback=lambda progress: None)
    assert alone.iterations == watched.iterations > 1
    assert np.array_equal(alone.iterate.masses, watched.iterate.masses)
    assert [line.iteration for line in alone.lines] == [line.iteration for line in watched.lines]


def test_run__small_tables_are_solved_in_one_call():
    counted = Counted(pt.IPF())
    ended = run(arrays_of("a"), counted, Stopping(1e-10, "residual", 10_000, math.inf))
    assert (ended.iterations, counted.calls) == (19, 1)


def test_run__a_callback_or_a_time_limit_is_heard_after_the_first_iteration():
    seen = []
    run(arrays_of("a"), pt.IPF(), Stopping(1e-10, "residual", 10_000, math.inf), callback=lambda p: seen.append(p))
    assert seen[0].iteration == 1
    hurried = run(arrays_of("a"), pt.IPF(), Stopping(1e-10, "residual", 10_000, 1e-9))
    assert (hurried.iterations, hurried.termination) == (1, Termination.TIME_LIMIT)


def test_run__a_limit_that_no_call_comes_near_costs_no_calls():
    timed = Counted(pt.IPF())
    run(arrays_of("a"), timed, Stopping(1e-10, "residual", 10_000, 60.0))
    assert timed.calls == 1


class Asked:
    """A certifier that keeps what it has proved."""

    def __init__(self, problem):
        self.certifier = DualCertifier(problem)
        self.bounds = []

    def certify(self, iterate):
        found = self.certifier.certify(iterate)
        self.bounds.append(found.tv_bound)
        return found


def first_within(problem, solver, tolerance):
    """The first iteration whose certificate is within the tolerance, when every one is asked for."""
    certifier = DualCertifier(problem)
    for n, iterate in enumerate(single_sweeps(problem, solver, 10_000), start=1):
        if certifier.certify(iterate_at(problem, iterate.potentials)).tv_bound <= tolerance:
            return n
    raise AssertionError


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(("source", "name"), [("a", "IPF"), ("haberman", "IPF"), ("a", "GIS"), ("i4", "over-relaxed")])
@pytest.mark.slow
def test_run__on_the_bound_ends_soon_after_it_is_met(source, name, tolerance):
    problem = arrays_of(source)
    asked = Asked(problem)
    ended = run(problem, SOLVERS[name], Stopping(tolerance, "tv_bound", 100_000, math.inf), asked)
    assert ended.termination is Termination.CONVERGED
    assert ended.certificate.tv_bound == asked.bounds[-1] <= tolerance < min(asked.bounds[:-1], default=1.0)
    first = first_within(problem, SOLVERS[name], tolerance)
    assert first <= ended.iterations <= 1.2 * first + 2
    assert len(asked.bounds) <= 20


def test_run__on_the_bound_asks_for_it_at_recorded_iterations():
    problem = arrays_of("a")
    ended = run(problem, pt.IPF(), Stopping(1e-9, "tv_bound", 100_000, math.inf), DualCertifier(problem))
    bounds = [line.tv_bound for line in ended.lines if line.tv_bound == line.tv_bound]
    assert bounds[-1] <= 1e-9
    assert ended.lines[-1].iteration == ended.iterations
    assert (np.diff(bounds) < 0).all()


@pytest.mark.parametrize(("tolerance", "kept"), [(1e-3, True), (1e-6, False)])
def test_run__has_a_certificate_of_no_point_but_the_one_that_it_returns(tolerance, kept):
    """The bound is asked for where the residual makes it likely: the last one asked for may be of an earlier point."""
    problem, points = arrays_of("a"), []

    class Noted(DualCertifier):
        def certify(self, iterate):
            points.append(iterate)
            # far above the truth, so that it is asked for again much later
            return replace(super().certify(iterate), tv_bound=tolerance if kept else 0.9)

    ended = run(problem, pt.GIS(), Stopping(tolerance, "tv_bound", 1000, math.inf), Noted(problem))
    assert points
    assert np.array_equal(points[-1].masses, ended.iterate.masses) == kept
    assert (ended.certificate is not None) == kept


def fed(residuals, dual=lambda n: 1.0):
    """After how many iterations residuals are found to stand still; None if they are not."""
    standstill = Standstill()
    for n, residual in enumerate(residuals, start=1):
        standstill.watch(*(np.array([float(one)]) for one in (n, residual, dual(n))))
        if standstill.reached is not None:
            return n
    return None


def test_standstill__does_not_depend_on_how_iterations_are_batched():
    rng = np.random.default_rng(0)
    residuals, duals = 1e-9 * (1.0 + 0.1 * rng.random(3000)), np.ones(3000)
    residuals[1500] = np.nan
    states = []
    for size in (1, 7, 399, 1000, 3000):
        standstill = Standstill()
        for begin in range(0, 3000, size):
            part = slice(begin, begin + size)
            standstill.watch(np.arange(1.0, 3001.0)[part], residuals[part], duals[part])
        states.append(standstill)
    assert states[0].reached is not None
    assert all(state == states[0] for state in states)


def test_standstill__is_no_steady_fall_however_slow():
    assert fed((1 - 1e-9) ** n for n in range(20_000)) is None
    assert fed(1e-3 / (n + 1) for n in range(20_000)) is None


def test_standstill__of_a_constant_and_of_jumps_within_rounding_is_found():
    assert fed(1e-9 for _ in range(20_000)) == 2 * WINDOW
    jumps = np.exp(np.random.default_rng(1).uniform(0, 3, 200_000)) * 1e-10
    assert fed(jumps) <= 12 * WINDOW


def test_standstill__is_none_while_the_dual_grows():
    assert fed((0.06 for _ in range(20_000)), lambda n: 1e-12 * n) is None


def test_standstill__forgives_jumps_that_gain():
    jumps = np.exp(np.random.default_rng(1).uniform(0, 3, 20_000)) * 0.9995 ** np.arange(20_000)
    assert fed(jumps) is None


def state_of(residuals):
    """A run that recorded these residuals, one an iteration."""
    lines = Lines(TraceLine(Record(0, 1.0, 1.0, 0.0, 0.0), 0, 0.0))
    for n, residual in enumerate(residuals, start=1):
        lines.add(TraceLine(Record(n, residual, residual, 0.0, 0.0), n, 0.0))
    return State(None, lines, iterations=len(residuals))


def test_gets_nowhere__if_ten_times_as_many_iterations_would_not_halve_the_residual():
    def fall(share, made=8000):
        return [share ** (2 * n / made) for n in range(made)]

    assert state_of(fall(0.97)).gets_nowhere(100_000)
    assert not state_of(fall(0.96)).gets_nowhere(100_000)
    assert not state_of(fall(0.97)).gets_nowhere(80_000)  # too few are left to tell
    assert not state_of(fall(0.97, 7999)).gets_nowhere(100_000)
    assert not state_of([1.0 / n for n in range(1, 16_001)]).gets_nowhere(10**6)


def test_gets_nowhere__is_asked_once_an_octave():
    state = state_of([1.0] * 9000)
    assert state.gets_nowhere(10**6)
    assert "80000" not in state.notes[0]
    assert "90000 more would not halve it" in state.notes[0]
    assert not state.gets_nowhere(10**6)


@pytest.mark.parametrize("links", [16, 20])
def test_run__from_far_ends_where_it_gets_nowhere(links):
    case = doubling_chain(links, 0)
    noise = np.exp(np.random.default_rng(1).normal(size=case.reference.shape))
    problem = build_problem(case.reference * noise, case.constraints).arrays
    ended = run(problem, pt.IPF(), Stopping(1e-10, "residual", 100_000, math.inf))
    assert ended.termination is Termination.STALLED
    assert ended.iterations < 8400
    if links == 16:
        assert ended.iterations >= 8000
        assert "would not halve it" in ended.notes[-1]
    newton = run(problem, pt.Newton(), Stopping(1e-10, "residual", 100_000, math.inf))
    assert newton.termination is Termination.CONVERGED


@pytest.mark.parametrize("solver", [pt.IPF(), pt.IPF(relaxation=1.5), pt.IPF(acceleration=5), pt.GIS()], ids=repr)
@pytest.mark.parametrize("links", [12, 16, 20])
def test_run__makes_no_thousand_iterations_without_progress(solver, links):
    """So close to the answer no sweep gains what float64 can tell, and the residual is its smallest at the start."""
    case = doubling_chain(links, 0)
    result = pt.project(case.reference, case.constraints, solver=solver, tolerance=1e-18, on_failure="return")
    assert result.termination is pt.results.Termination.STALLED
    assert result.iterations <= 1000


def test_run__that_jumps_within_its_own_rounding_ends_stalled_and_says_where():
    """A chain of 28 links that each double an error: steps of Newton jumped about for a million iterations."""
    case = doubling_chain(28, 2)
    rng = np.random.default_rng(2)
    reference = case.exact * np.exp(rng.normal(size=case.exact.shape))
    result = pt.project(reference, case.constraints, solver=pt.Newton(), tolerance=1e-16, on_failure="return")
    assert result.termination is pt.results.Termination.STALLED
    assert result.iterations <= 6 * WINDOW


@pytest.mark.parametrize("name", ["proxy", "haberman_boundary"])
@pytest.mark.parametrize(
    "solver",
    [pt.IPF(), pt.GIS(), pt.IPF(relaxation=1.2), pt.IPF(relaxation="auto"), pt.IPF(acceleration=3), None],
    ids=repr,
)
def test_run__does_not_depend_on_the_speed_of_the_machine(monkeypatch, name, solver):
    """The clock decides how many sweeps a step makes, but neither where a run ends nor what it returns."""
    problem = pt.problems.load(name)

    def solve(seconds_per_step):
        monkeypatch.setattr(loop, "_SECONDS_PER_STEP", seconds_per_step)
        return pt.project(
            problem.reference,
            problem.constraints,
            solver=solver,
            tolerance=1e-18,
            max_iterations=1_100,
            on_failure="return",
        )

    slow, fast = solve(0.0), solve(10.0)
    assert (slow.termination, slow.iterations) == (fast.termination, fast.iterations)
    assert np.array_equal(slow.table.values, fast.table.values)
    assert np.array_equal(slow.trace["residual"], fast.trace["residual"])


def test_next_stop__is_near_and_at_every_thousand():
    stops = [0]
    while stops[-1] < 10_000:
        stops.append(next_stop(stops[-1]))
    assert stops[:10] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert set(range(1000, 10_001, 1000)) <= set(stops)
    assert [next_stop(n, 64) for n in (0, 63, 64, 999, 1000)] == [64, 64, 128, 1000, 1024]
    assert all(after - before <= max(1, min(LARGEST_CHUNK, before / 4)) for before, after in itertools.pairwise(stops))
