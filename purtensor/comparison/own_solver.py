"""Solvers with a `step`, in the package's own loop; and `pt.project` as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from purtensor._typing import FloatArray
from purtensor.comparison.outcome import WARM_SECONDS, Outcome, calls_for, distances_to, divergence_to, judged_ending
from purtensor.comparison.peak_memory import peak_of
from purtensor.comparison.peers.peer import Line
from purtensor.comparison.questions import Question
from purtensor.comparison.rule import Ending, Rule
from purtensor.projection.interruption import is_interrupted
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.solving.iterate import Solver
from purtensor.solving.loop import Run, run
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.gis import GIS
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.newton import Newton
from purtensor.solving.stopping import Stopping

_COMPILED = 2**24
"""Bytes: what a first run may take more than the second for loading compiled code."""


class OwnEntry:
    """A solver in the shared loop; the arrays are prepared, every run starts without what earlier ones found out."""

    isolated: ClassVar[bool] = False

    def __init__(self, question: Question, rule: Rule, solver: Solver) -> None:
        self.question, self.rule, self.solver = question, rule, solver
        self.stopping = Stopping(rule.tolerance, "residual", rule.max_iterations, rule.max_seconds)
        self.calls = 1

    def _solve(self) -> Run:
        problem = replace(self.question.labelled.arrays)  # a new problem: what is known of structure belongs to the old
        return run(problem, self.solver, self.stopping)

    def _timed(self) -> tuple[Run, float]:
        began = self.rule.now()
        found = self._solve()
        return found, self.rule.now() - began

    def run(self) -> Outcome:
        """Return a run, judged; an error that the solver raises is its ending."""
        try:
            (found, seconds), peak = _measured(self._timed, lambda timed: timed[1])
        except Exception as error:  # whatever a solver raises is the ending of its run
            return Outcome(Ending.FAILED, _described(error))
        self.calls = calls_for(seconds)
        masses = self._on_support(found)
        problem = self.question.plain
        residual, l1 = problem.misses(masses)
        highest = _highest_dual(self.question) - _of_emptied(self.question.labelled.arrays)
        pace = seconds / found.seconds if found.seconds > 0 else 1.0  # the loop has the clock on the wall
        lines = tuple(
            Line(
                line.iteration,
                pace * line.seconds,
                line.record.residual,
                line.record.residual_l1,
                _gap(highest, line.record.dual),
            )
            for line in found.lines
        )
        return Outcome(
            judged_ending(self.rule, residual, l1, Ending[found.termination.name]),
            "; ".join(found.notes),
            residual,
            l1,
            divergence_to(problem, masses),
            lines[-1].dual_gap,
            found.iterations,
            self._touches(found),
            seconds,
            peak,
            lines,
            **distances_to(self.question, masses),
        )

    def _touches(self, found: Run) -> float:
        if found.touches is not None:
            return float(found.touches)
        return touches(self.solver, self.question.labelled.arrays) * found.iterations

    def time(self) -> float:
        """Return the seconds of one more run; NaN when it raises an error this time."""
        return _mean_seconds(self._solve, self.calls, self.rule)

    def close(self) -> None:
        """Nothing is held."""

    def _on_support(self, found: Run) -> FloatArray:
        labelled = self.question.labelled
        masses = np.zeros_like(self.question.plain.masses)
        masses[labelled.profiles] = found.iterate.masses / labelled.arrays.total
        return masses


class WholeCallEntry:
    """`pt.project` from labels to labels, its choice of solver and its verdict on feasibility included."""

    isolated: ClassVar[bool] = False

    def __init__(self, question: Question, rule: Rule) -> None:
        self.question, self.rule = question, rule
        self.calls = 1

    def _solve(self) -> Projection:
        return project(
            self.question.reference,
            self.question.constraints,
            tolerance=self.rule.tolerance,
            max_iterations=self.rule.max_iterations,
            max_seconds=self.rule.max_seconds,
            on_failure="return",
            certificate=False,
        )

    def _timed(self) -> tuple[Projection, float]:
        began = self.rule.now()
        found = self._solve()
        return found, self.rule.now() - began

    def run(self) -> Outcome:
        """Return a run, judged."""
        try:
            (found, seconds), peak = _measured(self._timed, lambda out: out[1])
        except Exception as error:  # such as more memory than there is
            return Outcome(Ending.FAILED, _described(error))
        self.calls = calls_for(seconds)
        problem = self.question.plain
        masses = np.asarray(found.table.values).reshape(-1)[self.question.coded.positions]
        masses = masses / self.question.labelled.total
        residual, l1 = problem.misses(masses)
        trace = found.trace
        highest = _highest_dual(self.question)
        lines = tuple(
            Line(int(iteration), float(at), float(largest), float(worst), _gap(highest, float(dual)))
            for iteration, at, largest, worst, dual in zip(
                trace["iteration"].values,
                trace["seconds"].values,
                trace["residual"].values,
                trace["residual_l1"].values,
                trace["dual"].values,
                strict=True,
            )
        )
        ending = judged_ending(self.rule, residual, l1, Ending[found.termination.name])
        return Outcome(
            ending,
            "; ".join(found.notes),
            residual,
            l1,
            divergence_to(problem, masses),
            lines[-1].dual_gap,
            found.iterations,
            math.nan,
            seconds,
            peak,
            lines,
            **distances_to(self.question, masses),
        )

    def time(self) -> float:
        """Return the seconds of one more call."""
        return _mean_seconds(self._solve, self.calls, self.rule)

    def close(self) -> None:
        """Nothing is held."""


def touches(solver: Any, problem: Problem) -> float:
    """Return how many profiles one iteration visits: its own word in `cell_touches(problem)`, or what is known of it.

    A sweep scales every profile once a constraint. Newton's step sums and rebuilds the masses and forms the Hessian
    from every pair of constraints; trials of its line search are not counted. NaN for what nobody knows.
    """
    count, profiles = problem.index.shape
    if callable(getattr(solver, "cell_touches", None)):
        return float(solver.cell_touches(problem))
    if isinstance(solver, (IPF, GIS)):
        return float(count * profiles)
    if isinstance(solver, Newton):
        return float((2 * count + count * (count - 1) // 2) * profiles)
    return math.nan


def _measured(call: Callable[[], Any], seconds_of: Callable[[Any], float]) -> tuple[Any, float]:
    """Return the result of a call, made again when the first may have been compiling, and the memory that it took."""
    result, peak = peak_of(call)
    if seconds_of(result) < WARM_SECONDS and not is_interrupted(result[0]):
        result, again = peak_of(call)
        peak = max(peak, again) if peak < _COMPILED else again
    return result, peak


def _mean_seconds(call: Callable[[], Any], calls: int, rule: Rule) -> float:
    began = rule.now()
    try:
        for _ in range(calls):
            if is_interrupted(call()):
                raise KeyboardInterrupt
    except Exception:  # recorded as a round without a time
        return math.nan
    return (rule.now() - began) / calls


def _highest_dual(question: Question) -> float:
    """Return the divergence of the certified answer, which is the maximum of the dual; NaN where none is proved."""
    answer = question.certified
    return answer.divergence if answer is not None and answer.certified else math.nan


def _of_emptied(problem: Problem) -> float:
    """Return what the loop's dual leaves out: the share of the reference that zero targets empty, in nats."""
    if problem.emptied is None:
        return 0.0
    return float(np.log1p(problem.emptied.masses.sum() / problem.reference.sum()))


def _gap(highest: float, dual: float) -> float:
    return max(0.0, highest - dual) if math.isfinite(highest - dual) else math.nan


def _described(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
