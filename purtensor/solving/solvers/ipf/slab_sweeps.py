"""Sweeps of iterative proportional fitting in one pass over memory, on slabs of two crossing constraints."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from purtensor._threads import for_each_chunk, sum_chunks
from purtensor._typing import FloatArray
from purtensor.kernels.ipf.slab_runs import (
    SWEEPS_PER_LOOK,
    Source,
    add_logarithms,
    add_outside_logarithms,
    gain_of_blocks,
    has_large_factors,
    linear_of_blocks,
    may_be_met,
    outside_gain,
    outside_linear,
    rebuild,
    residuals,
    run_crossing_sweeps,
    worst_block,
)
from purtensor.kernels.ipf.slab_sweeps import BOTH, ONLY_A, ONLY_B, State, measure_blocks, outside_step, pass_over
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.kernels.simd import WIDTH
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.slab_layout import Crossing
from purtensor.solving.solvers.ipf.sweeper import Sweeper, SweepResidual

_NEAR_ROUNDING = 1e-12
"""Before the L1 miss is so small a part of the total, a sweep gains more than rounding."""

EARLY = 64
"""The dual of this many first sweeps is computed on request: it would take as long as the sweeps."""


@dataclass(slots=True, eq=False)
class OnePass(Sweeper):
    """Sweeps over a crossing layout: the state between two calls.

    Attributes
    ----------
    is_repeatable
        Whether the sweeps begin at the reference, so that they can be made again for what was not computed.
    missed
        The L1 residual when it was last measured, in the units of the targets.
    """

    problem: Problem
    crossing: Crossing
    source: Source
    state: State
    start: float
    done: int = 0
    witness: int | None = 0
    gain_before_fold: float | None = None
    is_repeatable: bool = False
    missed: float = math.inf

    @classmethod
    def at(
        cls, problem: Problem, crossing: Crossing, potentials: FloatArray, *, is_repeatable: bool = False
    ) -> OnePass:
        """Return the sweeps that start at the given potentials."""
        assert problem.slabs is not None
        arrays = problem.reference, problem.index, problem.offsets, problem.targets, problem.slabs.slab_ptr
        source = Source(*arrays, *crossing.inside, *crossing.local)
        blocks, (rows, columns) = crossing.blocks, crossing.shape
        state = State(
            t=potentials.copy(),
            base=np.empty((blocks, rows, columns, WIDTH)),
            theta=np.empty((rows, columns)),
            u=np.empty((2, blocks, rows, WIDTH)),
            v=np.empty((2, blocks, columns, WIDTH)),
            w=np.empty((2, len(crossing.layout.outside_rows))),
            table=np.empty((rows, columns)),
        )
        made = cls(problem, crossing, source, state, float(problem.reference.sum()), is_repeatable=is_repeatable)
        made._rebuild()
        return made

    @property
    def sweep_arithmetic(self) -> float:
        """The estimated seconds of a sweep's arithmetic."""
        return self.crossing.sweep_arithmetic

    @property
    def now(self) -> int:
        """The half of the factors that the last sweep wrote."""
        return self.done % 2

    def potentials(self) -> FloatArray:
        """Return the potentials after the sweeps made so far."""
        t = self.state.t.copy()
        self._add_logarithms(t)
        return t

    def sweep(self, goal: Goal, limit: int, records: FloatArray) -> tuple[int, int]:
        """Make at most `limit` sweeps; return how many, and how many records were written."""
        if len(self.crossing.chunks) > 1:
            return super(OnePass, self).sweep(goal, limit, records)
        made, written = run_crossing_sweeps(
            self.source, self.crossing.layout, self.state, self.crossing.plan, goal, self.done, limit, records
        )
        self.done += made
        return made, written

    def sweep_once(self) -> None:
        """Make one more sweep, and fold where factors have grown large."""
        layout, state, plan = self.crossing.layout, self.state, self.crossing.plan
        self.done += 1
        # two halves take turns: the ratio of new to old factors is what the gain is made of
        state.w[self.now] = state.w[1 - self.now]
        for k in range(plan.leading):
            outside_step(layout, state, self.now, k)
        self._pass_over(ONLY_B if plan.split else BOTH)
        for k in range(plan.leading, len(layout.cell_rows)):
            outside_step(layout, state, self.now, k)
        # the sweep begins with B: the outside steps come between its step and A's
        if plan.split:
            self._pass_over(ONLY_A)
        self.gain_before_fold = None
        # masses are never scaled in place here, so folds are needed against overflow only
        if self.done % SWEEPS_PER_LOOK == 0 and has_large_factors(state, self.now, 0, self.crossing.blocks):
            # the fold sets all factors to 1, which ends what the gain is read from
            self.gain_before_fold = self.gain()
            self._add_logarithms(state.t)
            self._rebuild()

    def may_be_met(self, goal: Goal) -> bool:
        """Return whether the misses outside, and those of the block that missed most, meet the goal."""
        if self.witness is None:
            self.witness = worst_block(self.crossing.layout, self.state, self.now, 0, self.crossing.blocks)
        return may_be_met(self.crossing.layout, self.state, self.crossing.plan, goal, self.now, self.witness)

    def measure(self, hopeful: bool) -> SweepResidual:
        """Return the residual over all constraints; a block that raised false hope gives way to the worst one."""
        table, misses = self._measure_cells()
        if hopeful:
            self.witness = None  # looked for after the next sweep, if there is one: it takes another pass
        residual, self.missed = residuals(self.crossing.layout, table, misses)
        return SweepResidual(residual, self.missed, float(table.sum()))

    def gain(self) -> float:
        """Return the gain of the dual in the last sweep; NaN where it is computed later on request."""
        if self._is_put_off:
            return math.nan
        if self.gain_before_fold is not None:
            return self.gain_before_fold
        layout, state = self.crossing.layout, self.state
        inside = self.sum_rows(lambda b, e: gain_of_blocks(layout, state, self.now, b, e))
        return outside_gain(layout, state, self.now) + inside

    def linear(self) -> float:
        """Return the targets times the potentials; NaN where the gain is."""
        if self._is_put_off:
            return math.nan
        layout, state = self.crossing.layout, self.state
        inside = self.sum_rows(lambda b, e: linear_of_blocks(layout, state, self.now, b, e))
        return outside_linear(self.source, layout, state, self.now) + inside

    @property
    def _is_put_off(self) -> bool:
        # near rounding the gain decides whether the run has stalled
        return self.is_repeatable and self.done <= EARLY and self.missed > _NEAR_ROUNDING * self.total

    def _pass_over(self, steps: int) -> None:
        layout, state, chunks = self.crossing.layout, self.state, self.crossing.chunks
        tables = np.zeros((len(chunks), *state.table.shape))
        for_each_chunk(lambda c, b, e: pass_over(layout, state, self.now, steps, b, e, tables[c]), chunks)
        if steps != ONLY_A:
            state.table[:] = sum_chunks(tables)

    def _measure_cells(self) -> tuple[FloatArray, FloatArray]:
        """Return the sums of the cells and the misses of A and of B."""
        layout, state, chunks = self.crossing.layout, self.state, self.crossing.chunks
        tables = np.empty((len(chunks), *state.table.shape))
        misses = np.empty((len(chunks), 4))
        for_each_chunk(lambda c, b, e: measure_blocks(layout, state, self.now, b, e, tables[c], misses[c]), chunks)
        return sum_chunks(tables), np.concatenate([misses[:, :2].max(axis=0), sum_chunks(misses[:, 2:])])

    def sum_rows(self, part: Callable[[int, int], float]) -> float:
        """Return the sum over the chunks, added in their order."""
        parts = np.empty(len(self.crossing.chunks))

        def work(c: int, b: int, e: int) -> None:
            parts[c] = part(b, e)

        for_each_chunk(work, self.crossing.chunks)
        return float(sum_chunks(parts))

    def _add_logarithms(self, t: FloatArray) -> None:
        layout, state = self.crossing.layout, self.state
        for_each_chunk(lambda c, b, e: add_logarithms(layout, state, self.now, b, e, t), self.crossing.chunks)
        add_outside_logarithms(layout, state, self.now, t)

    def _rebuild(self) -> None:
        """Write the masses at the potentials `t`, and factors 1."""
        state = self.state
        for_each_chunk(lambda c, b, e: rebuild(self.source, state, b, e), self.crossing.chunks)
        state.w[:] = 1.0
        state.theta[:] = 1.0
        state.table[:], _ = self._measure_cells()
