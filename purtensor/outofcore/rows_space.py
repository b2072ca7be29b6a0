"""The space of problems whose rows the driver holds: every sum over profiles is a map and reduce over chunks.

It needs no slabs. One iteration of L-BFGS is one pass for each step that is tried: the pass that evaluates a step also
measures the point at its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.divergence import divergence_sum
from purtensor.kernels.ipf.steps import measure, rebuild_masses
from purtensor.kernels.newton.line_search import curvature, largest_absolute
from purtensor.kernels.reductions import inner_product, spread
from purtensor.outofcore.engine import Tally, add_tallies, map_reduce
from purtensor.outofcore.rows_problem import Chunk, RowProblem
from purtensor.solving.iterate import Residual
from purtensor.solving.run_state import State
from purtensor.solving.spaces.space import Direction
from purtensor.solving.stopping import has_emptied


@dataclass(slots=True, eq=False)
class RowsPoint:
    """Potentials at which the masses have the targets' total, and what they miss: the gradient of the dual."""

    potentials: FloatArray
    miss: FloatArray
    memory: object = None


class RowsTrial(NamedTuple):
    """See `Trial`: the sums at the end of the step are known already; they may be infinite where it is too long."""

    slope: float
    loss: float
    largest: float
    space: RowsSpace
    reached: FloatArray
    found: Tally

    def point(self) -> RowsPoint:
        """Return the point."""
        return self.space.make_point(self.reached, self.found)


@dataclass(frozen=True, slots=True, eq=False)
class RowsSpace:
    """A problem by its rows, as algorithms see it: see `purtensor.solving.spaces.space` for what methods return."""

    problem: RowProblem

    @property
    def total(self) -> float:
        return self.problem.total

    @property
    def constraints(self) -> int:
        return len(self.problem.scopes)

    @property
    def targets(self) -> FloatArray:
        return self.problem.targets

    @property
    def first_rows(self) -> slice:
        return self.problem.block(0)

    def start(self) -> RowsPoint:
        return self.at(np.zeros(len(self.targets)))

    def at(self, potentials: FloatArray) -> RowsPoint:
        return self.make_point(potentials, self.sums(potentials))

    def sums(self, potentials: FloatArray) -> Tally:
        """Return the sums of the rows at these potentials, and the mass; of the reference, as scaled, at zeros."""
        return self._pass(sums_pass, potentials)

    def make_point(self, potentials: FloatArray, found: Tally) -> RowsPoint:
        """Return the point at these potentials, as `at` does, where the sums there are known."""
        ratio = self.total / found.sums["mass"]
        moved = potentials.copy()
        # a shift of all rows of one constraint scales the masses to the total: no pass over the disk
        moved[self.first_rows] += np.log(ratio)
        return RowsPoint(moved, self.targets - ratio * found.sums["rows"])

    def miss(self, point: RowsPoint) -> FloatArray:
        return point.miss

    def residual(self, point: RowsPoint) -> Residual:
        misses = np.abs(point.miss)
        l1 = [float(misses[self.problem.block(k)].sum()) for k in range(self.constraints)]
        return Residual(float(misses.max()) / self.total, max(l1) / self.total)

    def dual(self, point: RowsPoint) -> float:
        # masses have the targets' total at every point, so the log of the mass is a constant
        linear = inner_product(self.targets, point.potentials) / self.total
        return float(linear - np.log(self.total / self.problem.mass))

    def mass(self, point: RowsPoint) -> float:
        return self.total

    def rebuild(self, point: RowsPoint, *, quickly: bool = False) -> tuple[RowsPoint, bool]:
        # points are made anew from their potentials in each pass: there are no factors to take up
        return point, False

    def try_step(self, point: RowsPoint, direction: Direction, step: float) -> RowsTrial:
        reached = point.potentials + step * direction.potentials
        # the sums at the end of the step come along: if it is taken, no further pass is needed
        found = self._pass(step_pass, point.potentials, direction.potentials, step, reached)
        loss, largest = found.sums["loss"], found.largest["change"]
        return RowsTrial(direction.slope, loss, largest, self, reached, found)

    def has_emptied(self, point: RowsPoint, residual_l1: float) -> bool:
        totals = self.total, self.problem.mass
        return bool(map_reduce(check_emptied_pass, any, *self._chunks, point.potentials, totals, residual_l1))

    def divergence(self, point: RowsPoint) -> float:
        """Return the divergence of a point from the reference, in nats."""
        totals = self.total, self.problem.mass
        found = self._pass(divergence_pass, point.potentials, totals)
        return max(0.0, float(found.sums["divergence"]) + self.problem.nats_left_out)

    def emptying_gain(self) -> float:
        return self.problem.nats_left_out

    def first_chunk(self) -> int:
        return 1

    def keep(self, state: State[RowsPoint]) -> None:
        """Do nothing: such a run has no checkpoint."""

    @property
    def _chunks(self) -> tuple[Any, ...]:
        return self.problem.chunks, self.problem.folder / "chunks", self.problem.offsets

    def _pass(self, task: Any, *arguments: Any) -> Tally:
        tally: Tally = map_reduce(task, add_tallies, *self._chunks, *arguments)
        return tally


def masses_on(folder: Path, number: int, offsets: IntArray, potentials: FloatArray) -> tuple[Chunk, FloatArray]:
    """Return a chunk and reference * exp(C^T potentials) on it."""
    chunk = Chunk.read(folder, number)
    return chunk, _masses(chunk, offsets, potentials)


def _masses(chunk: Chunk, offsets: IntArray, potentials: FloatArray) -> FloatArray:
    masses = np.empty_like(chunk.reference)
    rebuild_masses(chunk.reference, chunk.index, offsets, potentials, masses)
    return masses


def _sums(chunk: Chunk, offsets: IntArray, masses: FloatArray) -> dict[str, Any]:
    # one vector of all rows a chunk: what MOST_ROWS bounds
    sums = np.zeros(int(offsets[-1]))
    measure(masses, chunk.index, offsets, np.zeros_like(sums), sums)
    return {"rows": sums, "mass": float(masses.sum())}


def sums_pass(number: int, folder: Path, offsets: IntArray, potentials: FloatArray) -> Tally:
    """Return the marginals of a chunk, and its mass."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    return Tally(_sums(chunk, offsets, masses))


def step_pass(
    number: int,
    folder: Path,
    offsets: IntArray,
    potentials: FloatArray,
    direction: FloatArray,
    step: float,
    reached: FloatArray,
) -> Tally:
    """Return what the dual loses on a chunk along a step, the largest change, and the sums where the step ends."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    change = np.empty_like(masses)
    spread(chunk.index, offsets, direction, change)
    # what the dual loses against its slope, in terms that are never negative (notes/duality.md, equation 4)
    loss, largest = curvature(masses, change, step), largest_absolute(change)
    return Tally({"loss": loss, **_sums(chunk, offsets, _masses(chunk, offsets, reached))}, {"change": largest})


def check_emptied_pass(
    number: int,
    folder: Path,
    offsets: IntArray,
    potentials: FloatArray,
    totals: tuple[float, float],
    residual_l1: float,
) -> bool:
    """Return whether a chunk has profiles that are all but empty."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    return has_emptied(masses, chunk.reference, totals, residual_l1)


def divergence_pass(
    number: int, folder: Path, offsets: IntArray, potentials: FloatArray, totals: tuple[float, float]
) -> Tally:
    """Return the share of a chunk in the divergence from the reference."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    return Tally({"divergence": divergence_sum(masses, chunk.reference, *totals)})
