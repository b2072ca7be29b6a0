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
from purtensor.solving.iterate import Iterate, Record, Residual, Solver, Step, iterate_at
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.spaces.space import Space
from purtensor.solving.stopping import Judge, Stopping, away_from_total, gained_by_scaling
from purtensor.solving.termination import Termination
from purtensor.solving.trace_lines import Lines, TraceLine

PATIENCE = 1000
"""Iterations before a long run is doubted for the first time; the next comes after twice as many."""

LITTLE = 0.3
"""A residual that the second half of the iterations leaves above this share of what it was raises doubts."""

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
class State:
    """Where a run stands: what a checkpoint holds, and all that decides how it goes on."""

    point: Any
    lines: Lines
    iterations: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    chunk: int = 1
    doubtful: bool = False
    asked: int = 0
    emptying: float = 0.0
    hurried: bool = False

    def is_doubtful(self) -> bool:
        """Tell whether the solver doubts, or a long run has gained little over its second half.

        On the boundary IPF's residual falls like 1 / n, and without a solution it stays; slow interior problems look
        like that for a while, so this is asked as the iterations pass 1,000, 2,000, 4,000, ... only.
        """
        slow = False
        if _octave(self.iterations) > _octave(self.asked):
            now = self.lines.last.record.residual_l1
            half = [line for line in self.lines if line.iteration <= self.iterations // 2]
            slow = bool(half) and now > LITTLE * half[-1].record.residual_l1
        self.asked = self.iterations
        return self.doubtful or slow


def _octave(iterations: int) -> int:
    return (iterations // PATIENCE).bit_length()


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
    """Return the run of a solver from `start` (the reference when None) to one of its endings."""
    space = ArraySpace(problem)
    point = space.start() if start is None else iterate_at(problem, start)
    certify = None if certifier is None else lambda point: certifier.certify(iterate_at(problem, point.potentials))
    return run_in(space, solver, stopping, begun(space, point, afresh=start is None), certify, callback, is_hopeless)


def begun(space: Space[Any], point: Any, *, afresh: bool = True) -> State:
    """Return the state of a run that begins at a point: `afresh` at the reference itself."""
    first = space.residual(point)
    line = TraceLine(_measured(space, point, first, 0.0), 0, 0.0)
    return State(point, Lines(line), chunk=0, emptying=space.emptying() if afresh else 0.0)


def run_in(
    space: Space[Any],
    solver: Any,
    stopping: Stopping,
    state: State,
    certify: Callable[[Any], Certificate] | None = None,
    callback: Callable[[Progress], Any] | None = None,
    is_hopeless: Callable[[], bool] | None = None,
) -> Run:
    """Go on with a run to one of its endings; the state changes in place, and is kept after every step.

    Ctrl-C ends the run with the state so far; a callback that returns True does the same. `is_hopeless` is asked when
    the progress raises doubts: whether it is proved that the solver works for a point that does not exist.
    """
    judge, begins = Judge(space, stopping, certify), state.chunk == 0
    started = time.perf_counter() - state.seconds
    state.chunk = space.chunk() if callback is None and stopping.max_seconds >= _SECONDS_PER_STEP else 1
    ending = Termination.CONVERGED if judge.is_met(state.point, state.lines.last) else None
    if begins and ending is None and state.emptying:  # the first iteration starts from the whole reference
        line = state.lines.last
        line.record = line.record._replace(dual=line.record.dual - state.emptying)
    if not begins and ending is None and state.seconds > stopping.max_seconds:
        ending = Termination.TIME_LIMIT
    try:
        while ending is None:
            if is_hopeless is not None and state.is_doubtful() and is_hopeless():
                ending = Termination.HOPELESS
            else:
                ending = _advance(space, solver, judge, state, started, callback)
    except KeyboardInterrupt:
        ending, state.hurried = Termination.INTERRUPTED, True
    return _finished(space, judge, state, started, ending)


def _advance(
    space: Space[Any],
    solver: Any,
    judge: Judge,
    state: State,
    started: float,
    callback: Callable[[Progress], Any] | None,
) -> Termination | None:
    """Make one step and return the ending that it brought, if any."""
    left = judge.stopping.max_iterations - state.iterations
    if left <= 0:
        return Termination.ITERATION_LIMIT
    before = time.perf_counter()
    step = step_of(space, solver, state.point, judge.budget(min(state.chunk, left)))
    after = time.perf_counter()
    if step.iterations == 0:  # a part of the next iteration
        state.point, state.seconds = step.iterate, after - started
        space.keep(state)
        return None
    _absorb(space, state, step, before, after, started)
    space.keep(state)
    state.chunk = _next_chunk(state.chunk, step.iterations, after - before)
    last = state.lines.last
    residual = Residual(last.record.residual, last.record.residual_l1)
    if not residual.finite:
        return Termination.NOT_FINITE
    current = last.iteration == state.iterations
    if current and judge.is_met(state.point, last):
        return Termination.CONVERGED
    if step.stalled:
        return Termination.STALLED
    if callback is not None and callback(
        Progress(state.iterations, after - started, residual.largest, residual.l1, state.point)
    ):
        return Termination.INTERRUPTED
    if after - started > judge.stopping.max_seconds:
        return Termination.TIME_LIMIT
    return None


def step_of(space: Space[Any], solver: Any, point: Any, budget: Any) -> Step:
    """Return a solver's step: of one written over spaces, or over the arrays of a Problem."""
    step_in = getattr(solver, "step_in", None)
    if step_in is not None:
        return step_in(space, point, budget)
    if not isinstance(space, ArraySpace):
        raise InvalidOptionError(f"{type(solver).__qualname__} needs a problem whose arrays are in memory")
    return as_step(space.problem, solver.step(space.problem, point, budget))


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


def _absorb(space: Space[Any], state: State, step: Step, before: float, after: float, started: float) -> None:
    """Take over the new point, and the records of the way to it with interpolated times."""
    begun, pace = before - started, (after - before) / max(1, step.iterations)
    records = step.records
    if state.emptying and state.iterations == 0 and records and records[0].iteration == 1:
        records = (records[0]._replace(kl_step=records[0].kl_step + state.emptying), *records[1:])
    state.lines.add_call(records, state.iterations, begun, pace)
    state.point, state.doubtful, state.seconds = step.iterate, step.doubtful, after - started
    state.iterations += step.iterations
    last = state.lines.last
    if last.iteration < state.iterations and not (step.judged or step.records):
        dual_before = last.record.dual if last.iteration == state.iterations - 1 else float("nan")
        line = _measured(space, state.point, space.residual(state.point), dual_before)
        state.lines.add(TraceLine(line, state.iterations, after - started))
    if step.note and (not state.notes or state.notes[-1] != step.note):
        state.notes.append(step.note)


def _measured(space: Space[Any], point: Any, residual: Residual, dual_before: float) -> Record:
    dual = space.dual(point)
    return Record(0, residual.largest, residual.l1, dual - dual_before, dual)


def _next_chunk(chunk: int, made: int, seconds: float) -> int:
    if seconds > _SECONDS_PER_STEP:
        return max(1, int(chunk * _SECONDS_PER_STEP / seconds))
    return chunk if made < chunk else min(2 * chunk, 1 << 20)


def _finished(space: Space[Any], judge: Judge, state: State, started: float, ending: Termination) -> Run:
    last, residual = judge.rebuilt(state.point, quickly=state.hurried)
    state.seconds = seconds = time.perf_counter() - started
    line = state.lines.last
    if line.iteration != state.iterations:
        state.lines.add(TraceLine(_measured(space, last, residual, float("nan")), state.iterations, seconds))
    elif space.was_scaled(state.point, last):  # the line tells what is returned
        gained = gained_by_scaling(away_from_total(space.mass(state.point), space.total))
        line.record = line.record._replace(
            residual=residual.largest,
            residual_l1=residual.l1,
            kl_step=line.record.kl_step + gained,
            dual=space.dual(last),
        )
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
