"""Points of a problem cut into parts: every sum is a map and reduce, and an iteration of Newton's method one pass.

A point is the token of the potentials inside the parts, the potentials that couple them, and what the last pass found
there. Steps are written before it is known whether they are taken, with what the next step needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.ipf.log_domain_sweeps import gain_of_a_row
from purtensor.kernels.ipf.steps import take_factors
from purtensor.kernels.reductions import inner_product
from purtensor.outofcore.checkpoint import PartsPoint
from purtensor.outofcore.engine import Tally, add_tallies, map_reduce
from purtensor.outofcore.passes import (
    START,
    Floor,
    Move,
    divergence_pass,
    measure_pass,
    newton_pass,
    profiles_pass,
    raise_pass,
    sweep_pass,
)
from purtensor.outofcore.slab_store import SlabStore
from purtensor.outofcore.targets import refuse_bare_rows
from purtensor.solving.hessian.factored import factorize
from purtensor.solving.iterate import Budget, Record, Residual, Step, log_factors
from purtensor.solving.stopping import EMPTIED, away_from_total
from purtensor.tables.domain import Domain


@dataclass(slots=True, eq=False)
class StoredSpace:
    """A problem cut into parts: see `purtensor.solving.spaces.space` for what each method returns."""

    store: SlabStore
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return self.store.total

    @property
    def constraints(self) -> int:
        return len(self.store.scopes)

    def residual(self, point: PartsPoint) -> Residual:
        store, tally = self.store, point.tally
        largest, l1 = tally.largest["inner"], np.array(tally.sums["l1"])
        for k, rows in store.outer_blocks.items():
            misses = np.abs(tally.sums["outer"][rows] - store.outer_targets[rows])
            l1[k] = misses.sum()
            # np.maximum passes on NaN, which Python's max may lose
            largest = float(np.maximum(largest, misses.max(initial=0.0)))
        return Residual(largest / store.total, float(l1.max()) / store.total)

    def dual(self, point: PartsPoint) -> float:
        store, sums = self.store, point.tally.sums
        linear = sums["linear"] + inner_product(store.outer_targets, point.outer)
        # the dual of distributions, both totals divided out (notes/duality.md, equation 3)
        return float(linear / store.total - np.log(sums["mass"] / store.mass))

    def mass(self, point: PartsPoint) -> float:
        return float(point.tally.sums["mass"])

    def has_emptied(self, point: PartsPoint, residual_l1: float) -> bool:
        # negated in the pass, as tallies keep maxima
        return -point.tally.largest["emptied"] <= EMPTIED * max(residual_l1, float(np.finfo(np.float64).epsneg))

    def divergence(self, point: PartsPoint) -> float:
        """Return the divergence of a point, scaled, from the reference, in nats."""
        mass = self.mass(point)
        if not 0.0 < mass < float("inf"):
            return float("nan")
        return max(0.0, self._sum_divergence(point) + self.store.nats_left_out)

    def _sum_divergence(self, point: PartsPoint) -> float:
        store, scale = self.store, self.total / self.mass(point)
        terms: float = map_reduce(divergence_pass, math.fsum, store.parts, store, point.token, point.outer, scale)
        return terms

    def emptying_gain(self) -> float:
        return self.store.nats_left_out

    def first_chunk(self) -> int:
        return 1

    def refuse_bare_rows(self, tally: Tally, domain: Domain) -> None:
        """Raise BareRowError where a row that couples the parts has a positive target and no profile."""
        store = self.store
        # where sums may underflow, only the logarithm distinguishes a tiny sum from none
        logs = tally.logs.get("outer")
        has = tally.sums["outer"] > 0 if logs is None else np.isfinite(logs)
        refuse_bare_rows((store.outer_targets > 0) & ~has, store.outside, store.outer_codes, store.scopes, domain)

    def _pass(self, task: Any, *arguments: Any) -> Tally:
        tally: Tally = map_reduce(task, add_tallies, self.store.parts, self.store, *arguments)
        return tally


class Direction(NamedTuple):
    """Newton's direction: on the kept outer rows, on all of them, their part of the slope, and what raised masses."""

    solved: FloatArray
    outer: FloatArray
    outer_slope: float
    floor: Floor | None


class PartsTrial(NamedTuple):
    """See `Trial`: the point is written already."""

    slope: float
    loss: float
    largest: float
    reached: PartsPoint

    def point(self) -> PartsPoint:
        """Return the point."""
        return self.reached


@dataclass(slots=True, eq=False)
class PartsPoints(StoredSpace):
    """The points of a problem cut into parts: what is measured there, and the moves from one to another."""

    _profiles: IntArray | None = None
    _made: int = 0

    @property
    def newton_note(self) -> str:
        return self.store.note

    # --- points
    def start(self) -> PartsPoint:
        store = self.store
        outer = np.zeros(len(store.outer_targets))
        if 0 in store.outside:
            outer[store.outer_blocks[0]] = store.start_shift
        return self.measure_at(START, outer)

    def measure_at(self, token: str, outer: FloatArray) -> PartsPoint:
        """Return the point of a state that is written already, with what Newton's method needs there."""
        return PartsPoint(token, outer, self._pass(newton_pass, token, outer, None, token))

    def rebuild(self, point: PartsPoint, *, quickly: bool = False) -> tuple[PartsPoint, bool]:
        store, mass = self.store, self.mass(point)
        if quickly or not (away_from_total(mass, store.total) and store.outer_blocks):
            return point, False
        outer = point.outer.copy()
        # a shift of all rows of one constraint scales all masses, and costs no write inside the parts
        outer[next(iter(store.outer_blocks.values()))] += np.log(store.total / mass)
        return PartsPoint(point.token, outer, self._pass(measure_pass, point.token, outer), point.memory), True

    # --- moves
    def sweep(self, point: PartsPoint, order: tuple[int, ...] | None, budget: Budget) -> Step[PartsPoint]:
        moved, gain = self._sweep_in_order(point, order)
        gain /= self.total
        residual = self.residual(moved)
        record = Record(1, residual.largest, residual.l1, gain, self.dual(moved))
        return Step(moved, 1, (record,), judged=True)

    def warm_up(self, point: PartsPoint, order: tuple[int, ...] | None, sweeps: int) -> tuple[PartsPoint, int]:
        return self._sweep_in_order(point, order, assemble=sweeps == 1)[0], 1

    def _sweep_in_order(
        self, point: PartsPoint, order: tuple[int, ...] | None, *, assemble: bool = False
    ) -> tuple[PartsPoint, float]:
        """Return the point after a sweep, and what the dual gained: steps inside that follow each other are one pass.

        The steps between are made on small sums.
        """
        store = self.store
        token, outer, tally, gain = point.token, point.outer.copy(), point.tally, 0.0
        steps = tuple(range(len(store.scopes))) if order is None else order
        last_outside = max((n for n, k in enumerate(steps) if k not in store.inside), default=-1)
        waiting: list[int] = []
        fresh = True  # whether `tally` has the outer sums of the point that the steps so far have reached
        for n, k in enumerate([*steps, None]):
            if k in store.inside:
                waiting.append(k)
                fresh = False
                continue
            # outer sums are stale after any step: one pass does the waiting inside steps and measures them again
            if not fresh:
                new = self._token(point)
                whole = assemble and k is None and n > last_outside
                tally = self._pass(sweep_pass, token, outer, tuple(waiting), new, whole)
                gain += tally.sums["gained"]
                token = new
                waiting.clear()
            if k is not None:
                moves, gained = self._outer_moves(tally, store.outer_blocks[k])
                outer[store.outer_blocks[k]] += moves
                gain += gained
                fresh = False
        return PartsPoint(token, outer, tally), gain

    def _outer_moves(self, tally: Tally, rows: slice) -> tuple[FloatArray, float]:
        """Return by how much a step moves the potentials of rows that couple the parts, and what the dual gains."""
        targets = self.store.outer_targets[rows]
        # in logarithms only where sums may leave the range of float64
        if not self.store.spans_the_range:
            factor, factors = np.empty(len(targets)), np.ones(len(targets))
            gained = float(take_factors(targets, tally.sums["outer"][rows], factor, factors))
            return log_factors(factors), gained
        logs = tally.logs["outer"][rows]
        moves, served = np.zeros(len(targets)), np.isfinite(logs)  # rows without mass keep their potential
        moves[served] = np.log(targets[served]) - logs[served]
        terms = zip(moves[served].tolist(), targets[served].tolist(), logs[served].tolist(), strict=True)
        return moves, sum(float(gain_of_a_row(*term)) for term in terms)

    def direction(self, point: PartsPoint, floor: float) -> Direction:
        if "matrix" not in point.tally.sums:  # sweeps do not assemble it
            point.tally = self._pass(newton_pass, point.token, point.outer, None, point.token)
        # right-hand sides stay those of the true masses: raising changes the direction, not the answer
        raised, system = self._floor(floor), point.tally
        if raised is not None:
            system = self._pass(raise_pass, point.token, point.outer, raised)
        store = self.store
        rhs = (store.outer_targets - point.tally.sums["outer"])[store.kept]
        with np.errstate(all="ignore"):
            solved = factorize(system.sums["matrix"]).solve(rhs + system.sums["vector"])
        outer = np.zeros(len(store.outer_targets))
        outer[store.kept] = solved
        return Direction(solved, outer, float(rhs @ solved), raised)

    def try_step(self, point: PartsPoint, direction: Direction, step: float) -> PartsTrial:
        new, outer = self._token(point), point.outer + step * direction.outer
        move = Move(point.outer, direction.solved, step, direction.floor)
        tally = self._pass(newton_pass, point.token, outer, move, new)
        # b - C p times the direction: the driver's rows, and those inside the parts
        slope = direction.outer_slope + tally.sums["slope"]
        return PartsTrial(slope, tally.sums["curvature"], tally.largest["change"], PartsPoint(new, outer, tally))

    def _floor(self, share: float) -> Floor | None:
        if share == 0.0:
            return None
        if self._profiles is None:
            self._profiles = self._pass(profiles_pass).sums["profiles"]
        return Floor(share, self._profiles)

    def _token(self, point: PartsPoint) -> str:
        """Return the name of a state to be written; runs of other options have other names."""
        number = 0 if point.token == START else int(point.token.split(".")[0]) + 1
        # tries of one iteration need names of their own: a state that is not taken must not overwrite one
        self._made += 1
        return f"{number:08d}.{self.options.get('run', '')}.{self._made}"
