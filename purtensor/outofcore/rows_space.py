"""The space of problems by rows: the driver holds all potentials, profiles lie in chunks; one pass a trial."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.ipf.steps import measure, rebuild_masses
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.newton.line_search import LARGEST_CHANGE, SUFFICIENT, curvature
from purtensor.kernels.spread import spread
from purtensor.outofcore.ascent import has_emptied_at, masses_on, place_at, sums_at
from purtensor.outofcore.engine import map_reduce
from purtensor.outofcore.passes import Tally, added
from purtensor.outofcore.rows_problem import RowProblem
from purtensor.solving.iterate import Record, Residual, Step
from purtensor.solving.solvers.lbfgs import SHORTEST_CHANGE, SMALLEST_TARGET, learn, two_loops
from purtensor.solving.stopping import is_rounding_of


@dataclass(slots=True, eq=False)
class RowPoint:
    """Potentials at which the masses have the total, and what they miss."""

    potentials: FloatArray
    miss: FloatArray
    memory: Any = None


class RowAhead(NamedTuple):
    slope: float
    loss: float
    largest: float
    reached: RowPoint

    def point(self) -> RowPoint:
        return self.reached


def ahead_pass(
    number: int, folder: Path, offsets: IntArray, potentials: FloatArray, direction: FloatArray, step: float
) -> Tally:
    """Return the bend along a direction, its extremes, and the sums at its end: all that a step may need."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    change = np.empty_like(masses)
    spread(chunk.index, offsets, direction, change)
    bend, highest, lowest = curvature(masses, change, step), float(change.max()), -float(change.min())
    rebuild_masses(chunk.reference, chunk.index, offsets, potentials + step * direction, masses)
    sums = np.zeros(int(offsets[-1]))
    measure(masses, chunk.index, offsets, np.zeros_like(sums), sums)
    return Tally({"bend": bend, "rows": sums, "mass": float(masses.sum())}, {"highest": highest, "lowest": lowest})


@dataclass(slots=True, eq=False)
class RowsSpace:
    """A RowProblem, as algorithms see it."""

    problem: RowProblem

    @property
    def total(self) -> float:
        return self.problem.total

    @property
    def targets(self) -> FloatArray:
        return self.problem.targets

    @property
    def constraints(self) -> int:
        return len(self.problem.scopes)

    def start(self) -> RowPoint:
        place = place_at(self.problem, np.zeros(len(self.targets)), sums_at(self.problem, np.zeros(len(self.targets))))
        return RowPoint(place.potentials, place.miss)

    def residual(self, point: RowPoint) -> Residual:
        misses = np.abs(point.miss)
        l1 = [float(misses[self.problem.block(k)].sum()) for k in range(self.constraints)]
        return Residual(float(misses.max()) / self.total, max(l1) / self.total)

    def dual(self, point: RowPoint) -> float:
        linear = float(self.targets @ point.potentials) / self.total
        return linear - float(np.log(self.total / self.problem.mass))

    def mass(self, point: RowPoint) -> float:
        return self.total

    def scaled(self, point: RowPoint, *, quickly: bool = False) -> RowPoint:
        return point

    def was_scaled(self, point: RowPoint, made: RowPoint) -> bool:
        return False

    def miss(self, point: RowPoint) -> FloatArray:
        return point.miss

    def along(self, point: RowPoint, potentials: FloatArray) -> tuple[FloatArray, float]:
        """Return a direction with the constant taken off that the total forbids, and its slope: no pass is needed."""
        mean = inner_product(self.targets - point.miss, potentials) / self.constraints_mass
        centred = potentials.copy()
        centred[self.problem.block(0)] -= mean
        return centred, inner_product(point.miss, centred)

    @property
    def constraints_mass(self) -> float:
        return self.total

    def ahead(self, point: RowPoint, direction: tuple[FloatArray, float], step: float) -> RowAhead:
        way, slope = direction
        problem = self.problem
        told = map_reduce(
            ahead_pass, added, problem.chunks, problem.folder / "chunks", problem.offsets, point.potentials, way, step
        )
        place = place_at(problem, point.potentials + step * way, told)
        largest = max(told.largest["highest"], told.largest["lowest"])
        return RowAhead(slope, told.sums["bend"], largest, RowPoint(place.potentials, place.miss))

    def has_emptied(self, point: RowPoint, residual_l1: float) -> bool:
        return has_emptied_at(self.problem, point, residual_l1)  # type: ignore[arg-type]

    def emptying(self) -> float:
        return 0.0

    def chunk(self) -> int:
        return 1

    def keep(self, state: Any) -> None:
        pass


@dataclass(frozen=True, slots=True)
class SpaceLBFGS:
    """L-BFGS on any space whose rows are in memory."""

    memory: int = 10

    def step_in(self, space: Any, point: Any, budget: Any) -> Step:
        pairs = point.memory if isinstance(point.memory, deque) else deque(maxlen=self.memory)
        found = self._move(space, point, pairs)
        if pairs and (found is None or is_rounding_of(space, found[1] / space.total)):
            pairs.clear()  # what was learnt may be rounding
            found = self._move(space, point, pairs)
        if found is None:
            return Step(point, 1, stalled=True)
        moved, gain, step, way, slope = found
        learn(pairs, step * way, step * slope - gain, space.miss(point) - space.miss(moved))
        moved.memory = pairs
        gain /= space.total
        residual = space.residual(moved)
        record = Record(1, residual.largest, residual.l1, gain, space.dual(moved))
        return Step(moved, 1, (record,), stalled=is_rounding_of(space, gain))

    def _move(self, space: Any, point: Any, pairs: Any) -> Any:
        wanted = two_loops(pairs, space.miss(point), 1.0 / np.maximum(space.targets, SMALLEST_TARGET))
        direction = space.along(point, wanted)
        way, slope = direction
        if not (np.isfinite(slope) and slope > 0.0):
            return None
        step, total = 1.0, space.total
        tried = space.ahead(point, direction, step)
        largest = tried.largest
        if not 0.0 < largest < np.inf:
            return None
        if largest > LARGEST_CHANGE:
            step = LARGEST_CHANGE / largest
            tried = space.ahead(point, direction, step)
        while step * largest > SHORTEST_CHANGE:
            gain = step * slope - total * float(np.log1p(tried.loss / total))
            if gain >= SUFFICIENT * step * slope:
                return tried.point(), gain, step, way, slope
            peak = 0.5 * slope * step**2 / (slope * step - gain)
            step = min(max(peak, 0.1 * step), 0.5 * step)
            tried = space.ahead(point, direction, step)
        return None
