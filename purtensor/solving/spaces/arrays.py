"""The space of problems whose arrays are in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.newton.certificate import unevenness
from purtensor.solving.chunked import bent, change_sums, changed, measured, weighed
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.factored import Factored
from purtensor.solving.hessian.regularized import even_shares
from purtensor.solving.iterate import (
    Budget,
    Iterate,
    Residual,
    Step,
    dual_at,
    emptying_gain,
    iterate_at,
    shifted,
    starting_potentials,
)
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.spaces.space import Sums
from purtensor.solving.stopping import away_from_total, has_emptied

_FIRST_CHUNK, _FIRST_READS = 64, 1 << 16
"""A first step makes so many iterations, or reads so many profiles: its time is not known yet."""


class Direction(NamedTuple):
    """Newton's direction, and the slope of the dual along it."""

    potentials: FloatArray
    slope: float


class ArrayTrial(NamedTuple):
    """See `Trial`; the point is made when it is asked for."""

    slope: float
    loss: float
    largest: float
    problem: Problem
    before: Iterate
    direction: FloatArray
    step: float

    def point(self) -> Iterate:
        """Return the point, made now."""
        return iterate_at(self.problem, self.before.potentials + self.step * self.direction)


@dataclass(slots=True, eq=False)
class ArrayChange:
    """See `Change`; `missed` is what p (1 + w) misses, `room` holds its masses."""

    potentials: FloatArray
    factored: Factored
    point: Iterate
    scale: float
    left: float
    uneven: float
    missed: FloatArray
    room: FloatArray


@dataclass(slots=True, eq=False)
class ArraySpace:
    """A Problem, as algorithms see it: see `purtensor.solving.spaces.space` for what each method returns."""

    problem: Problem
    _shares: FloatArray | None = field(default=None)

    @property
    def total(self) -> float:
        return self.problem.total

    @property
    def constraints(self) -> int:
        return len(self.problem.index)

    @property
    def newton_note(self) -> str:
        return hessian_of(self.problem).note

    def start(self) -> Iterate:
        return iterate_at(self.problem, starting_potentials(self.problem))

    def residual(self, point: Iterate) -> Residual:
        return self._measured(point)[1]

    def dual(self, point: Iterate) -> float:
        return dual_at(self.problem, point)

    def mass(self, point: Iterate) -> float:
        return float(point.masses.sum())

    def rebuild(self, point: Iterate, *, quickly: bool = False) -> tuple[Iterate, bool]:
        made = iterate_at(self.problem, point.potentials)
        mass = float(made.masses.sum())
        if not away_from_total(mass, self.problem.total):
            return made, False
        return iterate_at(self.problem, shifted(self.problem, point.potentials.copy(), mass)), True

    def sweep(self, point: Iterate, order: tuple[int, ...] | None, budget: Budget) -> Step[Iterate]:
        step = IPF(order).unprepared_step(self.problem, point.with_memory(None), budget)
        return step.at(iterate_at(self.problem, step.iterate.potentials))

    def warm_up(self, point: Iterate, order: tuple[int, ...] | None, sweeps: int) -> tuple[Iterate, int]:
        moved = IPF(order).few_sweeps(self.problem, point.with_memory(None), sweeps)
        return iterate_at(self.problem, moved.potentials), sweeps

    def direction(self, point: Iterate, floor: float) -> Direction:
        miss = self.problem.targets - self._measured(point)[0]
        found, _ = hessian_of(self.problem).factor_and_solve(self._weights(point, floor), miss)
        return Direction(found, inner_product(miss, found))

    def try_step(self, point: Iterate, direction: Direction, step: float) -> ArrayTrial:
        loss = largest = math.nan
        if np.isfinite(direction.slope) and direction.slope > 0.0:
            loss, largest = bent(self.problem, point.masses, direction.potentials, step)
        return ArrayTrial(direction.slope, loss, largest, self.problem, point, direction.potentials, step)

    def first_change(self, point: Iterate, floor: float) -> ArrayChange | None:
        problem = self.problem
        scale = problem.total / self.mass(point)
        weights = self._weights(point, floor)
        found, factored = hessian_of(problem).factor_and_solve(
            weights, problem.targets / scale - self._measured(point)[0]
        )
        return self._changed(point, scale, found, factored, np.empty_like(point.masses))

    def refine(self, change: ArrayChange) -> ArrayChange:
        found = change.potentials + change.factored.solve(change.missed / change.scale)
        return self._changed(change.point, change.scale, found, change.factored, change.room)

    def _changed(
        self, point: Iterate, scale: float, found: FloatArray, factored: Factored, room: FloatArray
    ) -> ArrayChange:
        problem = self.problem
        sums = np.empty(problem.system.rows)
        changed(problem, point.masses, found, scale, room)
        _, left = measured(problem, room, sums)
        missed = problem.targets - sums
        uneven = math.sqrt(unevenness(missed, problem.targets))
        return ArrayChange(found, factored, point, scale, left, uneven, missed, room)

    def sums(self, point: Iterate, change: ArrayChange) -> Sums:
        mass = self.mass(point)
        lowest, upper, gap, moved = change_sums(self.problem, point.masses, change.potentials)
        return Sums(lowest, upper / mass, gap / mass, moved / mass)

    def weight(self, point: Iterate) -> float:
        return weighed(self.problem, point.masses, point.potentials)

    def has_emptied(self, point: Iterate, residual_l1: float) -> bool:
        totals = self.problem.total, float(self.problem.reference.sum())
        return has_emptied(point.masses, self.problem.reference, totals, residual_l1)

    def emptying_gain(self) -> float:
        return emptying_gain(self.problem)

    def first_chunk(self) -> int:
        return max(1, min(_FIRST_CHUNK, _FIRST_READS // max(1, self.problem.index.size)))

    def keep(self, state: object) -> None:
        """Do nothing: a run in memory is not resumed."""

    def _measured(self, point: Iterate) -> tuple[FloatArray, Residual]:
        """Return C p and the residual that it leaves; computed once for each point."""
        if point.measured is None:
            problem, sums = self.problem, np.empty(self.problem.system.rows)
            largest, l1 = measured(problem, point.masses, sums)
            point.measured = sums, Residual(largest / problem.total, l1 / problem.total)
        return point.measured

    def _weights(self, point: Iterate, floor: float) -> FloatArray:
        if floor == 0.0:
            return point.masses
        if self._shares is None:
            self._shares = even_shares(self.problem)
        return point.masses + floor * self._shares
