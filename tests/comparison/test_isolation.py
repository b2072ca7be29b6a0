"""A process of its own: it answers, it may be too slow, it may die."""

from __future__ import annotations

import os
import signal

import purtensor as pt
from purtensor.comparison.isolation import Failed, Isolated, Prepare, Solve, Solved
from purtensor.comparison.questions import questions
from purtensor.comparison.rule import Ending, Rule

PATIENCE = 60.0


def test_isolated__life_and_death() -> None:
    problem = questions(pt.problems.load("haberman"), 10.0)[0].plain
    rule = Rule(1e-10, 1000, 10.0)
    process = Isolated()
    try:
        assert process.ask(Solve(), PATIENCE) == Failed(Ending.FAILED, "RuntimeError: nothing was prepared")
        assert process.ask(Prepare("nobody", problem, rule), PATIENCE) == Failed(Ending.FAILED, "KeyError: 'nobody'")
        reply = process.ask(Prepare("pot", problem, rule), PATIENCE)
        assert reply == Failed(Ending.DOES_NOT_APPLY, "it takes two one-way marginals of a table of two attributes")
        assert process.ask(Prepare("trust-exact", problem, rule), PATIENCE) is None
        solved = process.ask(Solve(2), PATIENCE)
        assert isinstance(solved, Solved)
        assert problem.misses(solved.attempt.masses)[0] < 1e-8
        os.kill(process._process.pid, signal.SIGKILL)
        assert process.ask(Solve(), PATIENCE) == Failed(Ending.KILLED, "ended by signal 9")
    finally:
        process.close()


def test_isolated__too_slow() -> None:
    process = Isolated()  # it takes longer than this to start
    reply = process.ask(Solve(), 0.001)
    assert reply == Failed(Ending.TIME_LIMIT, "it does not hear of limits: its process was ended")
    assert process._process.poll() is not None
