"""Sweeps of iterative proportional fitting in one pass over memory, on slabs of two crossing constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.crossing import BOTH, ONLY_A, ONLY_B, State, measure_blocks, outside_step, pass_over
from purtensor.kernels.crossing_run import (
    SWEEPS_PER_LOOK,
    Goal,
    add_logarithms,
    add_outside_logarithms,
    gain_of_blocks,
    has_large_factors,
    linear_of_blocks,
    may_be_met,
    outside_gain,
    outside_linear,
    rebuild,
    run_crossing_sweeps,
    verdict,
    worst_block,
)
from purtensor.kernels.ipf import is_recorded
from purtensor.kernels.octets import WIDTH
from purtensor.solving.crossing import Crossing
from purtensor.solving.iterate import Budget, Iterate, Step, is_rounding, iterate_at
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.records import empty_records, recorded_per_octave, records_of
from purtensor.solving.threads import for_each_chunk


@dataclass(slots=True, eq=False)
class OnePass:
    """Sweeps over a crossing layout: the state between two calls."""

    crossing: Crossing
    state: State
    start: float
    done: int = 0

    @classmethod
    def at(cls, crossing: Crossing, potentials: FloatArray) -> OnePass:
        """Return the sweeps that start at the given potentials."""
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
        made = cls(crossing, state, float(crossing.source.reference.sum()))
        _rebuild(made)
        return made

    @property
    def now(self) -> int:
        """The half of the factors that the last sweep wrote."""
        return self.done % 2

    def potentials(self) -> FloatArray:
        """Return the potentials after the sweeps made so far."""
        t = self.state.t.copy()
        _add_logarithms(self, t)
        return t

    def sweep(self, goal: Goal, limit: int, records: FloatArray) -> tuple[int, int]:
        """Make at most `limit` sweeps; return how many, and how many records were written."""
        if len(self.crossing.chunks) > 1:
            return _sweep_in_chunks(self, goal, limit, records)
        made, written = run_crossing_sweeps(
            self.crossing.source, self.crossing.layout, self.state, self.crossing.plan, goal, self.done, limit, records
        )
        self.done += made
        return made, written


def one_pass_step(problem: Problem, run: OnePass, budget: Budget) -> Step:
    """Return the iterate after at most `budget.iterations` sweeps; its arrays are made when they are asked for."""
    goal = Goal(
        budget.residual * problem.total, budget.residual_l1 * problem.total, recorded_per_octave(problem), run.start
    )
    records, done = empty_records(), run.done
    sweeps, written = run.sweep(goal, budget.iterations, records)
    made = records_of(problem, records[:written], done)
    moved = Iterate(run.potentials, lambda: iterate_at(problem, moved.potentials).masses, run)
    return Step(moved, sweeps, made, stalled=bool(made) and is_rounding(problem, made[-1].kl_step), judged=True)


def _sweep_in_chunks(run: OnePass, goal: Goal, limit: int, records: FloatArray) -> tuple[int, int]:
    """Do what `run_crossing_sweeps` does, on as many threads as there are to use."""
    layout, state, plan = run.crossing.layout, run.state, run.crossing.plan
    written = 0
    witness = 0
    for n in range(1, limit + 1):
        _sweep_once(run)
        gain = None
        if run.done % SWEEPS_PER_LOOK == 0 and has_large_factors(state, run.now, 0, run.crossing.blocks):
            gain = _gain(run)
            _fold(run)
        due = is_recorded(run.done, goal.dense)
        hopeful = may_be_met(layout, state, plan, goal, run.now, witness)
        if not (due or hopeful):
            continue
        table, misses = _measured(run)
        residual, residual_l1, met, finite = verdict(layout, goal, table, misses)
        if due or met or not finite:
            mass = table.sum()
            dual = _linear(run) / run.crossing.total - np.log(mass / goal.start)
            records[written] = run.done, residual, residual_l1, _gain(run) if gain is None else gain, dual, mass
            written += 1
        if met or not finite or written == len(records):
            return n, written
        if hopeful:
            witness = worst_block(layout, state, run.now, 0, run.crossing.blocks)
    return limit, written


def _sweep_once(run: OnePass) -> None:
    layout, state, plan = run.crossing.layout, run.state, run.crossing.plan
    run.done += 1
    state.w[run.now] = state.w[1 - run.now]
    for k in range(plan.leading):
        outside_step(layout, state, run.now, k)
    _pass_over(run, ONLY_B if plan.split else BOTH)
    for k in range(plan.leading, len(layout.cell_rows)):
        outside_step(layout, state, run.now, k)
    if plan.split:
        _pass_over(run, ONLY_A)


def _pass_over(run: OnePass, steps: int) -> None:
    layout, state, chunks = run.crossing.layout, run.state, run.crossing.chunks
    tables = np.zeros((len(chunks), *state.table.shape))
    for_each_chunk(lambda c, b, e: pass_over(layout, state, run.now, steps, b, e, tables[c]), chunks)
    if steps != ONLY_A:
        state.table[:] = _total(tables)


def _measured(run: OnePass) -> tuple[FloatArray, FloatArray]:
    """Return the sums of the cells and the misses of A and of B."""
    layout, state, chunks = run.crossing.layout, run.state, run.crossing.chunks
    tables = np.empty((len(chunks), *state.table.shape))
    misses = np.empty((len(chunks), 4))
    for_each_chunk(lambda c, b, e: measure_blocks(layout, state, run.now, b, e, tables[c], misses[c]), chunks)
    return _total(tables), np.concatenate([misses[:, :2].max(axis=0), _total(misses[:, 2:])])


def _gain(run: OnePass) -> float:
    layout, state = run.crossing.layout, run.state
    inside = _summed(run, lambda b, e: gain_of_blocks(layout, state, run.now, b, e))
    return outside_gain(layout, state, run.now) + inside


def _linear(run: OnePass) -> float:
    layout, state = run.crossing.layout, run.state
    inside = _summed(run, lambda b, e: linear_of_blocks(layout, state, run.now, b, e))
    return outside_linear(run.crossing.source, layout, state, run.now) + inside


def _summed(run: OnePass, part: Callable[[int, int], float]) -> float:
    """Return the sum over the chunks, added in their order."""
    parts = np.empty(len(run.crossing.chunks))

    def work(c: int, b: int, e: int) -> None:
        parts[c] = part(b, e)

    for_each_chunk(work, run.crossing.chunks)
    return float(_total(parts))


def _total(parts: FloatArray) -> Any:
    """Return the sum over the first axis, added one after the other."""
    return np.add.accumulate(parts, axis=0)[-1]


def _fold(run: OnePass) -> None:
    _add_logarithms(run, run.state.t)
    _rebuild(run)


def _add_logarithms(run: OnePass, t: FloatArray) -> None:
    layout, state = run.crossing.layout, run.state
    for_each_chunk(lambda c, b, e: add_logarithms(layout, state, run.now, b, e, t), run.crossing.chunks)
    add_outside_logarithms(layout, state, run.now, t)


def _rebuild(run: OnePass) -> None:
    """Write the masses at the potentials `t`, and factors 1."""
    state = run.state
    for_each_chunk(lambda c, b, e: rebuild(run.crossing.source, state, b, e), run.crossing.chunks)
    state.w[:] = 1.0
    state.theta[:] = 1.0
    state.table[:], _ = _measured(run)
