"""The one loop that every solver runs in: it counts, judges, stops and keeps the trace."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.solving.certificate import Certificate, Certifier
from purtensor.solving.iterate import (
    Iterate,
    Record,
    Residual,
    Solver,
    Step,
    dual_at,
    emptying_gain,
    iterate_at,
    residual_of,
    starting_potentials,
)
from purtensor.solving.lines import Lines, TraceLine
from purtensor.solving.problem import Problem
from purtensor.solving.stopping import Judge, Stopping, away_from_total, gained_by_scaling
from purtensor.solving.termination import Termination

PATIENCE = 1000
"""Iterations before a long run is doubted for the first time; the next comes after twice as many."""

LITTLE = 0.3
"""A residual that the second half of the iterations leaves above this share of what it was raises doubts."""

_FIRST_CHUNK = (64, 1 << 16)
"""How many iterations the first step takes at most, and how many profiles of constraints it reads in all.

On small tables a call costs more than an iteration, and most end within the first call.
"""

_SECONDS_PER_STEP = 0.04
"""No step computes much longer before it comes back to Python, where Ctrl-C is heard."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a callback is told after every step.

    Attributes
    ----------
    iteration, seconds
        So far.
    residual, residual_l1
        Of the last measured point, the total mass being 1.
    iterate
        The solver's arrays; not to be changed.
    """

    iteration: int
    seconds: float
    residual: float
    residual_l1: float
    iterate: Iterate


@dataclass(slots=True, eq=False)
class Run:
    """What came out of the loop: the last point, as its potentials make it, and how it was reached.

    `hurried` tells that Ctrl-C ended it: whoever pressed it waits.
    """

    iterate: Iterate
    residual: Residual
    termination: Termination
    iterations: int
    seconds: float
    measured: Lines
    notes: list[str]
    certificate: Certificate | None
    hurried: bool = False

    @property
    def lines(self) -> list[TraceLine]:
        """The measured iterations."""
        return list(self.measured)


@dataclass(slots=True, eq=False)
class _State:
    iterate: Iterate
    started: float
    lines: Lines
    iterations: int = 0
    notes: list[str] = field(default_factory=list)
    chunk: int = 1
    hurried: bool = False
    doubtful: bool = False
    next_doubt: int = PATIENCE
    emptying: float = 0.0

    def is_doubtful(self) -> bool:
        """Tell whether the solver doubts, or a long run has gained little over its second half.

        On the boundary IPF's residual falls like 1 / n, and without a solution it stays; slow interior problems look
        like that for a while, so this is asked at doubling numbers of iterations only.
        """
        slow = False
        if self.iterations >= self.next_doubt:
            self.next_doubt = 2 * self.iterations
            now = self.lines.last.record.residual_l1
            half = [line for line in self.lines if line.iteration <= self.iterations // 2]
            slow = bool(half) and now > LITTLE * half[-1].record.residual_l1
        return self.doubtful or slow


def run(
    problem: Problem,
    solver: Solver,
    stopping: Stopping,
    certifier: Certifier | None = None,
    *,
    start: FloatArray | None = None,
    callback: Callable[[Progress], Any] | None = None,
    is_hopeless: Callable[[], bool] | None = None,
) -> Run:
    """Return the run of a solver from `start` (the reference when None) to one of its endings.

    Ctrl-C ends the run with the state so far; a callback that returns True does the same. `is_hopeless` is asked when
    the progress raises doubts: whether it is proved that the solver works for a point that does not exist.
    """
    iterate = iterate_at(problem, starting_potentials(problem) if start is None else start)
    started = time.perf_counter()
    first = residual_of(problem, iterate.masses)
    line = TraceLine(_measured(problem, iterate, first, 0.0), 0, 0.0)
    state, judge = _State(iterate, started, Lines(line)), Judge(problem, stopping, certifier)
    if callback is None and stopping.max_seconds >= _SECONDS_PER_STEP:
        most, reads = _FIRST_CHUNK
        state.chunk = max(1, min(most, reads // max(1, problem.index.size)))
    ending = Termination.CONVERGED if judge.is_met(iterate, line) else None
    if start is None and ending is None:  # the first iteration starts from the whole reference
        state.emptying = emptying_gain(problem)
        line.record = line.record._replace(dual=line.record.dual - state.emptying)
    try:
        while ending is None:
            ending = _advance(problem, solver, judge, state, callback)
            if ending is None and is_hopeless is not None and state.is_doubtful() and is_hopeless():
                ending = Termination.HOPELESS
    except KeyboardInterrupt:
        ending, state.hurried = Termination.INTERRUPTED, True
    return _finished(problem, judge, state, ending)


def _advance(
    problem: Problem,
    solver: Solver,
    judge: Judge,
    state: _State,
    callback: Callable[[Progress], Any] | None,
) -> Termination | None:
    """Make one step and return the ending that it brought, if any."""
    left = judge.stopping.max_iterations - state.iterations
    if left <= 0:
        return Termination.ITERATION_LIMIT
    before = time.perf_counter()
    step = as_step(problem, solver.step(problem, state.iterate, judge.budget(min(state.chunk, left))))
    after = time.perf_counter()
    _absorb(problem, state, step, before, after)
    state.chunk = _next_chunk(state.chunk, step.iterations, after - before)
    last = state.lines.last
    residual = Residual(last.record.residual, last.record.residual_l1)
    if not residual.finite:
        return Termination.NOT_FINITE
    current = last.iteration == state.iterations
    if current and judge.is_met(state.iterate, last):
        return Termination.CONVERGED
    if step.stalled:
        return Termination.STALLED
    if callback is not None and callback(
        Progress(state.iterations, after - state.started, residual.largest, residual.l1, state.iterate)
    ):
        return Termination.INTERRUPTED
    if after - state.started > judge.stopping.max_seconds:
        return Termination.TIME_LIMIT
    return None


def as_step(problem: Problem, moved: Any) -> Step:
    """Return what a solver's `step` gave as a Step: an Iterate or bare potentials count as one iteration."""
    if isinstance(moved, Step):
        return moved
    if isinstance(moved, Iterate):
        return Step(moved)
    if isinstance(moved, np.ndarray) and moved.shape == (problem.system.rows,):
        return Step(iterate_at(problem, moved))
    raise InvalidOptionError(
        f"a solver's step returns a Step, an Iterate or an array of {problem.system.rows} potentials, "
        f"this is {type(moved).__qualname__}"
    )


def _absorb(problem: Problem, state: _State, step: Step, before: float, after: float) -> None:
    """Take over the new point, and the records of the way to it with interpolated times."""
    begun, pace = before - state.started, (after - before) / max(1, step.iterations)
    records = step.records
    if state.emptying and state.iterations == 0 and records and records[0].iteration == 1:
        records = (records[0]._replace(kl_step=records[0].kl_step + state.emptying), *records[1:])
    state.lines.add_call(records, state.iterations, begun, pace)
    state.iterate = step.iterate
    state.doubtful = step.doubtful
    state.iterations += step.iterations
    last = state.lines.last
    if last.iteration < state.iterations and not (step.judged or step.records):
        residual = residual_of(problem, state.iterate.masses)
        dual_before = last.record.dual if last.iteration == state.iterations - 1 else float("nan")
        line = _measured(problem, state.iterate, residual, dual_before)
        state.lines.add(TraceLine(line, state.iterations, after - state.started))
    if step.note and (not state.notes or state.notes[-1] != step.note):
        state.notes.append(step.note)


def _measured(problem: Problem, iterate: Iterate, residual: Residual, dual_before: float) -> Record:
    dual = dual_at(problem, iterate)
    return Record(0, residual.largest, residual.l1, dual - dual_before, dual)


def _next_chunk(chunk: int, made: int, seconds: float) -> int:
    if seconds > _SECONDS_PER_STEP:
        return max(1, int(chunk * _SECONDS_PER_STEP / seconds))
    return chunk if made < chunk else min(2 * chunk, 1 << 20)


def _finished(problem: Problem, judge: Judge, state: _State, ending: Termination) -> Run:
    last, residual = judge.rebuilt(state.iterate)
    seconds = time.perf_counter() - state.started
    line = state.lines.last
    if line.iteration != state.iterations:
        state.lines.add(TraceLine(_measured(problem, last, residual, float("nan")), state.iterations, seconds))
    elif last.potentials is not state.iterate.potentials:  # scaled: the line tells what is returned
        gained = gained_by_scaling(away_from_total(float(state.iterate.masses.sum()), problem.total))
        line.record = line.record._replace(
            residual=residual.largest, residual_l1=residual.l1,
            kl_step=line.record.kl_step + gained, dual=dual_at(problem, last),
        )  # fmt: skip
    return Run(
        iterate=last,
        residual=residual,
        termination=ending,
        iterations=state.iterations,
        seconds=seconds,
        measured=state.lines,
        notes=state.notes,
        certificate=judge.certificate,
        hurried=state.hurried,
    )
