"""A process of its own: it answers, it may be too slow, it may die."""

from __future__ import annotations

import os
import signal

import pytest

import purtensor as pt
from purtensor.comparison.isolation import Isolated, ProcessEndedError
from purtensor.comparison.messages import Prepare, Raised, Ready, Refused, Solve, Solved
from purtensor.comparison.questions import questions
from purtensor.comparison.rule import Rule

PATIENCE = 60.0


def test_isolated__life_and_death() -> None:
    problem = questions(pt.problems.load("haberman"), 10.0)[0].plain
    rule = Rule(1e-10, 1000, 10.0)
    process = Isolated()
    try:
        assert process.ask(Solve(), PATIENCE) == Raised("RuntimeError: nothing was prepared")
        assert process.ask(Prepare("nobody", problem, rule), PATIENCE) == Raised("KeyError: 'nobody'")
        reply = process.ask(Prepare("pot", problem, rule), PATIENCE)
        assert reply == Refused("it takes two one-way marginals of a table of two attributes")
        assert process.ask(Prepare("trust-exact", problem, rule), PATIENCE) == Ready()
        solved = process.ask(Solve(2), PATIENCE)
        assert isinstance(solved, Solved)
        assert problem.misses(solved.attempt.masses)[0] < 1e-8
        os.kill(process._process.pid, signal.SIGKILL)
        with pytest.raises(ProcessEndedError, match="ended by signal 9"):
            process.ask(Solve(), PATIENCE)
    finally:
        process.close()


def test_isolated__too_slow() -> None:
    process = Isolated()  # it takes longer than this to start
    with pytest.raises(TimeoutError, match="no reply within"):
        process.ask(Solve(), 0.001)
    assert process._process.poll() is not None
