"""What runs in this process: solvers with a `step` in the package's own loop, and `pt.project` as a whole."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from purtensor.comparison.machine import peak_of
from purtensor.comparison.outcome import WARM_SECONDS, Outcome, calls_for, judge
from purtensor.comparison.peers.peer import Line
from purtensor.comparison.questions import Question
from purtensor.comparison.rule import Ending, Rule
from purtensor.projection.deliver import is_interrupted
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.solving.iterate import Solver
from purtensor.solving.loop import Run
from purtensor.solving.problem import Problem
from purtensor.solving.solve import run
from purtensor.solving.solvers.gis import GIS
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.newton import Newton
from purtensor.solving.stopping import Stopping

# bytes: what a first run may take more than the second for loading compiled code
_COMPILED = 2**24


class Entry(ABC):
    """A contender on one problem, ready to run.

    Attributes
    ----------
    isolated
        Whether it runs in a separate process, so that its memory can be measured.
    """

    isolated: ClassVar[bool] = False

    def __init__(self, question: Question, rule: Rule) -> None:
        self.question, self.rule = question, rule
        self.calls = 1

    @abstractmethod
    def run(self) -> Outcome:
        """Return a run, judged; an error that the solver raises is its ending."""

    @abstractmethod
    def time(self) -> float:
        """Return the seconds of one more run; NaN if it raises an error this time."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the entry holds."""


class _OwnEntry(Entry):
    """An entry that runs in this process."""

    @abstractmethod
    def _solve(self) -> Any:
        """Return what one run gives."""

    @abstractmethod
    def _judge(self, found: Any, seconds: float, peak: float) -> Outcome:
        """Return a run, judged."""

    def run(self) -> Outcome:
        """Return a run, judged; it is made again if the first may have been compiling."""
        try:
            (found, seconds), peak = peak_of(self._solve_timed)
            if seconds < WARM_SECONDS and not is_interrupted(found):
                (found, seconds), again = peak_of(self._solve_timed)
                peak = max(peak, again) if peak < _COMPILED else again
        except Exception as error:  # whatever a solver raises is the ending of its run
            return Outcome(Ending.FAILED, " ".join(f"{type(error).__name__}: {error}".split()))
        self.calls = calls_for(seconds)
        return self._judge(found, seconds, peak)

    def time(self) -> float:
        """Return the seconds of one more run; NaN if it raises an error this time."""
        began = self.rule.now()
        try:
            for _ in range(self.calls):
                if is_interrupted(self._solve()):
                    raise KeyboardInterrupt
        except Exception:  # recorded as a round without a time
            return math.nan
        return (self.rule.now() - began) / self.calls

    def close(self) -> None:
        """Nothing is held."""

    def _solve_timed(self) -> tuple[Any, float]:
        began = self.rule.now()
        found = self._solve()
        return found, self.rule.now() - began

    def _gap(self, dual: float, left_out: float = 0.0) -> float:
        """Return how far a dual value is below its maximum, the divergence of the certified answer; NaN without one."""
        answer = self.question.certified
        if answer is None or not answer.certified:
            return math.nan
        gap = answer.divergence - left_out - dual
        return max(0.0, gap) if math.isfinite(gap) else math.nan


class StepEntry(_OwnEntry):
    """A solver in the shared loop; the arrays are prepared, every run starts without what earlier ones found out."""

    def __init__(self, question: Question, rule: Rule, solver: Solver) -> None:
        super().__init__(question, rule)
        self.solver = solver
        self.stopping = Stopping(rule.tolerance, "residual", rule.max_iterations, rule.max_seconds)

    def _solve(self) -> Run:
        problem = replace(self.question.labelled.arrays)  # a new problem: what is known of structure belongs to the old
        return run(problem, self.solver, self.stopping)

    def _judge(self, found: Run, seconds: float, peak: float) -> Outcome:
        labelled = self.question.labelled
        masses = np.zeros_like(self.question.plain.masses)
        masses[labelled.profiles] = found.iterate.masses / labelled.arrays.total
        emptied = _divergence_of_emptied(labelled.arrays)
        pace = seconds / found.seconds if found.seconds > 0 else 1.0  # the loop has the clock on the wall
        lines = tuple(
            Line(
                line.iteration,
                pace * line.seconds,
                line.record.residual,
                line.record.residual_l1,
                self._gap(line.record.dual, emptied),
            )
            for line in found.lines
        )
        visits = touches(self.solver, labelled.arrays) * found.iterations if found.touches is None else found.touches
        return judge(
            self.question,
            self.rule,
            masses,
            Ending[found.termination.name],
            note="; ".join(found.notes),
            iterations=found.iterations,
            cell_touches=float(visits),
            seconds=seconds,
            peak_bytes=peak,
            lines=lines,
        )


class WholeCallEntry(_OwnEntry):
    """`pt.project` from labels to labels, its choice of solver and its verdict on feasibility included."""

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

    def _judge(self, found: Projection, seconds: float, peak: float) -> Outcome:
        masses = np.asarray(found.table.values).reshape(-1)[self.question.coded.positions]
        columns = ("iteration", "seconds", "residual", "residual_l1", "dual")
        trace = zip(*(found.trace[name].values.tolist() for name in columns), strict=True)
        return judge(
            self.question,
            self.rule,
            masses / self.question.labelled.total,
            Ending[found.termination.name],
            note="; ".join(found.notes),
            iterations=found.iterations,
            seconds=seconds,
            peak_bytes=peak,
            lines=tuple(Line(n, at, largest, l1, self._gap(dual)) for n, at, largest, l1, dual in trace),
        )


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


def _divergence_of_emptied(problem: Problem) -> float:
    """Return what the loop's dual leaves out: the share of the reference that zero targets empty, in nats."""
    if problem.emptied is None:
        return 0.0
    return float(np.log1p(problem.emptied.masses.sum() / problem.reference.sum()))
