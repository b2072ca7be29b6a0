"""The space of problems whose slabs lie on disk: every sum is a map and reduce over the parts.

A point is the token of the potentials inside the parts, the potentials that couple them, and what the last pass found
there. Steps are written before it is known whether they are taken, with what the next step needs: an iteration of
Newton's method is one pass.
"""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.ipf.log_domain_sweeps import gain_of_a_row
from purtensor.kernels.ipf.steps import take_factors
from purtensor.kernels.newton.certificate import unevenness
from purtensor.outofcore.checkpoint import PartsPoint, keep
from purtensor.outofcore.engine import map_reduce
from purtensor.outofcore.passes import (
    START,
    Floor,
    Move,
    Tally,
    added,
    certificate_pass,
    divergence_pass,
    measured_pass,
    newton_pass,
    profiles_pass,
    raised_pass,
    sweep_pass,
)
from purtensor.outofcore.proof import StoredBasis, start_at, stored_basis, stored_sums
from purtensor.outofcore.slab_store import SlabStore, make_folders
from purtensor.solving.certificate import Certificate, certify
from purtensor.solving.hessian.cholesky import Factor, factorize
from purtensor.solving.hessian.regularized import FLOORS
from purtensor.solving.iterate import Budget, Record, Residual, Step, is_rounding, log_factors
from purtensor.solving.run_state import State
from purtensor.solving.spaces.space import Sums
from purtensor.solving.stopping import EMPTIED, away_from_total


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


class PartsChange(NamedTuple):
    """See `Change`: m lies in the state `change.number`."""

    point: PartsPoint
    floor: Floor | None
    scale: float
    factor: Factor
    tally: Tally
    number: int
    left: float
    uneven: float

    @property
    def token(self) -> str:
        """The state in which it lies, as `made`."""
        return f"change.{self.number}"

    @property
    def lowest(self) -> float:
        """The smallest w, or 0."""
        return -self.tally.largest["lowest"]

    @property
    def miss(self) -> float:
        """What p (1 + w) misses in the worst constraint, L1, as scaled."""
        return self.left


@dataclass(slots=True, eq=False)
class PartsSpace:
    """A problem cut into parts, as algorithms see it."""

    store: SlabStore
    options: dict[str, Any] = field(default_factory=dict)
    _profiles: IntArray | None = None
    _made: int = 0
    _first: tuple[PartsPoint, Tally] | None = None
    _proof: tuple[str, Certificate] | None = None
    _basis: tuple[PartsPoint, StoredBasis | None] | None = None

    @property
    def total(self) -> float:
        return self.store.total

    @property
    def constraints(self) -> int:
        return len(self.store.scopes)

    @property
    def newton_note(self) -> str:
        return self.store.note

    # --- points
    def start(self) -> PartsPoint:
        store = self.store
        outer = np.zeros(len(store.outer_targets))
        if 0 in store.outside:
            outer[store.outer_blocks[0]] = store.start_shift
        return self.at(START, outer)

    def at(self, token: str, outer: FloatArray) -> PartsPoint:
        """Return the point of a state that is written already, with what Newton's method needs there."""
        return PartsPoint(token, outer, self._pass(newton_pass, token, outer, None, token))

    def residual(self, point: PartsPoint) -> Residual:
        store, tally = self.store, point.tally
        largest, l1 = tally.largest["inner"], np.array(tally.sums["l1"])
        for k, rows in store.outer_blocks.items():
            misses = np.abs(tally.sums["outer"][rows] - store.outer_targets[rows])
            l1[k] = misses.sum()
            largest = float(np.maximum(largest, misses.max(initial=0.0)))
        return Residual(largest / store.total, float(l1.max()) / store.total)

    def dual(self, point: PartsPoint) -> float:
        store, sums = self.store, point.tally.sums
        linear = sums["linear"] + float(store.outer_targets @ point.outer)
        return float(linear / store.total - np.log(sums["mass"] / store.mass))

    def mass(self, point: PartsPoint) -> float:
        return float(point.tally.sums["mass"])

    def rebuild(self, point: PartsPoint, *, quickly: bool = False) -> tuple[PartsPoint, bool]:
        store, mass = self.store, self.mass(point)
        if quickly or not (away_from_total(mass, store.total) and store.outer_blocks):
            return point, False
        outer = point.outer.copy()
        outer[next(iter(store.outer_blocks.values()))] += np.log(store.total / mass)
        return PartsPoint(point.token, outer, self._pass(measured_pass, point.token, outer), point.memory), True

    # --- moves
    def sweep(self, point: PartsPoint, order: tuple[int, ...] | None, budget: Budget) -> Step[PartsPoint]:
        moved, gain = self._sweep_in_order(point, order)
        gain /= self.total
        residual = self.residual(moved)
        record = Record(1, residual.largest, residual.l1, gain, self.dual(moved))
        return Step(moved, 1, (record,), stalled=is_rounding(gain, self.constraints))

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
        fresh = True  # whether `tally` tells the outer sums of the point that the steps so far have reached
        for n, k in enumerate([*steps, None]):
            if k in store.inside:
                waiting.append(k)
                fresh = False
                continue
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
        raised, system = self._floor(floor), point.tally
        if raised is not None:
            system = self._pass(raised_pass, point.token, point.outer, raised)
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
        slope = direction.outer_slope + tally.sums["slope"]
        return PartsTrial(slope, tally.sums["curvature"], tally.largest["change"], PartsPoint(new, outer, tally))

    # --- what is proved of a point
    def first_change(self, point: PartsPoint, floor: float) -> PartsChange | None:
        raised, scale = self._floor(floor), self.total / self.mass(point)
        first = self._certified(point, raised, scale, None, 0)
        self._first = (point, first)
        return self._changed(point, raised, scale, factorize(first.sums["matrix"]), first, 0)

    def refine(self, change: PartsChange) -> PartsChange:
        return self._changed(change.point, change.floor, change.scale, change.factor, change.tally, change.number)

    def _changed(
        self, point: PartsPoint, raised: Floor | None, scale: float, factor: Factor, before: Tally, number: int
    ) -> PartsChange:
        store = self.store
        rhs = (store.outer_targets - before.sums["outer"])[store.kept]
        tally = self._certified(point, raised, scale, factor.solve(rhs + before.sums["vector"]), number + 1)
        l1 = np.array(tally.sums["l1"])
        for k, rows in store.outer_blocks.items():
            l1[k] = np.abs(tally.sums["outer"][rows] - store.outer_targets[rows]).sum()
        uneven = tally.sums["uneven"] + unevenness(store.outer_targets - tally.sums["outer"], store.outer_targets)
        return PartsChange(point, raised, scale, factor, tally, number + 1, float(l1.max()), math.sqrt(uneven))

    def _certified(
        self, point: PartsPoint, raised: Floor | None, scale: float, solved: FloatArray | None, number: int
    ) -> Tally:
        tokens = (f"change.{number - 1}", f"change.{number}")
        return self._pass(certificate_pass, point.token, point.outer, scale, solved, tokens, raised)

    def sums(self, point: PartsPoint, change: PartsChange) -> Sums | None:
        if self._basis is None or self._basis[0] is not point:
            at = start_at(self.store, point.token, point.outer, change.scale, change.token)
            self._basis = point, stored_basis(at)
        basis = self._basis[1]
        return None if basis is None else stored_sums(basis, change.token, self.total)

    def divergence(self, point: PartsPoint) -> float:
        """Return the divergence of a point, scaled, from the reference; a certificate has summed it on its way."""
        mass = self.mass(point)
        if not 0.0 < mass < float("inf"):
            return float("nan")
        if self._first is not None and self._first[0].token == point.token:
            terms = float(self._first[1].sums["divergence"])
        else:
            terms = map_reduce(
                divergence_pass, math.fsum, self.store.parts, self.store, point.token, point.outer, self.total / mass
            )
        return max(0.0, terms + self.store.nats_left_out)

    def proof(self, point: PartsPoint, *, at_last: bool = False) -> Certificate:
        """Return what can be proved of a point, kept with its witness; `at_last` with more effort."""
        if self._proof is not None and self._proof[0] == point.token and (self._proof[1].certified or not at_last):
            return self._proof[1]
        self._first = self._basis = None
        kept: list[PartsChange] = []
        found = certify(self, point, FLOORS if at_last else (), kept)
        self._witness(point, kept[-1] if kept else None)
        self._proof = point.token, found
        return found

    def _witness(self, point: PartsPoint, change: PartsChange | None) -> None:
        witness = self.store.witness(point.token)
        shutil.rmtree(witness, ignore_errors=True)
        if change is not None:
            make_folders(witness.parent.parent, (witness.parent.name,))
            os.replace(self.store.state(change.token, 0).parent, witness)
        for state in self.store.states.glob("change.*"):
            shutil.rmtree(state, ignore_errors=True)

    def has_emptied(self, point: PartsPoint, residual_l1: float) -> bool:
        return -point.tally.largest["emptied"] <= EMPTIED * max(residual_l1, float(np.finfo(np.float64).epsneg))

    # --- a run
    def emptying_gain(self) -> float:
        return self.store.nats_left_out

    def first_chunk(self) -> int:
        return 1

    def keep(self, state: State[PartsPoint]) -> None:
        self._made = 0
        token = state.point.token
        keep(self.store, state, self.options)
        if self._proof is not None and self._proof[0] != token:  # of a point that is left
            shutil.rmtree(self.store.witness(self._proof[0]), ignore_errors=True)
            self._proof = None

    def _floor(self, share: float) -> Floor | None:
        if share == 0.0:
            return None
        if self._profiles is None:
            self._profiles = self._pass(profiles_pass).sums["profiles"]
        return Floor(share, self._profiles)

    def _pass(self, task: Any, *arguments: Any) -> Tally:
        tally: Tally = map_reduce(task, added, self.store.parts, self.store, *arguments)
        return tally

    def _token(self, point: PartsPoint) -> str:
        """Return the name of a state to be written; runs of other options have other names."""
        number = 0 if point.token == START else int(point.token.split(".")[0]) + 1
        self._made += 1
        return f"{number:08d}.{self.options.get('run', '')}.{self._made}"
