"""The driver's side of a sweep and of a Newton step: what is small, between two passes over the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.distributed.checkpoint import Stand
from purtensor.distributed.engine import map_reduce
from purtensor.distributed.passes import START, Move, Tally, added, newton_pass, sweep_pass
from purtensor.distributed.slab_store import SlabStore
from purtensor.kernels.ipf import take_factors
from purtensor.solving.hessian.cholesky import factorize

SUFFICIENT = 1e-4
LARGEST_STEP = 40.0
"""As for Newton's method in memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Where a step led, and what the dual gained by it: as scaled, not yet divided by the total."""

    token: str
    outer: FloatArray
    tally: Tally
    gain: float


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
        rows = store.outer_blocks[k]
        factor, factors = np.empty(rows.stop - rows.start), np.ones(rows.stop - rows.start)
        gain += take_factors(store.outer_targets[rows], tally.sums["outer"][rows], factor, factors)
        outer[rows] += np.log(factors)
        fresh = False
    if not fresh:
        passed()
    return Moved(token, outer, tally, gain)


def newton_step(store: SlabStore, stand: Stand) -> Moved | None:
    """Return the point where the dual has gained enough along Newton's direction; None where rounding leaves none."""
    rhs = (store.outer_targets - stand.tally.sums["outer"])[store.kept]
    solved = factorize(stand.tally.sums["matrix"]).solve(rhs + stand.tally.sums["vector"])
    direction = np.zeros(len(store.outer_targets))
    direction[store.kept] = solved
    outer_slope = float(rhs @ solved)
    step, tried = 1.0, 0
    while True:
        token = f"{_next_token(stand)}.{tried}"
        outer = stand.outer + step * direction
        move = Move(stand.outer, solved, step)
        tally = map_reduce(newton_pass, added, store.parts, store, stand.token, outer, move, token)
        slope, largest = outer_slope + tally.sums["slope"], tally.largest["change"]
        if not (np.isfinite(slope) and slope > 0.0 and np.isfinite(largest) and largest > 0.0):
            return None
        if tried == 0 and largest > LARGEST_STEP:
            step, tried = LARGEST_STEP / largest, 1
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


def _next_token(stand: Stand) -> str:
    """Return the name of the states of the next iteration; runs of other options have other names."""
    number = 0 if stand.token == START else int(stand.token.split(".")[0]) + 1
    return f"{number:08d}.{stand.options.get('run', '')}"
