"""The loop of a distributed run: it counts, judges, stops, and keeps a checkpoint after every iteration."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor.distributed.bare import refuse_bare
from purtensor.distributed.certifying import certify
from purtensor.distributed.checkpoint import Stand, keep
from purtensor.distributed.passes import START
from purtensor.distributed.slab_store import SlabStore
from purtensor.distributed.stepping import (
    Moved,
    best_step,
    first_tally,
    is_met_to_rounding,
    is_rounding,
    residuals,
    sweep,
    system_at,
)
from purtensor.solving.iterate import Record
from purtensor.solving.lines import TraceLine
from purtensor.solving.solvers.newton import SLOW, SLOW_STEPS, SWEEPS
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination
from purtensor.tables.domain import Domain


@dataclass(frozen=True, slots=True)
class Stage:
    """What a callback is told after every iteration: counts and residuals so far."""

    iteration: int
    seconds: float
    residual: float
    residual_l1: float


@dataclass(frozen=True, slots=True)
class Plan:
    """How a run goes on: by Newton steps after some sweeps, or by sweeps alone, in an order, until it is to stop."""

    newton: bool
    warm_up: int
    order: tuple[int, ...]
    stopping: Stopping


def dual_of(store: SlabStore, stand: Stand) -> float:
    """Return the dual value in nats."""
    linear = stand.tally.sums["linear"] + float(store.outer_targets @ stand.outer)
    return float(linear / store.total - np.log(stand.tally.sums["mass"] / store.mass))


def begun(store: SlabStore, domain: Domain, options: dict[str, Any]) -> Stand:
    """Return the stand of a run that begins at the reference.

    Raises
    ------
    BareRowError
        A row that couples the parts has a positive target and no profile.
    """
    outer, tally = first_tally(store)
    refuse_bare(store, tally, domain)
    stand = Stand(START, outer, tally, options=options)
    residual, residual_l1 = residuals(store, tally)
    stand.lines.append(TraceLine(Record(0, residual, residual_l1, 0.0, dual_of(store, stand)), 0, 0.0))
    keep(store, stand)
    return stand


def run_on(
    store: SlabStore, stand: Stand, plan: Plan, callback: Callable[[Stage], Any] | None = None,
    is_hopeless: Callable[[Stand], bool] | None = None,
) -> Termination:  # fmt: skip
    """Go on from where a run stands to one of its endings; the stand changes in place, with a checkpoint each time.

    `is_hopeless` is asked of every point from which a run would go on: whether it is proved that it works for a point
    that does not exist. A run that was stopped there is asked again.
    """
    started = time.perf_counter() - stand.seconds
    try:
        while True:
            within_first = stand.warmed > 0 and stand.iterations == 0  # a warm-up is part of the first iteration
            ending = None if within_first else _ending(store, stand, plan.stopping, is_hopeless)
            if ending is not None:
                return ending
            if _advance(store, stand, plan, started):
                met = _judged(store, stand, plan.stopping) is Termination.CONVERGED
                return Termination.CONVERGED if met else Termination.STALLED
            last = stand.lines[-1]
            stage = Stage(stand.iterations, stand.seconds, last.record.residual, last.record.residual_l1)
            if callback is not None and callback(stage):
                return Termination.INTERRUPTED
    except KeyboardInterrupt:
        stand.hurried = True
        return Termination.INTERRUPTED


def _ending(
    store: SlabStore, stand: Stand, stopping: Stopping, is_hopeless: Callable[[Stand], bool] | None
) -> Termination | None:
    """Return how a run ends here, None where it goes on; in the order in which a run in memory asks."""
    ending = _judged(store, stand, stopping)
    if ending is not None:
        return ending
    if stand.seconds > stopping.max_seconds:
        return Termination.TIME_LIMIT
    if is_hopeless is not None and is_hopeless(stand):
        return Termination.HOPELESS
    return Termination.ITERATION_LIMIT if stand.iterations >= stopping.max_iterations else None


def _judged(store: SlabStore, stand: Stand, stopping: Stopping) -> Termination | None:
    residual, residual_l1 = residuals(store, stand.tally)
    if not np.isfinite(residual_l1):
        return Termination.NOT_FINITE
    if stopping.stop_on == "residual":
        return Termination.CONVERGED if stopping.is_met_by(residual, residual_l1) else None
    if residual_l1 <= 2 * stopping.tolerance:
        stand.proof = stand.proof or certify(store, stand)
        stand.lines[-1].tv_bound = stand.proof[0].tv_bound
        if stand.proof[0].tv_bound <= stopping.tolerance:
            return Termination.CONVERGED
    return None


def _advance(store: SlabStore, stand: Stand, plan: Plan, started: float) -> bool:
    """Make one iteration, or one sweep of the warm-up; tell whether rounding leaves no better step."""
    warming = plan.newton and stand.warmed < plan.warm_up
    _, missed = residuals(store, stand.tally)
    moved = sweep(store, stand, plan.order) if warming or not plan.newton else _stepped(store, stand, plan, missed)
    if moved is None:
        return True
    gain = moved.gain / store.total
    before = dual_of(store, stand)
    if stand.proof is not None:  # of a point that is left
        stand.proof = None
        shutil.rmtree(store.witness(stand.token), ignore_errors=True)
    stand.token, stand.outer, stand.tally = moved.token, moved.outer, moved.tally
    stand.seconds = time.perf_counter() - started
    if warming:
        stand.warmed += 1
        stand.warm_gain += dual_of(store, stand) - before
        if stand.warmed == plan.warm_up:
            stand.tally = system_at(store, stand)
        keep(store, stand)
        return False
    stand.iterations += 1
    if stand.sweeps:
        _count_sweep(store, stand)
    elif plan.newton:
        _, reached = residuals(store, moved.tally)
        stand.slow = stand.slow + 1 if reached > SLOW * missed else 0
    residual, residual_l1 = residuals(store, stand.tally)
    record = Record(1, residual, residual_l1, gain + stand.warm_gain, dual_of(store, stand))
    stand.warm_gain = 0.0
    stand.lines.append(TraceLine(record, stand.iterations, stand.seconds))
    keep(store, stand)
    return is_rounding(store, gain)


def _stepped(store: SlabStore, stand: Stand, plan: Plan, missed: float) -> Moved | None:
    """Return a Newton step, or a sweep where no step gains or some are still to come; None where all is rounding."""
    if not stand.sweeps:
        moved = best_step(store, stand)
        if moved is not None or is_met_to_rounding(store, missed):
            return moved
        stand.sweeps = SWEEPS
    return sweep(store, stand, plan.order)


def _count_sweep(store: SlabStore, stand: Stand) -> None:
    """Take note of a sweep that came where no Newton step gains; the last of them raises doubts, as in memory."""
    stand.sweeps -= 1
    stand.slow = 0
    if not stand.sweeps:
        stand.slow = SLOW_STEPS
        stand.tally = system_at(store, stand)
