"""The loop of sweeps over crossing slabs, inside compiled code: for tables where a call costs as much as a sweep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.elementary import divergence_gain, fast_log, linear_sum
from purtensor.kernels.ipf.slab_sweeps import (
    BOTH,
    ONLY_A,
    ONLY_B,
    Layout,
    State,
    measure_blocks,
    outside_misses,
    outside_step,
    pass_over,
    place_masses,
)
from purtensor.kernels.ipf.steps import is_recorded
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.kernels.reductions import inner_product

SWEEPS_PER_LOOK = 16
"""Factors that are written afresh do not drift: they are folded into the potentials only before they could overflow."""

LARGEST_FACTOR = 2.0**64
"""A product of three stays in range for 16 sweeps more, as long as none grows a hundred thousandfold in a sweep."""


class Source(NamedTuple):
    """What masses are rebuilt from: the problem's arrays, the numbers of A and B, and their rows' codes in a slab."""

    reference: FloatArray
    row_of: IntArray
    offsets: IntArray
    targets: FloatArray
    slab_ptr: IntArray
    a: int
    b: int
    local_a: IntArray
    local_b: IntArray


class Plan(NamedTuple):
    """The order of a sweep: so many outside steps before the pass; whether B's step comes before the outside ones."""

    leading: int
    split: bool


@compiled
def rebuild(source: Source, state: State, begin: int, end: int) -> None:
    """Write the masses at the potentials `t` into the blocks begin .. end - 1, with factors 1."""
    place_masses(
        source.reference,
        source.row_of,
        source.offsets,
        state.t,
        source.slab_ptr,
        source.a,
        source.local_a,
        source.b,
        source.local_b,
        begin,
        end,
        state.base,
    )
    # both halves: the gain of the next sweep is read from the ratio of new to old
    state.u[:, begin:end] = 1.0
    state.v[:, begin:end] = 1.0


@compiled
def _take_logarithms(rows: IntArray, factors: FloatArray, t: FloatArray) -> None:
    """Add the logarithms of factors to the potentials of their rows; row -1 is none."""
    for r in range(rows.size):
        if rows[r] >= 0:
            t[rows[r]] += fast_log(factors[r])


@compiled
def add_logarithms(layout: Layout, state: State, now: int, begin: int, end: int, t: FloatArray) -> None:
    """Add to `t` the logarithms of the factors since the last fold on the blocks begin .. end - 1."""
    _take_logarithms(layout.rows_a[begin:end].reshape(-1), state.u[now, begin:end].reshape(-1), t)
    _take_logarithms(layout.rows_b[begin:end].reshape(-1), state.v[now, begin:end].reshape(-1), t)


@compiled
def add_outside_logarithms(layout: Layout, state: State, now: int, t: FloatArray) -> None:
    """Add to `t` the logarithms of the outside factors since the last fold."""
    _take_logarithms(layout.outside_rows, state.w[now], t)


@compiled
def _is_large(factors: FloatArray) -> bool:
    """Tell whether a factor is beyond the largest one, or its inverse."""
    count = 0
    for r in range(factors.size):
        # counted to the end, without a branch; NaN is not large, and ends the run elsewhere
        count += (factors[r] > LARGEST_FACTOR) + (factors[r] < 1.0 / LARGEST_FACTOR)
    return count > 0


@compiled
def has_large_factors(state: State, now: int, begin: int, end: int) -> bool:
    """Tell whether factors have grown so large, outside or on the blocks begin .. end - 1, that it is time to fold."""
    return (
        _is_large(state.w[now])
        or _is_large(state.u[now, begin:end].reshape(-1))
        or _is_large(state.v[now, begin:end].reshape(-1))
    )


@compiled
def gain_of_blocks(layout: Layout, state: State, now: int, begin: int, end: int) -> float:
    """Return what the dual gained by the last factors of A and B on the blocks begin .. end - 1."""
    before = 1 - now
    return divergence_gain(
        layout.targets_a[begin:end].reshape(-1),
        state.u[now, begin:end].reshape(-1),
        state.u[before, begin:end].reshape(-1),
    ) + divergence_gain(
        layout.targets_b[begin:end].reshape(-1),
        state.v[now, begin:end].reshape(-1),
        state.v[before, begin:end].reshape(-1),
    )


@compiled
def outside_gain(layout: Layout, state: State, now: int) -> float:
    """Return what the dual gained by the last outside factors."""
    return divergence_gain(layout.outside_targets, state.w[now], state.w[1 - now])


@compiled
def linear_of_blocks(layout: Layout, state: State, now: int, begin: int, end: int) -> float:
    """Return the targets times the logarithms of the factors of A and B on the blocks begin .. end - 1."""
    return linear_sum(layout.targets_a[begin:end].reshape(-1), state.u[now, begin:end].reshape(-1)) + linear_sum(
        layout.targets_b[begin:end].reshape(-1), state.v[now, begin:end].reshape(-1)
    )


@compiled
def outside_linear(source: Source, layout: Layout, state: State, now: int) -> float:
    """Return the targets times the potentials at the last fold and the logarithms of the outside factors."""
    return inner_product(source.targets, state.t) + linear_sum(layout.outside_targets, state.w[now])


@compiled
def sweep_once(layout: Layout, state: State, plan: Plan, now: int) -> None:
    """Make one sweep, whose factors go to the half `now`."""
    blocks = state.base.shape[0]
    # outside factors are multiplied on, those of A and B are written afresh
    state.w[now] = state.w[1 - now]
    for k in range(plan.leading):
        outside_step(layout, state, now, k)
    pass_over(layout, state, now, ONLY_B if plan.split else BOTH, 0, blocks, state.table)
    for k in range(plan.leading, layout.cell_rows.shape[0]):
        outside_step(layout, state, now, k)
    if plan.split:
        pass_over(layout, state, now, ONLY_A, 0, blocks, state.table)


@compiled
def fold(source: Source, layout: Layout, state: State, now: int) -> None:
    """Move the factors into the potentials and rebuild the masses from them."""
    blocks = state.base.shape[0]
    add_logarithms(layout, state, now, 0, blocks, state.t)
    add_outside_logarithms(layout, state, now, state.t)
    rebuild(source, state, 0, blocks)
    state.w[:] = 1.0
    state.theta[:] = 1.0
    # the table that the next outside steps begin with: sums of the new base
    measure_blocks(layout, state, now, 0, blocks, state.table, np.empty(4))


@compiled
def may_be_met(layout: Layout, state: State, plan: Plan, goal: Goal, now: int, witness: int) -> bool:
    """Tell whether the cheap parts of the residual are within the tolerances, or not finite: then all is measured.

    The sums of the cells are those of the sweep's end unless constraint A came last; the block that missed most when
    all was last measured usually still misses.
    """
    # where A came last, the table is that of the sums before its step
    largest, l1 = (0.0, 0.0) if plan.split else outside_misses(layout, state.table)
    # measured, so that the run ends by the sums of all
    if np.isnan(l1):
        return True
    if largest > goal.tolerance or l1 > goal.tolerance_l1:
        return False
    misses = np.empty(4)
    measure_blocks(layout, state, now, witness, witness + 1, np.empty_like(state.table), misses)
    return not (misses[:2].max() > goal.tolerance or misses[2:].max() > goal.tolerance_l1)


@compiled
def worst_block(layout: Layout, state: State, now: int, begin: int, end: int) -> int:
    """Return the block that misses most."""
    worst, found = -1.0, begin
    misses = np.empty(4)
    table = np.empty_like(state.table)
    for x in range(begin, end):
        measure_blocks(layout, state, now, x, x + 1, table, misses)
        # the first of equals: the choice does not depend on how blocks are divided
        if misses[:2].max() > worst:
            worst, found = misses[:2].max(), x
    return found


@compiled
def residuals(layout: Layout, table: FloatArray, misses: FloatArray) -> tuple[float, float]:
    """Return the residual over all constraints, and that in L1, of what was measured; NaN where it is not finite."""
    largest, l1 = outside_misses(layout, table)
    if not np.isfinite(l1 + misses[2] + misses[3] + table.sum()):
        return np.nan, np.nan
    return max(largest, misses[0], misses[1]), max(l1, misses[2], misses[3])


@compiled
def run_crossing_sweeps(
    source: Source,
    layout: Layout,
    state: State,
    plan: Plan,
    goal: Goal,
    done: int,
    limit: int,
    records: FloatArray,
) -> tuple[int, int]:
    """Run at most `limit` sweeps after the `done` ones; return how many, and how many records were written.

    Ends and records as `purtensor.kernels.ipf.sweeps.run_sweeps` does; `state` and `records` change in place.
    """
    blocks = state.base.shape[0]
    total = source.targets[: source.offsets[1]].sum()
    table = np.empty_like(state.table)
    misses = np.empty(4)
    written = 0
    witness = 0
    for n in range(1, limit + 1):
        sweep = done + n
        now = sweep % 2
        sweep_once(layout, state, plan, now)
        # no gain is negative: so it is known whether the fold had to compute it
        gain = -1.0
        if sweep % SWEEPS_PER_LOOK == 0 and has_large_factors(state, now, 0, blocks):
            gain = outside_gain(layout, state, now) + gain_of_blocks(layout, state, now, 0, blocks)
            fold(source, layout, state, now)
        due = is_recorded(sweep, goal.dense)
        hopeful = may_be_met(layout, state, plan, goal, now, witness)
        if not (due or hopeful):
            continue
        measure_blocks(layout, state, now, 0, blocks, table, misses)
        residual, residual_l1 = residuals(layout, table, misses)
        ended = np.isnan(residual_l1) or (residual <= goal.tolerance and residual_l1 <= goal.tolerance_l1)
        # measured in hope only, a sweep leaves no record
        if due or ended:
            if gain < 0.0:
                gain = outside_gain(layout, state, now) + gain_of_blocks(layout, state, now, 0, blocks)
            linear = outside_linear(source, layout, state, now) + linear_of_blocks(layout, state, now, 0, blocks)
            mass = table.sum()
            record = records[written]
            record[0] = sweep
            record[1] = residual
            record[2] = residual_l1
            record[3] = gain
            record[4] = linear / total - np.log(mass / goal.start)
            record[5] = mass
            written += 1
        if ended or written == records.shape[0]:
            return n, written
        if hopeful:
            witness = worst_block(layout, state, now, 0, blocks)
    return limit, written
