"""Newton's method on the dual over independent constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace

from purtensor._options import is_count
from purtensor.errors import InvalidOptionError
from purtensor.solving.hessian.factored import FLOORS
from purtensor.solving.iterate import Budget, Iterate, Record, Step, is_rounding
from purtensor.solving.line_search import search
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.spaces.space import D, NewtonMemory, NewtonSpace, P, Space

MOST_SWEEPS = 1_000
"""The sweeps of a warm-up are made in one go, which no time limit ends."""

SLOW = 0.2
"""A step that leaves more than this share of the residual in L1 is slow."""

SLOW_STEPS = 6
"""After this many consecutive slow steps feasibility is checked, and again after twice as many."""

WORTH = 0.01
"""A step is to gain this share of the squared L1 residual at least: a sweep surely gains half of that square."""

SWEEPS = 50
"""So many sweeps come where no step gains."""


@dataclass(frozen=True, slots=True)
class Newton:
    """Newton's method on the dual, over independent constraints, with a line search; one iteration is one step.

    The Hessian C diag(p) C^T is solved in the form that pays for the constraints at hand: slab by slab (arrowhead),
    dense, or by conjugate gradients; the projection's notes say which. Where masses are so small that rounding hides
    what they tie together, steps take them for larger (notes/newton.md, equation 9); where no step gains, sweeps of
    IPF come, each of which counts as an iteration.

    Parameters
    ----------
    warm_up
        So many sweeps of IPF come before the first step, at most 1,000.

    Raises
    ------
    InvalidOptionError
        `warm_up` is not a valid number of sweeps.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.Newton().warm_up
    3
    """

    warm_up: int = 3

    def __post_init__(self) -> None:
        if not (is_count(self.warm_up) and self.warm_up <= MOST_SWEEPS):
            raise InvalidOptionError(
                f"warm_up must be a number of sweeps, 0 for none and at most {MOST_SWEEPS:,}, got {self.warm_up!r}"
            )
        object.__setattr__(self, "warm_up", int(self.warm_up))

    def step(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return the iterate after one Newton step; the first step is preceded by the sweeps of the warm-up."""
        space = ArraySpace(problem)
        step = newton_step(space, self.warm_up, iterate, budget)
        return step if step.iterations else newton_step(space, self.warm_up, step.iterate, budget)


def newton_step(space: NewtonSpace[P, D], warm_up: int, point: P, budget: Budget) -> Step[P]:
    """Return a step in any space: of no iterations while it warms up, else of one, or of sweeps where none gains."""
    memory = point.memory if isinstance(point.memory, NewtonMemory) else NewtonMemory()
    if memory.warmed < warm_up:
        before = space.dual(point)
        moved, made = space.warm_up(point, None, warm_up - memory.warmed)
        # the warm-up is no iteration of its own: its gain is recorded with that of the first step
        gain = memory.warm_gain + (space.dual(moved) - before)
        moved.memory = replace(memory, warmed=memory.warmed + made, warm_gain=gain)
        # no iteration, so that on disk the loop keeps the state between two sweeps of the warm-up
        return Step(moved, 0)
    residual = space.residual(point)
    note = "" if memory.noted else space.newton_note
    # sweeps that are due come before any step: where none gained, the next would not gain either
    if memory.sweeps:
        return _sweep(space, point, memory, budget)
    found = best_step(space, point, residual.l1)
    # something is left to gain, but rounding hides the direction: sweeps need no equations
    if found is None and not _is_met_to_rounding(space, residual.l1):
        return _sweep(space, point, replace(memory, sweeps=SWEEPS), budget)
    if found is None:
        return Step(point, 1, note=note, stalled=True)
    moved, gain = found
    reached = space.residual(moved)
    slow = memory.slow + 1 if reached.l1 > SLOW * residual.l1 else 0
    moved.memory = replace(memory, slow=slow, warm_gain=0.0, noted=True)
    # the search gains in units of the targets; records are of mass 1
    gain /= space.total
    record = Record(1, reached.largest, reached.l1, memory.warm_gain + gain, space.dual(moved))
    return Step(
        moved,
        1,
        (record,),
        note,
        stalled=is_rounding(gain, space.constraints),
        doubtful=slow > 0 and slow % SLOW_STEPS == 0,
    )


def best_step(space: NewtonSpace[P, D], point: P, residual_l1: float) -> tuple[P, float] | None:
    """Return the Newton step and its gain, or one of those for raised masses where that gains almost nothing.

    A direction that raised masses give is one of ascent too, for C diag(p) C^T has only grown.
    """
    worth = WORTH * residual_l1**2 * space.total
    best: tuple[P, float] | None = None
    for floor in (0.0, *FLOORS):
        found = search(space, point, space.direction(point, floor))
        if found is not None and (best is None or found[1] > best[1]):
            best = found
        # every further floor costs a factorisation: not where the gain is fair, or nothing is left to gain
        if (best is not None and best[1] >= worth) or _is_met_to_rounding(space, residual_l1):
            break
    return best


def _is_met_to_rounding(space: Space[P], residual_l1: float) -> bool:
    """Return whether what a step has to gain by this residual is rounding."""
    return is_rounding(WORTH * residual_l1**2, space.constraints)


def _sweep(space: NewtonSpace[P, D], point: P, memory: NewtonMemory, budget: Budget) -> Step[P]:
    """Return the point after a sweep of IPF, which gains wherever a target is missed.

    One at a time: the answer must not depend on how many iterations the loop asks for at once.
    """
    step = space.sweep(point, None, Budget(1, budget.residual, budget.residual_l1))
    left = memory.sweeps - step.iterations
    step.iterate.memory = replace(memory, sweeps=left, slow=memory.slow if left == 0 else 0, warm_gain=0.0, noted=True)
    records = step.records
    if records and memory.warm_gain:
        records = (records[0]._replace(kl_step=records[0].kl_step + memory.warm_gain), *records[1:])
    note = f"{space.newton_note}; sweeps of IPF where rounding prevents a Newton step"
    return Step(step.iterate, step.iterations, records, note, stalled=step.stalled, doubtful=left == 0)
