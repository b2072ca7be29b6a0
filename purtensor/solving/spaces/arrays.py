"""The space of problems whose arrays are in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
from purtensor.solving.spaces.space import Sums
from purtensor.solving.stopping import away_from_total, has_emptied

_FIRST_CHUNK = (64, 1 << 16)


class Direction(NamedTuple):
    """Newton's direction, and the slope of the dual along it."""

    potentials: FloatArray
    slope: float


class ArrayAhead(NamedTuple):
    """See `Ahead`."""

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
    """See `Change`."""

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
    """A Problem, as algorithms see it."""

    problem: Problem
    sweeps_at_once: bool = True
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
        if point.found is None:
            problem = self.problem
            point.sums = np.empty(problem.system.rows)
            largest, l1 = measured(problem, point.masses, point.sums)
            point.found = Residual(largest / problem.total, l1 / problem.total)
        return point.found

    def dual(self, point: Iterate) -> float:
        return dual_at(self.problem, point)

    def mass(self, point: Iterate) -> float:
        return float(point.masses.sum())

    def scaled(self, point: Iterate, *, quickly: bool = False) -> Iterate:
        made = iterate_at(self.problem, point.potentials)
        mass = float(made.masses.sum())
        if away_from_total(mass, self.problem.total):
            made = iterate_at(self.problem, shifted(self.problem, point.potentials.copy(), mass))
        return made

    def was_scaled(self, point: Iterate, made: Iterate) -> bool:
        return made.potentials is not point.potentials

    def sweep(self, point: Iterate, order: tuple[int, ...] | None, budget: Budget) -> Step:
        from purtensor.solving.solvers.ipf.solver import IPF

        step = IPF(order).step(self.problem, Iterate(point.potentials, point.masses), budget)
        return step.at(iterate_at(self.problem, step.iterate.potentials))

    def warm_up(self, point: Iterate, order: tuple[int, ...] | None, sweeps: int) -> tuple[Iterate, int]:
        from purtensor.solving.solvers.ipf.solver import IPF

        moved = IPF(order).few_sweeps(self.problem, point.with_memory(None), sweeps)
        return iterate_at(self.problem, moved.potentials), sweeps

    def direction(self, point: Iterate, floor: float) -> Direction:
        self.residual(point)
        miss = self.problem.targets - point.sums
        found, _ = hessian_of(self.problem).factor_and_solve(self._weights(point, floor), miss)
        return Direction(found, inner_product(miss, found))

    def ahead(self, point: Iterate, direction: Direction, step: float) -> ArrayAhead:
        loss = largest = math.nan
        if np.isfinite(direction.slope) and direction.slope > 0.0:
            loss, largest = bent(self.problem, point.masses, direction.potentials, step)
        return ArrayAhead(direction.slope, loss, largest, self.problem, point, direction.potentials, step)

    def first_change(self, point: Iterate, floor: float) -> ArrayChange | None:
        problem = self.problem
        self.residual(point)
        scale = problem.total / self.mass(point)
        weights = self._weights(point, floor)
        found, factored = hessian_of(problem).factor_and_solve(weights, problem.targets / scale - point.sums)
        return self._changed(point, scale, found, factored, np.empty_like(point.masses))

    def refined(self, change: ArrayChange) -> ArrayChange:
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

    def emptying(self) -> float:
        return emptying_gain(self.problem)

    def chunk(self) -> int:
        most, reads = _FIRST_CHUNK
        return max(1, min(most, reads // max(1, self.problem.index.size)))

    def keep(self, state: Any) -> None:
        pass

    def _weights(self, point: Iterate, floor: float) -> FloatArray:
        if floor == 0.0:
            return point.masses
        if self._shares is None:
            self._shares = even_shares(self.problem)
        return point.masses + floor * self._shares
