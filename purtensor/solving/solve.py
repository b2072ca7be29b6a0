"""A run to its answer: on the problem as it was given, then on the face that forced zeros leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from purtensor.solving.certificate import Certificate
from purtensor.solving.loop import Progress, Run, State, run_in
from purtensor.solving.spaces.space import Space
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination


class Verdict(Protocol):
    """The verdict on one problem, found at most once, when it is asked for."""

    def is_hopeless(self) -> bool: ...
    def is_refuted(self) -> bool: ...
    def face(self, space: Any, state: State) -> tuple[Any, State]:
        """Return what the implied zeros leave, and the state of a run that begins there."""
        ...


Certify = Callable[[Space[Any]], Callable[[Any], Certificate]]


def solve(
    space: Space[Any],
    solver: Any,
    stopping: Stopping,
    state: State,
    verdict: Verdict | None,
    certify: Certify,
    callback: Callable[[Progress], Any] | None = None,
    before: tuple[int, float] | None = None,
) -> tuple[Space[Any], Run]:
    """Return where a run ends, and the space of its problem; `before` is what was spent before the face."""
    if before is None:
        asked = None if verdict is None else verdict.is_hopeless
        found = run_in(space, solver, stopping, state, certify(space), callback, asked)
        if verdict is None:
            return space, found
        try:
            if _leaves_open(space, found) and verdict.is_hopeless():
                found = replace(found, termination=Termination.HOPELESS)
            if found.termination is not Termination.HOPELESS:
                return space, found
            if verdict.is_refuted():
                return space, replace(found, termination=Termination.INFEASIBLE)
            space, state = verdict.face(space, state)
        except KeyboardInterrupt:
            note = f"interrupted while a verdict was sought, after the solver had ended: {found.termination.value}"
            return space, replace(found, termination=Termination.INTERRUPTED, notes=[*found.notes, note], hurried=True)
        before = found.iterations, found.seconds
        notes = [
            *found.notes,
            f"the constraints force zeros, found after {found.iterations} iterations; solved again without them",
        ]
    else:
        notes = []
    left = replace(
        stopping,
        max_iterations=max(0, stopping.max_iterations - before[0]),
        max_seconds=max(0.0, stopping.max_seconds - before[1]),
    )
    found = run_in(space, solver, left, state, certify(space), callback)
    ending = found.termination
    return space, replace(
        found,
        termination=Termination.CONVERGED_ON_FACE if ending is Termination.CONVERGED else ending,
        iterations=found.iterations + before[0],
        seconds=found.seconds + before[1],
        notes=[*notes, *found.notes],
    )


def _leaves_open(space: Space[Any], found: Run) -> bool:
    """Tell whether an ending leaves open if there was anything to converge to."""
    if found.termination is Termination.CONVERGED:
        return space.has_emptied(found.iterate, found.residual.l1)
    return found.termination in (Termination.STALLED, Termination.NOT_FINITE)
