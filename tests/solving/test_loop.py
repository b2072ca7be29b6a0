"""The loop: how many iterations a step takes changes nothing but the time."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.loop import Stopping, run
from tests.solving.drawn import SOLVERS, arrays_of


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
    timed = Counted(pt.IPF())
    run(arrays_of("a"), timed, Stopping(1e-10, "residual", 10_000, 60.0))
    assert timed.calls > 1
