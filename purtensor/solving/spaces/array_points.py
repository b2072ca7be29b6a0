"""Points of problems whose arrays are in memory: what is measured of them, and steps from one to another.

`ArrayRowSpace` keeps all points at the targets' total, for methods that learn from gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.chunked import measure_bend, measure_masses
from purtensor.solving.iterate import (
    Iterate,
    Residual,
    dual_at,
    iterate_at,
    shift_to_total,
    starting_potentials,
)
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.space import Direction
from purtensor.solving.stopping import away_from_total, has_emptied

_FIRST_CHUNK, _FIRST_READS = 64, 1 << 16
"""A first step makes so many iterations, or reads so many profiles: its time is not known yet."""


class ArrayTrial(NamedTuple):
    """See `Trial`; the point is made on request."""

    slope: float
    loss: float
    largest: float
    space: ArrayPoints
    before: Iterate
    direction: FloatArray
    step: float

    def point(self) -> Iterate:
        """Return the point, made now."""
        return self.space.at(self.before.potentials + self.step * self.direction)


@dataclass(slots=True, eq=False)
class ArrayPoints:
    """What all spaces of arrays share: see `purtensor.solving.spaces.space` for what each method returns."""

    problem: Problem

    @property
    def total(self) -> float:
        return self.problem.total

    @property
    def constraints(self) -> int:
        return len(self.problem.index)

    def start(self) -> Iterate:
        return iterate_at(self.problem, starting_potentials(self.problem))

    def at(self, potentials: FloatArray) -> Iterate:
        return iterate_at(self.problem, potentials)

    def residual(self, point: Iterate) -> Residual:
        return self._measure_point(point)[1]

    def dual(self, point: Iterate) -> float:
        return dual_at(self.problem, point)

    def mass(self, point: Iterate) -> float:
        return float(point.masses.sum())

    def rebuild(self, point: Iterate, *, quickly: bool = False) -> tuple[Iterate, bool]:
        made = iterate_at(self.problem, point.potentials)
        mass = float(made.masses.sum())
        if not away_from_total(mass, self.problem.total):
            return made, False
        return iterate_at(self.problem, shift_to_total(self.problem, point.potentials.copy(), mass)), True

    def try_step(self, point: Iterate, direction: Direction, step: float) -> ArrayTrial:
        # a direction that does not rise is refused by its slope: the pass over the masses is spared
        loss = largest = math.nan
        if np.isfinite(direction.slope) and direction.slope > 0.0:
            loss, largest = measure_bend(self.problem, point.masses, direction.potentials, step)
        return ArrayTrial(direction.slope, loss, largest, self, point, direction.potentials, step)

    def has_emptied(self, point: Iterate, residual_l1: float) -> bool:
        totals = self.problem.total, float(self.problem.reference.sum())
        return has_emptied(point.masses, self.problem.reference, totals, residual_l1)

    def emptying_gain(self) -> float:
        emptied = self.problem.emptied
        if emptied is None:
            return 0.0
        # problems count the dual from the reference without these profiles: log of (with / without), which is what
        # equation 3 of notes/duality.md changes by
        return float(np.log1p(emptied.masses.sum() / self.problem.reference.sum()))

    def first_chunk(self) -> int:
        return max(1, min(_FIRST_CHUNK, _FIRST_READS // max(1, self.problem.index.size)))

    def keep(self, state: object) -> None:
        """Do nothing: a run in memory is not resumed."""

    def _measure_point(self, point: Iterate) -> tuple[FloatArray, Residual]:
        """Return C p and the residual that it leaves; computed once for each point."""
        if point.measured is None:
            problem, sums = self.problem, np.empty(self.problem.system.rows)
            largest, l1 = measure_masses(problem, point.masses, sums)
            point.measured = sums, Residual(largest / problem.total, l1 / problem.total)
        return point.measured


@dataclass(slots=True, eq=False)
class ArrayRowSpace(ArrayPoints):
    """A Problem as a `RowSpace`: see `purtensor.solving.spaces.space` for what each method returns."""

    @property
    def targets(self) -> FloatArray:
        return self.problem.targets

    @property
    def first_rows(self) -> slice:
        return self.problem.system.block(0)

    def at(self, potentials: FloatArray) -> Iterate:
        point = iterate_at(self.problem, potentials.copy())
        ratio = self.total / self.mass(point)
        point.potentials[self.first_rows] += np.log(ratio)
        # scaled rather than made anew, which would cost an exp for each profile
        point.masses *= ratio
        return point

    def miss(self, point: Iterate) -> FloatArray:
        return np.asarray(self.problem.targets - self._measure_point(point)[0])
