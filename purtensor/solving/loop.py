"""The one loop that every solver runs in, in any space: it counts, judges, stops and keeps the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from purtensor.kernels.compiling import wall_clock
from purtensor.solving.certificate import Certificate
from purtensor.solving.iterate import Budget, PointT, Record, Residual, Step, is_rounding
from purtensor.solving.run_state import LARGEST_CHUNK, Lines, State, TraceLine, next_stop
from purtensor.solving.spaces.space import P, Space
from purtensor.solving.stopping import Judge, Stopping, away_from_total, gain_of_scaling
from purtensor.solving.termination import Termination

_SECONDS_PER_STEP = 0.04
"""No step computes much longer before it comes back to Python, where Ctrl-C is heard."""


@dataclass(frozen=True, slots=True)
class Progress(Generic[PointT]):
    """What a callback gets after every step.

    Attributes
    ----------
    iteration, seconds
        So far.
    residual, residual_l1
        Of the last measured point, the total mass being 1.
    iterate
        The solver's point, an Iterate in memory; not to be changed.
    """

    iteration: int
    seconds: float
    residual: float
    residual_l1: float
    iterate: PointT


Callback = Callable[[Progress[P]], Any]
"""Called after every step; returning True ends the run."""


@dataclass(slots=True, eq=False)
class Run(Generic[PointT]):
    """The result of the loop: the last point, computed from its potentials, and how it was reached.

    `hurried` means that Ctrl-C ended the run, so that nothing more is computed. `touches` is the number of visits of
    profiles, if every step reported it.
    """

    iterate: PointT
    residual: Residual
    termination: Termination
    iterations: int
    seconds: float
    measured: Lines
    notes: list[str]
    certificate: Certificate | None
    hurried: bool = False
    touches: int | None = None

    @property
    def lines(self) -> list[TraceLine]:
        """The measured iterations."""
        return list(self.measured)


@dataclass(slots=True, eq=False)
class Stage(Generic[P]):
    """What the loop works on: a space, where the run stands there, and how it moves and proves.

    Attributes
    ----------
    step
        The solver's step in this space.
    certify
        What is proved of a point; None where nothing is to be proved on the way.
    """

    space: Space[P]
    state: State[P]
    step: Callable[[P, Budget], Step[P]]
    certify: Callable[[P], Certificate] | None = None


def begin(space: Space[P], point: P, *, at_reference: bool = True) -> State[P]:
    """Return the state of a run that begins at a point, the reference or another."""
    record, emptying = (
        _measure(space, point, space.residual(point), 0.0),
        space.emptying_gain() if at_reference else 0.0,
    )
    record = record._replace(dual=record.dual - emptying)  # the first iteration starts from the whole reference
    return State(point, Lines(TraceLine(record, 0, 0.0)), chunk=0, emptying=emptying)


def run_stage(
    stage: Stage[P],
    stopping: Stopping,
    callback: Callback[P] | None = None,
    is_hopeless: Callable[[], bool] | None = None,
) -> Run[P]:
    """Go on with a run to one of its endings; the state changes in place, and is kept after every step.

    Ctrl-C ends the run with the state so far; a callback that returns True does the same. `is_hopeless` is asked when
    progress is suspiciously slow: it returns whether it is proved that the problem has no solution in the interior.
    """
    space, state = stage.space, stage.state
    judge, is_new = Judge(space, stopping, stage.certify), state.chunk == 0
    # dated back, so that the clock of a resumed run goes on from the seconds before
    started = wall_clock() - state.seconds
    # chunks grow from 1 where a callback looks on, or where the time limit is shorter than a step
    state.chunk = space.first_chunk() if callback is None and stopping.max_seconds >= _SECONDS_PER_STEP else 1
    ending = Termination.CONVERGED if judge.is_met(state.point, state.lines.last) else None
    if is_new and ending is not None:  # without an iteration: the profiles of zero targets are empty all the same
        line = state.lines.last
        line.record = line.record._replace(dual=line.record.dual + state.emptying)
    # a resumed run may have used up its time before; a new one makes a step whatever the limit
    if not is_new and ending is None and state.seconds > stopping.max_seconds:
        ending = Termination.TIME_LIMIT
    try:
        while ending is None:
            if is_hopeless is not None and state.raises_doubts() and is_hopeless():
                ending = Termination.HOPELESS
            else:
                ending = _advance(stage, judge, started, callback)
    except KeyboardInterrupt:
        ending, state.hurried = Termination.INTERRUPTED, True
    return _finish(stage, judge, started, ending)


def _advance(stage: Stage[P], judge: Judge[P], started: float, callback: Callback[P] | None) -> Termination | None:
    """Make one step and return the ending that it brought, if any."""
    space, state, stopping = stage.space, stage.state, judge.stopping
    left = stopping.max_iterations - state.iterations
    if left <= 0:
        return Termination.ITERATION_LIMIT
    # many sweeps a call: on small tables a call from Python costs more than a sweep
    stop = next_stop(state.iterations, space.first_chunk())
    room = min(state.chunk, left, stop - state.iterations)
    before = wall_clock()
    step = stage.step(state.point, judge.budget(room))
    after = wall_clock()
    if step.iterations == 0:  # a part of the next iteration: no line, no callback
        state.point, state.seconds = step.iterate, after - started
        space.keep(state)
        return None
    begun = state.iterations
    _absorb(space, state, step, before, after, started)
    space.keep(state)
    state.chunk = _next_chunk(state.chunk, step.iterations == room, after - before)
    last = state.lines.last
    residual = Residual(last.record.residual, last.record.residual_l1)
    # the order of these endings matters: a run that meets its targets and stalls in one step has converged
    if not residual.finite:
        return Termination.NOT_FINITE
    # a solver may record few of its sweeps: the line of an earlier one says nothing of this point
    if last.iteration == state.iterations and judge.is_met(state.point, last):
        return Termination.CONVERGED
    _watch(state, step, begun)
    # how far a step goes depends on the clock, so what a run says of itself on the way is heard at stops only
    is_stop = state.iterations >= min(stop, stopping.max_iterations)
    if step.stalled or (is_stop and _stands_still(state, step.judged, space.constraints)):
        return Termination.STALLED
    if is_stop and state.gets_nowhere(stopping.max_iterations):
        return Termination.STALLED
    if callback is not None and callback(
        Progress(state.iterations, after - started, residual.largest, residual.l1, state.point)
    ):
        return Termination.INTERRUPTED
    return Termination.TIME_LIMIT if after - started > stopping.max_seconds else None


def _watch(state: State[P], step: Step[P], begun: int) -> None:
    """Show the residuals of a step, each by its iteration, to the watch for standstills."""
    if not step.records and state.lines.last.iteration < state.iterations:  # judged, but not measured
        return
    state.standstill.take(begun, step.records or [state.lines.last.record._replace(iteration=state.iterations - begun)])


def _stands_still(state: State[P], judged: bool, constraints: int) -> bool:
    """Return whether the last gain is rounding, or a window of iterations gained nothing, which is noted."""
    if state.standstill.reached is not None:
        state.notes.append(f"the residual in L1 stagnates near {state.standstill.reached:.1e} because of rounding")
        return True
    # a solver that does not judge its iterations may lose in one and gain in the next
    return judged and is_rounding(state.lines.last.record.kl_step, constraints)


def _absorb(space: Space[P], state: State[P], step: Step[P], before: float, after: float, started: float) -> None:
    """Take over the new point, and the records of the way to it with interpolated times."""
    # records carry no times: those within a step are interpolated
    begun, pace = before - started, (after - before) / max(1, step.iterations)
    records = step.records
    # the dual began lower by this much (see `begin`), which the first iteration gains
    if state.emptying and state.iterations == 0 and records and records[0].iteration == 1:
        records = (records[0]._replace(kl_step=records[0].kl_step + state.emptying), *records[1:])
    state.lines.add_call(records, state.iterations, begun, pace)
    state.point, state.doubtful, state.seconds = step.iterate, step.doubtful, after - started
    state.iterations += step.iterations
    state.touches = None if state.touches is None or step.touches is None else state.touches + step.touches
    last = state.lines.last
    # neither measured nor compared by the solver: this costs a pass over the masses
    if last.iteration < state.iterations and not (step.judged or step.records):
        # kl_step is the gain of one iteration: unknown where several lie between two lines
        dual_before = last.record.dual if last.iteration == state.iterations - 1 else float("nan")
        record = _measure(space, state.point, space.residual(state.point), dual_before)
        state.lines.add(TraceLine(record, state.iterations, after - started))
    if step.note and (not state.notes or state.notes[-1] != step.note):
        state.notes.append(step.note)


def _measure(space: Space[P], point: P, residual: Residual, dual_before: float) -> Record:
    dual = space.dual(point)
    return Record(0, residual.largest, residual.l1, dual - dual_before, dual)


def _next_chunk(chunk: int, is_used: bool, seconds: float) -> int:
    if seconds > _SECONDS_PER_STEP:
        return max(1, int(chunk * _SECONDS_PER_STEP / seconds))
    return min(2 * chunk, LARGEST_CHUNK) if is_used else chunk


def _finish(stage: Stage[P], judge: Judge[P], started: float, ending: Termination) -> Run[P]:
    """Return the run, its last line being that of the point which is returned."""
    space, state = stage.space, stage.state
    # returned is what the potentials make: masses scaled in place may have drifted off the family
    last = judge.rebuild(state.point, quickly=state.hurried)
    state.seconds = seconds = wall_clock() - started
    line = state.lines.last
    if line.iteration != state.iterations:
        record = _measure(space, last.point, last.residual, float("nan"))
        state.lines.add(TraceLine(record, state.iterations, seconds))
    # the constant that brings the masses to their total gains something, too
    elif last.was_scaled:
        gained = gain_of_scaling(away_from_total(space.mass(state.point), space.total))
        line.record = line.record._replace(
            residual=last.residual.largest,
            residual_l1=last.residual.l1,
            kl_step=line.record.kl_step + gained,
            dual=space.dual(last.point),
        )
    return Run(
        iterate=last.point,
        residual=last.residual,
        termination=ending,
        iterations=state.iterations,
        seconds=seconds,
        measured=state.lines,
        notes=state.notes,
        certificate=judge.certificate_of(state.point),
        hurried=state.hurried,
        touches=state.touches if state.iterations else None,
    )
