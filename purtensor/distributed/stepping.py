"""The driver's side of a sweep and of a Newton step: what is small, between two passes over the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.distributed.checkpoint import Stand
from purtensor.distributed.engine import map_reduce
from purtensor.distributed.passes import (
    START,
    Floor,
    Move,
    Tally,
    added,
    measured_pass,
    newton_pass,
    profiles_pass,
    raised_pass,
    sweep_pass,
)
from purtensor.distributed.slab_store import SlabStore
from purtensor.kernels.ipf import take_factors
from purtensor.kernels.log_sweep import gain_of_a_row
from purtensor.kernels.newton import LARGEST_CHANGE, SUFFICIENT
from purtensor.solving.hessian.cholesky import factorize
from purtensor.solving.raised import FLOORS
from purtensor.solving.solvers.newton import WORTH
from purtensor.solving.stopping import Stopping, away_from_total, gained_by_scaling


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Where a step led, and what the dual gained by it: as scaled, not yet divided by the total."""

    token: str
    outer: FloatArray
    tally: Tally
    gain: float


def residuals(store: SlabStore, tally: Tally) -> tuple[float, float]:
    """Return the largest miss of a target and the L1 miss of the worst constraint, total mass 1."""
    largest, l1 = tally.largest["inner"], np.array(tally.sums["l1"])
    for k, rows in store.outer_blocks.items():
        misses = np.abs(tally.sums["outer"][rows] - store.outer_targets[rows])
        l1[k] = misses.sum()
        largest = float(np.maximum(largest, misses.max(initial=0.0)))
    return largest / store.total, float(l1.max()) / store.total


def is_rounding(store: SlabStore, gain: float) -> bool:
    """Tell whether a gain of the dual, in nats, is what rounding makes of none, as in memory."""
    return gain <= len(store.scopes) * 2.0**-100


def is_met_to_rounding(store: SlabStore, residual_l1: float) -> bool:
    """Tell whether what a Newton step has to gain by this residual is rounding."""
    return is_rounding(store, WORTH * residual_l1**2)


def first_tally(store: SlabStore) -> tuple[FloatArray, Tally]:
    """Return the outer potentials of the reference scaled to the targets' total, and what a pass finds there."""
    outer = np.zeros(len(store.outer_targets))
    if 0 in store.outside:
        outer[store.outer_blocks[0]] = store.start_shift
    return outer, map_reduce(newton_pass, added, store.parts, store, START, outer, None, START)


def sweep(store: SlabStore, stand: Stand, order: Sequence[int]) -> Moved:
    """Return the point after a sweep of iterative proportional fitting in this order.

    Steps of inside constraints that follow each other are one pass; the steps between are made on small sums.
    """
    token, outer, tally, gain = stand.token, stand.outer.copy(), stand.tally, 0.0
    base = _next_token(stand)
    waiting: list[int] = []
    passes = 0

    def passed() -> None:
        nonlocal token, tally, gain, passes
        new = f"{base}.{passes}"
        tally = map_reduce(sweep_pass, added, store.parts, store, token, outer, tuple(waiting), new)
        gain += tally.sums["gained"]
        token, passes = new, passes + 1
        waiting.clear()

    fresh = True  # whether `tally` tells the outer sums of the point that the steps so far have reached
    for k in order:
        if k in store.inside:
            waiting.append(k)
            fresh = False
            continue
        if not fresh:
            passed()
        moves, gained = _outer_moves(store, tally, store.outer_blocks[k])
        outer[store.outer_blocks[k]] += moves
        gain += gained
        fresh = False
    if not fresh:
        passed()
    return Moved(token, outer, tally, gain)


def _outer_moves(store: SlabStore, tally: Tally, rows: slice) -> tuple[FloatArray, float]:
    """Return by how much a step moves the potentials of rows that couple the parts, and what the dual gains."""
    targets = store.outer_targets[rows]
    if not store.spans_the_range:
        factor, factors = np.empty(len(targets)), np.ones(len(targets))
        gained = float(take_factors(targets, tally.sums["outer"][rows], factor, factors))
        return np.log(factors), gained
    logs = tally.logs["outer"][rows]
    moves, served = np.zeros(len(targets)), np.isfinite(logs)  # rows without mass keep their potential
    moves[served] = np.log(targets[served]) - logs[served]
    terms = zip(moves[served].tolist(), targets[served].tolist(), logs[served].tolist(), strict=True)
    return moves, sum(float(gain_of_a_row(*term)) for term in terms)


def best_step(store: SlabStore, stand: Stand) -> Moved | None:
    """Return the Newton step, or one of those for raised masses where that gains next to nothing; None without any.

    As in memory (notes/newton.md, equation 9); each of the others costs a pass more, and one for all of them.
    """
    _, residual_l1 = residuals(store, stand.tally)
    worth = WORTH * residual_l1**2 * store.total
    best, tried = newton_step(store, stand), 100
    profiles = None
    for share in FLOORS:
        if (best is not None and best.gain >= worth) or is_met_to_rounding(store, residual_l1):
            break
        if profiles is None:
            profiles = map_reduce(profiles_pass, added, store.parts, store).sums["profiles"]
        found = newton_step(store, stand, Floor(share, profiles), tried)
        tried += 100
        if found is not None and (best is None or found.gain > best.gain):
            best = found
    return best


def newton_step(store: SlabStore, stand: Stand, floor: Floor | None = None, tried: int = 0) -> Moved | None:
    """Return the point where the dual has gained enough along Newton's direction; None where rounding leaves none.

    Parameters
    ----------
    floor
        What masses are raised by in Newton's equations; the direction is one of ascent all the same.
    tried
        The number that the first state written gets.
    """
    system, first = stand.tally, tried
    if floor is not None:
        system = map_reduce(raised_pass, added, store.parts, store, stand.token, stand.outer, floor)
    rhs = (store.outer_targets - stand.tally.sums["outer"])[store.kept]
    solved = factorize(system.sums["matrix"]).solve(rhs + system.sums["vector"])
    direction = np.zeros(len(store.outer_targets))
    direction[store.kept] = solved
    outer_slope = float(rhs @ solved)
    step = 1.0
    while True:
        token = f"{_next_token(stand)}.{tried}"
        outer = stand.outer + step * direction
        move = Move(stand.outer, solved, step, floor)
        tally = map_reduce(newton_pass, added, store.parts, store, stand.token, outer, move, token)
        slope, largest = outer_slope + tally.sums["slope"], tally.largest["change"]
        if not (np.isfinite(slope) and slope > 0.0 and np.isfinite(largest) and largest > 0.0):
            return None
        if tried == first and largest > LARGEST_CHANGE:
            step, tried = LARGEST_CHANGE / largest, tried + 1
            continue
        gain = step * slope - tally.sums["curvature"]
        if gain >= SUFFICIENT * step * slope:
            return Moved(token, outer, tally, gain)
        step, tried = step * 0.5, tried + 1
        if step * largest <= 2.0**-60:
            return None


def system_at(store: SlabStore, stand: Stand) -> Tally:
    """Return what a Newton step needs of the point where a run stands: sweeps do not assemble it."""
    return map_reduce(newton_pass, added, store.parts, store, stand.token, stand.outer, None, stand.token)


def scale_to_total(store: SlabStore, stand: Stand, stopping: Stopping) -> None:
    """Bring the masses where a run ended to the targets' total, as in memory: a pass where they have another.

    The constant is added to a constraint that couples the parts. Masses stay as they are where there is none, and where
    targets that are met would be so no longer.
    """
    mass = float(stand.tally.sums["mass"])
    away = away_from_total(mass, store.total)
    if not (away and store.outer_blocks):
        return
    outer = stand.outer.copy()
    outer[next(iter(store.outer_blocks.values()))] += np.log(store.total / mass)
    tally = map_reduce(measured_pass, added, store.parts, store, stand.token, outer)
    residual, residual_l1 = residuals(store, tally)
    if stopping.is_met_by(*residuals(store, stand.tally)) and not stopping.is_met_by(residual, residual_l1):
        return
    stand.tally, stand.outer = tally, outer
    line = stand.lines[-1]
    line.record = line.record._replace(
        residual=residual, residual_l1=residual_l1, kl_step=line.record.kl_step + gained_by_scaling(away)
    )


def _next_token(stand: Stand) -> str:
    """Return the name of the states of the next iteration; runs of other options have other names."""
    number = 0 if stand.token == START else int(stand.token.split(".")[0]) + 1
    return f"{number:08d}.{stand.options.get('run', '')}"
