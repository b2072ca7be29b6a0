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
    Budget,
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
from purtensor.solving.lines import Lines
from purtensor.solving.lines import TraceLine as TraceLine
from purtensor.solving.problem import Problem
from purtensor.solving.termination import Termination

L1_FACTOR = 100
"""Met means: residual within the tolerance, and residual_l1 within this many tolerances."""

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
class Stopping:
    """When to stop: the tolerance and on what it is judged, and the limits."""

    tolerance: float
    stop_on: str
    max_iterations: int
    max_seconds: float

    @property
    def residual(self) -> float:
        """The largest residual that counts as met."""
        return self.tolerance if self.stop_on == "residual" else 0.0

    @property
    def residual_l1(self) -> float:
        """The largest residual in L1 that counts as met."""
        return L1_FACTOR * self.residual


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
    certificate: Certificate | None = None
    final: tuple[Iterate, Residual] | None = None
    hurried: bool = False
    doubtful: bool = False
    next_doubt: int = PATIENCE
    emptying: float = 0.0
    asked_at: float = 0.0

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
    state = _State(iterate, started, Lines(line), asked_at=2 * stopping.tolerance)
    if callback is None and stopping.max_seconds >= _SECONDS_PER_STEP:
        most, reads = _FIRST_CHUNK
        state.chunk = max(1, min(most, reads // max(1, problem.index.size)))
    ending = Termination.CONVERGED if _is_met(problem, state, first, stopping, certifier) else None
    if start is None and ending is None:  # the first iteration starts from the whole reference
        state.emptying = emptying_gain(problem)
        line.record = line.record._replace(dual=line.record.dual - state.emptying)
    try:
        while ending is None:
            ending = _advance(problem, solver, stopping, certifier, state, callback)
            if ending is None and is_hopeless is not None and state.is_doubtful() and is_hopeless():
                ending = Termination.HOPELESS
    except KeyboardInterrupt:
        ending, state.hurried = Termination.INTERRUPTED, True
    return _finished(problem, state, ending)


def _advance(
    problem: Problem,
    solver: Solver,
    stopping: Stopping,
    certifier: Certifier | None,
    state: _State,
    callback: Callable[[Progress], Any] | None,
) -> Termination | None:
    """Make one step and return the ending that it brought, if any."""
    left = stopping.max_iterations - state.iterations
    if left <= 0:
        return Termination.ITERATION_LIMIT
    before = time.perf_counter()
    iterations = min(state.chunk, left)
    if stopping.stop_on == "tv_bound":
        budget = Budget(iterations, float("inf"), state.asked_at)
    else:
        budget = Budget(iterations, stopping.residual, stopping.residual_l1)
    step = as_step(problem, solver.step(problem, state.iterate, budget))
    after = time.perf_counter()
    _absorb(problem, state, step, before, after)
    state.chunk = _next_chunk(state.chunk, step.iterations, after - before)
    last = state.lines.last
    residual = Residual(last.record.residual, last.record.residual_l1)
    if not residual.finite:
        return Termination.NOT_FINITE
    current = last.iteration == state.iterations
    if current and _is_met(problem, state, residual, stopping, certifier):
        return Termination.CONVERGED
    if step.stalled:
        return Termination.STALLED
    if callback is not None and callback(
        Progress(state.iterations, after - state.started, residual.largest, residual.l1, state.iterate)
    ):
        return Termination.INTERRUPTED
    if after - state.started > stopping.max_seconds:
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


def _is_met(
    problem: Problem, state: _State, residual: Residual, stopping: Stopping, certifier: Certifier | None
) -> bool:
    """Judge the point that would be returned: the masses rebuilt from the potentials, not the solver's own."""
    if stopping.stop_on == "tv_bound":
        return _is_certified(problem, state, residual, stopping, certifier)
    if not (residual.largest <= stopping.residual and residual.l1 <= stopping.residual_l1):
        return False
    state.final = _rebuilt(problem, state.iterate)
    _, judged = state.final
    return judged.largest <= stopping.residual and judged.l1 <= stopping.residual_l1


def _rebuilt(problem: Problem, iterate: Iterate) -> tuple[Iterate, Residual]:
    """Return a point as its potentials make it, and its residual."""
    rebuilt = iterate_at(problem, iterate.potentials)
    return rebuilt, residual_of(problem, rebuilt.masses)


def _is_certified(
    problem: Problem, state: _State, residual: Residual, stopping: Stopping, certifier: Certifier | None
) -> bool:
    """Ask for a certificate where the residual makes one likely: it costs about a Newton iteration.

    A residual in L1 is at most twice the distance in total variation, so nothing is asked before it can be met. From
    then on the residual is awaited at which the bound would be met if it fell as the residual does, half at the least.
    """
    if certifier is None or residual.l1 > state.asked_at:
        return False
    state.certificate = certifier.certify(iterate_at(problem, state.iterate.potentials))
    reached = state.certificate.tv_bound
    state.lines.last.tv_bound = reached
    if reached > stopping.tolerance:
        state.asked_at = residual.l1 * min(0.95, max(0.5, stopping.tolerance / reached))
    return reached <= stopping.tolerance


def _finished(problem: Problem, state: _State, ending: Termination) -> Run:
    if state.final is None or state.final[0].potentials is not state.iterate.potentials:
        state.final = _rebuilt(problem, state.iterate)
    last, residual = state.final
    seconds = time.perf_counter() - state.started
    if state.lines.last.iteration != state.iterations:
        state.lines.add(TraceLine(_measured(problem, last, residual, float("nan")), state.iterations, seconds))
    return Run(
        iterate=last,
        residual=residual,
        termination=ending,
        iterations=state.iterations,
        seconds=seconds,
        measured=state.lines,
        notes=state.notes,
        certificate=state.certificate,
        hurried=state.hurried,
    )
