"""The space of problems whose arrays are in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.newton.certificate import unevenness
from purtensor.solving.chunked import change_sums, changed, measured, weighed
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.factored import Factored
from purtensor.solving.hessian.regularized import even_shares
from purtensor.solving.iterate import (
    Budget,
    Iterate,
    Step,
    iterate_at,
)
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.spaces.array_points import ArrayPoints
from purtensor.solving.spaces.space import Direction, Sums


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
class ArraySpace(ArrayPoints):
    """A Problem, as all algorithms see it: see `purtensor.solving.spaces.space` for what each method returns."""

    _shares: FloatArray | None = field(default=None)

    @property
    def newton_note(self) -> str:
        return hessian_of(self.problem).note

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

    def _weights(self, point: Iterate, floor: float) -> FloatArray:
        if floor == 0.0:
            return point.masses
        if self._shares is None:
            self._shares = even_shares(self.problem)
        return point.masses + floor * self._shares
