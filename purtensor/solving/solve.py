"""Runs on arrays, and runs to an answer: on the problem as it was given, then on the face that forced zeros leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.solving.certificate import Certifier
from purtensor.solving.iterate import Budget, Iterate, Solver, Step, iterate_at
from purtensor.solving.loop import Callback, Run, Stage, begin, run_stage
from purtensor.solving.problem import Problem
from purtensor.solving.run_state import State
from purtensor.solving.solvers.newton import Newton, newton_step
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.spaces.space import P, Space
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination


class Verdict(Protocol[P]):
    """The verdict on one problem, found at most once, on request."""

    def is_hopeless(self) -> bool:
        """Return whether it is proved that no positive solution exists, so that the potentials diverge."""
        ...

    def is_refuted(self) -> bool:
        """Return whether there is no solution at all."""
        ...

    def face(self, state: State[P]) -> Stage[P]:
        """Return the problem that the implied zeros leave, where a run begins anew; `state` is what went before."""
        ...


def run(
    problem: Problem,
    solver: Solver,
    stopping: Stopping,
    certifier: Certifier | None = None,
    *,
    start: FloatArray | None = None,
    callback: Callback[Iterate] | None = None,
    is_hopeless: Callable[[], bool] | None = None,
) -> Run[Iterate]:
    """Return the run of a solver on arrays, from `start` (the reference when None) to one of its endings."""
    space = ArraySpace(problem)
    point = space.start() if start is None else iterate_at(problem, start)
    stage = Stage(space, begin(space, point, at_reference=start is None), step_on_arrays(space, solver))
    if certifier is not None:
        # proved of the masses that would be returned, not of masses scaled in place, which drift
        stage.certify = lambda point: certifier.certify(space.rebuild(point)[0])
    return run_stage(stage, stopping, callback, is_hopeless)


def step_on_arrays(space: ArraySpace, solver: Solver) -> Callable[[Iterate, Budget], Step[Iterate]]:
    """Return the step of a solver on arrays: one over spaces, or any object with a `step(problem, iterate, budget)`."""
    # Newton's step is written over spaces; every other solver, also of a user's own, gets arrays
    if isinstance(solver, Newton):
        return partial(newton_step, space, solver.warm_up)
    problem = space.problem
    return lambda point, budget: _as_step(problem, solver.step(problem, point, budget), point)


def _as_step(problem: Problem, moved: object, before: Iterate) -> Step[Iterate]:
    """Return what a solver's `step` gave as a Step: an Iterate or bare potentials count as one iteration.

    Potentials alone do not change the memory: the memory of the given iterate is kept.
    """
    if isinstance(moved, Step):
        return moved
    if isinstance(moved, Iterate):
        return Step(moved)
    if isinstance(moved, np.ndarray) and moved.shape == (problem.system.rows,):
        return Step(iterate_at(problem, moved, before.memory))
    raise InvalidOptionError(
        f"a solver's step must return a Step, an Iterate or an array of {problem.system.rows} potentials, "
        f"got {type(moved).__qualname__}"
    )


def solve(
    stage: Stage[P],
    stopping: Stopping,
    verdict: Verdict[P] | None = None,
    callback: Callback[P] | None = None,
    before: tuple[int, float] | None = None,
) -> Run[P]:
    """Return where a run ends: on the problem as given, or on the face that its verdict leaves.

    `before` is what was spent before, iterations and seconds, where a resumed run is on the face already.
    """
    notes: list[str] = []
    if before is None:
        found = run_stage(stage, stopping, callback, None if verdict is None else verdict.is_hopeless)
        if verdict is None:
            return found
        # the verdict may take longer than the run did: Ctrl-C during it must not lose the run
        try:
            ending = _ask(stage.space, found, verdict)
            if ending is not Termination.HOPELESS:
                return replace(found, termination=ending)
            stage = verdict.face(stage.state)
        except KeyboardInterrupt:
            return interrupt(found, "interrupted during the feasibility check, after the solver had ended")
        before = found.iterations, found.seconds
        found_zeros = (
            f"the constraints force zeros, found after {found.iterations} iterations; solved again without them"
        )
        notes = [*found.notes, found_zeros]
    # no verdict is asked on the face: with the zeros it was proved that the rest has a positive solution
    found = run_stage(stage, _subtract(stopping, before), callback)
    ending = found.termination
    return replace(
        found,
        termination=Termination.CONVERGED_ON_FACE if ending is Termination.CONVERGED else ending,
        iterations=found.iterations + before[0],
        seconds=found.seconds + before[1],
        notes=[*notes, *found.notes],
    )


def interrupt(found: Run[P], while_what: str) -> Run[P]:
    """Return a completed run as the result of a call that Ctrl-C interrupted."""
    notes = [*found.notes, f"{while_what}: {found.termination.value}"]
    return replace(found, termination=Termination.INTERRUPTED, notes=notes, hurried=True)


def _ask(space: Space[P], found: Run[P], verdict: Verdict[P]) -> Termination:
    """Return how a run ended once its verdict is known; HOPELESS where there is a face to continue with."""
    ending = found.termination
    # the loop asks only where progress is slow; a run may also end before it was ever doubted
    if _leaves_open(space, found) and verdict.is_hopeless():
        ending = Termination.HOPELESS
    if ending is Termination.HOPELESS and verdict.is_refuted():
        return Termination.INFEASIBLE
    return ending


def _leaves_open(space: Space[P], found: Run[P]) -> bool:
    """Return whether an ending leaves open if there was anything to converge to."""
    if found.termination is Termination.CONVERGED:
        # on the boundary any tolerance can be met, with small masses where the answer has zeros
        return space.has_emptied(found.iterate, found.residual.l1)
    return found.termination in (Termination.STALLED, Termination.NOT_FINITE)


def _subtract(stopping: Stopping, spent: tuple[int, float]) -> Stopping:
    """Return the limits that are left after so many iterations and seconds."""
    iterations, seconds = spent
    return replace(
        stopping,
        max_iterations=max(0, stopping.max_iterations - iterations),
        max_seconds=max(0.0, stopping.max_seconds - seconds),
    )
