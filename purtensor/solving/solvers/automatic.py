"""The solver that is taken when none is named: IPF first, Newton from there when that is predicted to be cheaper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from purtensor.solving.convergence.trend import fall_per_sweep
from purtensor.solving.hessian.choice import estimate
from purtensor.solving.iterate import Budget, Iterate, Record, Step, iterate_at
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.anderson import find_accelerated_sweeps
from purtensor.solving.solvers.ipf.solver import IPF, sweep_arithmetic
from purtensor.solving.solvers.ipf.sweeper import step_of
from purtensor.solving.solvers.newton import Newton

_FIRST_LOOK = 8
"""The first sweeps say little about the rate that they will end with."""

_LATEST_FIRST_LOOK = 32
_READS_PER_LOOK = 1 << 15
"""On tiny tables the first look comes later: it costs as much as the sweeps that read so many profiles."""

_NEXT_LOOK = 1.5
"""Each look comes after so many times the sweeps of the one before."""

_EXPECTED_STEPS = 4
"""Newton steps from where IPF leaves off; 3 to 9 on the benchmark problems, 3 or 4 on most."""

_CALL_SECONDS = 6e-5
"""What a Newton step costs on a table so small that its calls outweigh its arithmetic."""

_SWEEP_SECONDS = 4e-6
"""What a sweep costs beside its arithmetic: its share of the call, and of the measuring on tables that are small."""


_SWEEPING, _STEPPING = IPF(), Newton(warm_up=0)


@dataclass(slots=True, eq=False)
class _History:
    """How IPF has fared: its own memory, the sweeps, the largest and the L1 residuals, and the next look.

    What was recorded since the last look is not read before the next.
    """

    look: int
    memory: Any = None
    sweeps: int = 0
    largest: list[tuple[int, float]] = field(default_factory=list)
    l1: list[tuple[int, float]] = field(default_factory=list)
    unread: list[tuple[int, Sequence[Record]]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Switched:
    """Newton has taken over; its own memory."""

    memory: Any


@dataclass(frozen=True, slots=True)
class Automatic:
    """IPF, its rate measured as it goes, and Newton from there when that is predicted to be cheaper.

    On dense two-way tables sweeps are accelerated. Predictions count operations, not seconds: the same problem is
    always solved in the same way. One iteration is a sweep or a Newton step; the projection's notes say when it
    switched, and why.
    """

    def step(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return a step of the method that is in charge."""
        memory = iterate.memory
        if isinstance(memory, _Switched):
            return _newton_step(problem, iterate, memory.memory, budget)
        swept, reason = self.sweep(problem, iterate, budget)
        if reason is None:
            return swept
        # from the potentials: Newton's first step should not start from masses that drifted
        fresh = iterate_at(problem, swept.iterate.potentials, _Switched(None))
        return Step(fresh, swept.iterations, swept.records, note=reason)

    def sweep(self, problem: Problem, iterate: Iterate, budget: Budget) -> tuple[Step, str | None]:
        """Return a step of sweeps, and why Newton is to continue from there; None where it is not."""
        memory = iterate.memory
        first_look = max(_FIRST_LOOK, min(_LATEST_FIRST_LOOK, _READS_PER_LOOK // problem.index.size))
        history = memory if isinstance(memory, _History) else _History(first_look, memory)
        sweeps = min(budget.iterations, history.look - history.sweeps)
        inner, within = iterate.with_memory(history.memory), replace(budget, iterations=sweeps)
        # on dense two-way tables acceleration costs next to nothing
        accelerated = find_accelerated_sweeps(problem, inner)
        swept = _SWEEPING.step(problem, inner, within) if accelerated is None else step_of(problem, accelerated, within)
        if swept.records:
            history.unread.append((history.sweeps, swept.records))
        history.memory = swept.iterate.memory
        history.sweeps += swept.iterations
        moved = swept.iterate.with_memory(history)
        # the budget, or an ending, came before the look was due
        if history.sweeps < history.look:
            return swept.at(moved), None
        # geometric, so that all looks together cost a share of the sweeps
        history.look = math.ceil(history.look * _NEXT_LOOK)
        return swept.at(moved), _reason_to_switch(problem, history, budget)


def _newton_step(problem: Problem, iterate: Iterate, memory: Any, budget: Budget) -> Step:
    stepped = _STEPPING.step(problem, iterate.with_memory(memory), budget)
    inner = stepped.iterate
    return stepped.at(inner.with_memory(_Switched(inner.memory)))


def _read(history: _History) -> None:
    for before, records in history.unread:
        for record in records:
            history.largest.append((before + record.iteration, record.residual))
            history.l1.append((before + record.iteration, record.residual_l1))
    history.unread.clear()


def _reason_to_switch(problem: Problem, history: _History, budget: Budget) -> str | None:
    """Return why Newton is predicted to be cheaper from here, or None."""
    _read(history)
    # either may be the slower one: a few rows can miss for long what all together hardly miss any more
    left = max(sweeps_to_go(history.largest, budget.residual), sweeps_to_go(history.l1, budget.residual_l1))
    sweep = _SWEEP_SECONDS + sweep_arithmetic(problem, history.memory)
    cost = estimate(problem.system, problem.slabs)
    # the exact algebra before the first step is paid once, and may outweigh all steps
    newton = cost.algebra + _EXPECTED_STEPS * (cost.step + _CALL_SECONDS)
    spent = history.sweeps * sweep
    # IPF slows down, it rarely speeds up: the later it is, the nearer it must be
    allowed = max(0.25, 1.0 - 0.75 * spent / newton)
    if left * sweep <= allowed * newton:
        return None
    left_text = f"{left:.3g} more" if math.isfinite(left) else "no end of"
    return (
        f"IPF for {history.sweeps} sweeps, then Newton: {left_text} sweeps were predicted, "
        f"{left * sweep / newton:.2g} times the cost of {_EXPECTED_STEPS} Newton steps"
    )


def sweeps_to_go(residuals: Sequence[tuple[int, float]], tolerance: float) -> float:
    """Return how many more sweeps IPF needs by the slower of its rates over the last half and the last quarter.

    The half alone hides that the fast modes have just died out; inf where there is no rate.
    """
    if not residuals:
        return math.inf
    now, residual = residuals[-1]
    if residual <= tolerance:
        return 0.0
    rate = min(fall_per_sweep(residuals, since) for since in (now // 2, now - now // 4))
    return math.log(residual / tolerance) / rate if rate > 0.0 and tolerance > 0.0 else math.inf
