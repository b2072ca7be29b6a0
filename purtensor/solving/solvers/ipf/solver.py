"""Iterative proportional fitting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.engine import engine, runs_in_numpy, sweeps_in_numpy
from purtensor.kernels.ipf.steps import sum_rows
from purtensor.kernels.ipf.sweeps import run_sweeps
from purtensor.solving.iterate import Budget, Iterate, Step, log_factors, starting_potentials
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.anderson import accelerate_step, find_accelerated_sweeps
from purtensor.solving.solvers.ipf.blocks import BlockState, auto_blocks, block_step
from purtensor.solving.solvers.ipf.first_sweep import first_sweep, is_first
from purtensor.solving.solvers.ipf.grouped_sweeps import MergedSweeps
from purtensor.solving.solvers.ipf.grouping import merge_constraints
from purtensor.solving.solvers.ipf.log_domain_sweeps import InLogarithms, spans_the_range
from purtensor.solving.solvers.ipf.options import (
    check_acceleration,
    check_blocks,
    check_order,
    check_relaxation,
    order_of,
)
from purtensor.solving.solvers.ipf.self_tuning import SelfTuning
from purtensor.solving.solvers.ipf.slab_layout import crossing_of
from purtensor.solving.solvers.ipf.slab_sweeps import OnePass
from purtensor.solving.solvers.ipf.sweeper import Sweeper, count_records_per_octave, empty_records, records_of, step_of
from purtensor.solving.solvers.ipf.two_way_sweeps import TwoWaySweeps, two_way_of

_USUAL_DEPTH = 10
"""The memory of Anderson acceleration where only its name is given."""

_SECONDS_PER_STEP = 1.5e-9
"""Of one profile and one constraint, where constraints share no pass."""


@dataclass(slots=True, eq=False)
class _Sweeping:
    """The state between two calls of the kernel: factors since the last fold and the sums of the first constraint."""

    masses: FloatArray
    t: FloatArray
    u: FloatArray
    sums: FloatArray
    factor: FloatArray
    order: IntArray
    is_compiled: bool
    done: int = 0


@dataclass(frozen=True, slots=True)
class IPF:
    """Iterative proportional fitting: scale to one marginal after the other; one iteration is one sweep over all.

    Parameters
    ----------
    order
        The positions of the constraints in the order of the sweep; as they were given when None.
    relaxation
        Each step scales by (target / sum) ** relaxation, in (0, 2); where the dual would gain too little by that, by
        the plain factor. Above 1 (over-relaxation) slow problems take fewer sweeps. "auto" makes ten plain sweeps,
        takes the factor from the rate there, and goes back to plain sweeps where it proves to be slower.
    acceleration
        Anderson acceleration of the potentials: how many earlier sweeps each extrapolation uses, or "anderson" for
        10 of them. It is taken where the dual gains by it over the sweep, else the sweep stands and the memory
        starts anew.
    blocks
        Groups of positions of constraints, such as [(0,), (1, 2)], each projected on exactly, group after group; or
        "auto" for the groups that pay: those whose rows nearly imply each other, as far as their scopes share
        attributes (notes/block_ipf.md). It takes the place of an order, a relaxation or an acceleration.

    Raises
    ------
    InvalidOptionError
        An order, a relaxation, an acceleration or blocks that are not of this form.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.IPF(order=(2, 0, 1)).order
    (2, 0, 1)
    >>> slow = pt.problems.load("b")
    >>> pt.project(slow.reference, slow.constraints, solver=pt.IPF(acceleration="anderson")).iterations < 1000
    True
    >>> pt.project(slow.reference, slow.constraints, solver=pt.IPF(relaxation="auto")).iterations < 500
    True
    >>> pt.project(slow.reference, slow.constraints, solver=pt.IPF(blocks=[(0,), (1, 2)])).iterations < 20
    True
    """

    order: Sequence[int] | None = None
    relaxation: float | Literal["auto"] = 1.0
    acceleration: int | Literal["anderson"] | None = None
    blocks: Sequence[Sequence[int]] | Literal["auto"] | None = None

    def __post_init__(self) -> None:
        checked = {
            "order": check_order(self.order),
            "relaxation": check_relaxation(self.relaxation, self.acceleration),
            "acceleration": check_acceleration(self.acceleration),
            "blocks": check_blocks(self.blocks),
        }
        for name, value in checked.items():  # equal, and hashable
            object.__setattr__(self, name, value)
        if self.blocks is not None and (self.order, self.relaxation, self.acceleration) != (None, 1.0, None):
            raise InvalidOptionError(
                "blocks cannot be combined with order, relaxation or acceleration; they are used in the given order"
            )

    def step(self, problem: Problem, iterate: Iterate, budget: Budget, *, prepare: bool = True) -> Step:
        """Return the iterate after at most `budget.iterations` sweeps; accelerated ones are made one at a time.

        Without `prepare` slabs are not laid out for faster sweeps, which costs more than a few sweeps do.
        """
        if self.blocks is not None:
            return self._blocks_step(problem, iterate)
        if self.relaxation == "auto":
            return self._tuning(problem, iterate).step(problem, iterate, budget)
        depth = _USUAL_DEPTH if self.acceleration == "anderson" else int(self.acceleration or 0)
        if depth and self._exponent == 1.0:
            order = tuple(order_of(self.order, len(problem.index)).tolist())
            accelerated = find_accelerated_sweeps(problem, iterate, order, depth)
            if accelerated is not None:
                return step_of(problem, accelerated, budget)
        if runs_in_numpy():
            most = sweeps_in_numpy(problem.index.size)
            # state that kernels made goes on in them: the two forms do not share it
            if _is_compiled(iterate.memory):
                with engine(plain=False):
                    return self.step(problem, iterate, budget, prepare=prepare)
            # as many sweeps as compiling takes: from here on compiled ones are worth it
            if isinstance(iterate.memory, _Sweeping) and iterate.memory.done >= most:
                with engine(plain=False):
                    return self.step(problem, iterate.with_memory(None), budget, prepare=prepare)
            budget = replace(budget, iterations=min(budget.iterations, most))
        # profiles of zero targets still count in the sums of earlier constraints (notes/ipf.md, under "Zero targets")
        if problem.emptied is not None and is_first(problem, iterate):
            return first_sweep(problem, problem.emptied, iterate, order_of(self.order, len(problem.index)))
        if self.acceleration is None:
            sweeper = self._sweeper(problem, iterate, prepare=prepare, dual_later=budget.dual_later)
            return self._sweep(problem, iterate, budget) if sweeper is None else step_of(problem, sweeper, budget)
        sweep = self._sweep_in_logarithms if spans_the_range(problem) else self._sweep
        return accelerate_step(sweep, depth, problem, iterate)

    def sweep(self, problem: Problem, iterate: Iterate, count: int = 1) -> Iterate:
        """Return the iterate after a few sweeps, for solvers that are made of sweeps and steps of their own."""
        # a step may make fewer sweeps than asked: the first one with zero targets, or those of numpy
        while count > 0:
            step = self.step(problem, iterate, Budget(count, 0.0, 0.0), prepare=False)
            iterate, count = step.iterate, count - step.iterations
        return iterate

    def _blocks_step(self, problem: Problem, iterate: Iterate) -> Step:
        state = iterate.memory
        if isinstance(state, BlockState):
            return block_step(problem, iterate, state)
        count = len(problem.index)
        blocks: Any = auto_blocks(problem, iterate.masses) if self.blocks == "auto" else self.blocks
        if sorted(k for block in blocks for k in block) != list(range(count)):
            raise InvalidOptionError(f"blocks must contain each position 0 .. {count - 1} once, got {blocks!r}")
        return block_step(problem, iterate, BlockState.of(problem, blocks))

    @property
    def _exponent(self) -> float:
        """The constant relaxation; 1 for that of sweeps which are still to tune themselves."""
        return 1.0 if isinstance(self.relaxation, str) else self.relaxation

    def _tuning(self, problem: Problem, iterate: Iterate) -> SelfTuning:
        if isinstance(iterate.memory, SelfTuning):
            return iterate.memory
        order = tuple(order_of(self.order, len(problem.index)).tolist())
        return SelfTuning(order, lambda relaxation: IPF(order, relaxation).step)

    def _sweeper(self, problem: Problem, iterate: Iterate, *, prepare: bool, dual_later: bool) -> Sweeper | None:
        """Return the sweeps that the problem allows, or asks for, at this iterate; None for one pass per step."""
        if isinstance(iterate.memory, Sweeper):
            return iterate.memory
        # sweeps go on in the form in which they began
        if isinstance(iterate.memory, _Sweeping):
            return None
        checked = order_of(self.order, len(problem.index))
        order = tuple(checked.tolist())
        # comes before the logarithms: such a layout divides rows by their largest mass and needs none
        two_way = None if not prepare or self._exponent != 1.0 or runs_in_numpy() else two_way_of(problem, order)
        found = None if two_way is None else TwoWaySweeps.at(problem, two_way, iterate.potentials)
        if found is not None:
            return found
        if spans_the_range(problem):
            return InLogarithms.at(problem, checked, iterate.potentials, self._exponent)
        if self._exponent != 1.0 or runs_in_numpy():
            return None
        crossing = crossing_of(problem, order) if prepare else None
        if crossing is not None:
            is_repeatable = dual_later and np.array_equal(iterate.potentials, starting_potentials(problem))
            return OnePass.at(problem, crossing, iterate.potentials, is_repeatable=is_repeatable)
        merged = merge_constraints(problem, order)
        return None if merged is None else MergedSweeps.at(problem, merged, iterate.potentials)

    def _sweep_in_logarithms(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        order = order_of(self.order, len(problem.index))
        sweeper = InLogarithms.at(problem, order, iterate.potentials, self._exponent)
        return step_of(problem, sweeper, budget)

    def _sweep(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return the iterate after the sweeps, all made inside compiled code."""
        state = iterate.memory
        if not isinstance(state, _Sweeping):
            state = self._start(problem, iterate)
        records = empty_records()
        sweeps, written = run_sweeps(
            problem.reference,
            problem.index,
            problem.offsets,
            problem.targets,
            state.order,
            state.masses,
            state.t,
            state.u,
            state.sums,
            state.factor,
            state.done,
            budget.iterations,
            budget.residual * problem.total,
            budget.residual_l1 * problem.total,
            records,
            count_records_per_octave(problem),
            self._exponent,
        )
        made = records_of(problem, records[:written], state.done)
        # counted from the start of the run: folds and records do not depend on how sweeps are batched
        state.done += sweeps
        moved = Iterate(lambda: state.t + log_factors(state.u), state.masses, state)
        return Step(moved, sweeps, made, judged=True)

    def _start(self, problem: Problem, iterate: Iterate) -> _Sweeping:
        order = order_of(self.order, len(problem.index))
        rows = problem.system.rows
        sums = np.empty(rows)
        # the kernel takes these up: a sweep ends with the sums that the next one begins with
        sum_rows(iterate.masses, problem.index[order[0]], sums[problem.system.block(order[0])])
        return _Sweeping(
            iterate.masses.copy(),
            iterate.potentials.copy(),
            np.ones(rows),
            sums,
            np.empty(rows),
            order,
            not runs_in_numpy(),
        )


def forget_layouts(problem: Problem) -> None:
    """Drop what is kept of a problem for its sweeps, where no more are to be made."""
    kept = problem.system.kept
    for key in [key for key in kept if isinstance(key, tuple) and key[0] == "layout"]:
        del kept[key]


def _is_compiled(memory: Any) -> bool:
    """Return whether sweeps with this memory are compiled already."""
    if isinstance(memory, _Sweeping):
        return memory.is_compiled
    return isinstance(memory, Sweeper)


def sweep_arithmetic(problem: Problem, memory: Any) -> float:
    """Return the estimated seconds of a sweep's arithmetic, given the memory of the sweeps before it."""
    # predicted as for the compiled form: the engine must not change when the solver switches to Newton's method
    if runs_in_numpy() and isinstance(memory, (_Sweeping, InLogarithms)):
        order, forms = tuple(memory.order.tolist()), (two_way_of, crossing_of, merge_constraints)
        for layout_of in forms if isinstance(memory, _Sweeping) else forms[:1]:
            layout = layout_of(problem, order)
            if layout is not None:
                return layout.sweep_arithmetic
    if isinstance(memory, Sweeper):
        return memory.sweep_arithmetic
    return _SECONDS_PER_STEP * problem.index.size
