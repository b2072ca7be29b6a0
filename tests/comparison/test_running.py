"""Comparisons on an executor: the same numbers whoever computes them, and nothing that a worker meets ends the rest."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import pandas as pd
import pytest

import purtensor as pt
from purtensor.comparison.questions import Question
from tests.comparison.test_compare import Broken, Interrupting, PlainSweeps, endings

pytestmark = pytest.mark.slow

COUNTS = [
    "problem",
    "solver",
    "ending",
    "converged",
    "residual",
    "residual_l1",
    "kl",
    "dual_gap",
    "iterations",
    "cell_touches",
    "note",
]
LINES = ["problem", "solver", "iteration", "residual", "residual_l1", "dual_gap"]


def processes(number: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(number, mp_context=get_context("spawn"))


@pytest.mark.parametrize(
    "workers",
    [ThreadPoolExecutor(1), ThreadPoolExecutor(4), processes(2), 2],
    ids=["a thread", "threads", "processes", "joblib"],
)
def test_compare__executors_change_no_count(workers: Any) -> None:
    asked = ["a", "haberman", "cut_3x3"]
    solvers = [PlainSweeps(), "newton", Broken(), "project"]
    one = pt.compare(asked, solvers, repetitions=2, max_iterations=500)
    many = pt.compare(asked, solvers, repetitions=2, max_iterations=500, executor=workers)
    pd.testing.assert_frame_equal(many.runs[COUNTS], one.runs[COUNTS], check_exact=True)
    pd.testing.assert_frame_equal(many.trace[LINES], one.trace[LINES], check_exact=True)
    pd.testing.assert_frame_equal(many.times.iloc[:, :3], one.times.iloc[:, :3])  # in turns, in the same order
    assert many.times["seconds"].gt(0).all()
    assert many.problems == one.problems
    assert many.side_by_side
    assert many.settings["times"].startswith("taken side by side, by ")
    assert "time (side by side)" in many.table()
    assert "times" not in one.settings
    assert "time" in one.table()
    if isinstance(workers, ProcessPoolExecutor | ThreadPoolExecutor):
        workers.shutdown()


def test_compare__a_peer_in_turns_with_threads_has_its_own_memory() -> None:
    with ThreadPoolExecutor(3) as threads:
        compared = pt.compare("haberman", ["trust-exact", "ipf", "newton"], repetitions=1, executor=threads)
    runs = compared.runs.set_index("solver")
    assert runs.loc["trust-exact", "peak_bytes"] > 0
    assert set(compared.times["solver"]) >= {"ipf", "newton"}


class Deadly:
    name = "deadly"

    def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
        if os.environ.get("PYTEST_PROCESS") != str(os.getpid()):
            os._exit(1)
        raise AssertionError("it was not to run here")


def test_compare__a_worker_that_ends_is_an_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_PROCESS", str(os.getpid()))
    with processes(1) as workers:
        compared = pt.compare("haberman", ["newton", Deadly(), "ipf"], repetitions=1, executor=workers)
    found = endings(compared)
    assert found["haberman", "deadly"] == "killed"
    assert found["haberman", "newton"] == "converged"
    assert len(found) == 3
    assert "not timed again: BrokenProcessPool" in compared.runs["note"].iloc[0]
    assert compared.runs["seconds"].iloc[0] > 0  # of the first run


def test_compare__what_cannot_be_handed_to_processes_has_failed() -> None:
    class Local:
        name = "local"

        def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
            return iterate

    with processes(1) as workers:
        compared = pt.compare("haberman", [Local(), "newton"], repetitions=1, executor=workers)
    assert endings(compared) == {("haberman", "local"): "failed", ("haberman", "newton"): "converged"}
    assert "Local" in compared.runs["note"].iloc[0]
    assert set(compared.times["solver"]) == {"newton"}


def test_compare__an_answer_that_fails_ends_its_problem_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Question.with_answer

    def with_answer(self: Question) -> Question:
        if self.name == "haberman":
            raise ArithmeticError("no answer")
        return plain(self)

    monkeypatch.setattr(Question, "with_answer", with_answer)
    with ThreadPoolExecutor(2) as threads:
        compared = pt.compare(["haberman", "staircase"], ["project"], repetitions=1, executor=threads)
    assert endings(compared) == {("haberman", "project"): "failed", ("staircase", "project"): "converged on face"}
    assert compared.runs["note"].iloc[0] == "no certified answer: ArithmeticError: no answer"
    assert compared.problems["haberman"] == {
        "certified answer": "none: no certified answer: ArithmeticError: no answer"
    }


def test_compare__an_interruption_among_workers_keeps_what_was_done() -> None:
    with ThreadPoolExecutor(1) as thread:  # one after the other, so that it is known what was done
        compared = pt.compare(
            ["haberman", "staircase"], {"ipf": "ipf", "cut": Interrupting(3), "never": "newton"}, executor=thread
        )
    assert endings(compared) == {("haberman", "ipf"): "converged", ("haberman", "cut"): "interrupted"}
    assert compared.settings["interrupted"].startswith("by the user; ")
    assert list(compared.problems) == ["haberman"]


def test_compare__an_interruption_of_the_rounds_keeps_the_runs() -> None:
    def told(problem: str, solver: str) -> None:
        if solver == "times":
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as thread:
        compared = pt.compare(["a", "haberman"], ["ipf", "newton"], repetitions=1, executor=thread, on_step=told)
    assert set(endings(compared).values()) == {"converged"}
    assert len(compared.runs) == 4
    assert compared.times.empty
    assert "interrupted" in compared.settings


def test_compare__by_the_processors_clock_threads_wait_for_each_other() -> None:
    present, most = [0], [0]

    class Counting:
        def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
            present[0] += 1
            most[0] = max(most[0], present[0])
            time.sleep(0.005)
            present[0] -= 1
            return iterate

    solvers = {f"number {n}": Counting() for n in range(3)}
    for clock, together in (("processor", 1), ("wall", 2)):
        most[0] = 0
        with ThreadPoolExecutor(3) as threads:
            compared = pt.compare("haberman", solvers, max_iterations=20, clock=clock, executor=threads)
        assert (most[0] >= together) if clock == "wall" else (most[0] == 1)
        assert compared.runs["peak_bytes"].isna().any() == (clock == "wall")


def test_compare__refuses_what_runs_nothing() -> None:
    with pytest.raises(pt.InvalidOptionError, match="executor must be None"):
        pt.compare("haberman", "ipf", executor="threads")
