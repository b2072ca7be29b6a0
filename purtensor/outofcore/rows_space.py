"""The space of problems whose rows the driver holds: parts of any profiles, all rows couple them.

It needs no slabs. One iteration of L-BFGS is one pass for each step that is tried: the pass that evaluates a step also
measures the point at its end. Potentials are all with the driver, so no pass writes anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.newton.line_search import curvature, largest_absolute
from purtensor.kernels.reductions import spread
from purtensor.outofcore.checkpoint import PartsPoint
from purtensor.outofcore.engine import Tally
from purtensor.outofcore.parts_points import StoredSpace
from purtensor.outofcore.passes import START, measure_pass, open_masses
from purtensor.outofcore.slab_store import SlabStore
from purtensor.solving.run_state import State
from purtensor.solving.spaces.space import Direction


class RowsTrial(NamedTuple):
    """See `Trial`: the sums at the end of the step are known already; they may be infinite where it is too long."""

    slope: float
    loss: float
    largest: float
    space: RowsSpace
    reached: FloatArray
    found: Tally

    def point(self) -> PartsPoint:
        """Return the point."""
        return self.space.make_point(self.reached, self.found)


@dataclass(slots=True, eq=False)
class RowsSpace(StoredSpace):
    """A problem by its rows, as algorithms see it: see `purtensor.solving.spaces.space` for what methods return."""

    @property
    def targets(self) -> FloatArray:
        return self.store.outer_targets

    @property
    def first_rows(self) -> slice:
        return self.store.outer_blocks[0]

    def start(self) -> PartsPoint:
        return self.at(np.zeros_like(self.targets))

    def at(self, potentials: FloatArray) -> PartsPoint:
        return self.make_point(potentials, self.measure(potentials))

    def measure(self, potentials: FloatArray) -> Tally:
        """Return the sums of the rows at these potentials, and the mass."""
        return self._pass(sums_pass, potentials)

    def make_point(self, potentials: FloatArray, found: Tally) -> PartsPoint:
        """Return the point at these potentials, as `at` does, where the sums there are known."""
        ratio = self.total / found.sums["mass"]
        moved = potentials.copy()
        # a shift of all rows of one constraint scales the masses to the total: no pass over the disk
        moved[self.first_rows] += np.log(ratio)
        # no row is a part's own: none has a miss there
        own = {"linear": 0.0, "l1": np.zeros(self.constraints)}
        sums = {"outer": ratio * found.sums["outer"], "mass": self.total, **own}
        return PartsPoint(START, moved, Tally(sums, {"inner": 0.0}))

    def miss(self, point: PartsPoint) -> FloatArray:
        missed: FloatArray = self.targets - point.tally.sums["outer"]
        return missed

    def rebuild(self, point: PartsPoint, *, quickly: bool = False) -> tuple[PartsPoint, bool]:
        # points are made anew from their potentials in each pass: there are no factors to take up
        return point, False

    def try_step(self, point: PartsPoint, direction: Direction, step: float) -> RowsTrial:
        reached = point.outer + step * direction.potentials
        # the sums at the end of the step come along: if it is taken, no further pass is needed
        found = self._pass(step_pass, point.outer, direction.potentials, step, reached)
        loss, largest = found.sums["loss"], found.largest["change"]
        return RowsTrial(direction.slope, loss, largest, self, reached, found)

    def has_emptied(self, point: PartsPoint, residual_l1: float) -> bool:
        measured = PartsPoint(START, point.outer, self._pass(measure_pass, START, point.outer))
        return StoredSpace.has_emptied(self, measured, residual_l1)

    def keep(self, state: State[PartsPoint]) -> None:
        """Do nothing: such a run has no checkpoint."""


def sums_pass(number: int, store: SlabStore, potentials: FloatArray) -> Tally:
    """Return the marginals of a part, and its mass."""
    part, _, masses = open_masses(store, number, START, potentials)
    return Tally({"outer": part.sums(masses), "mass": float(masses.sum())})


def step_pass(
    number: int, store: SlabStore, potentials: FloatArray, direction: FloatArray, step: float, reached: FloatArray
) -> Tally:
    """Return what the dual loses on a part along a step, the largest change, and the sums where the step ends."""
    part, _, masses = open_masses(store, number, START, potentials)
    change = np.empty_like(masses)
    spread(part.index, part.offsets, direction, change)
    # what the dual loses against its slope, in terms that are never negative (notes/duality.md, equation 4)
    loss, largest = curvature(masses, change, step), largest_absolute(change)
    masses = part.masses(reached)
    return Tally({"loss": loss, "outer": part.sums(masses), "mass": float(masses.sum())}, {"change": largest})
