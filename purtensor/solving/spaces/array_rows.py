"""The space of methods that learn from gradients: arrays in memory, all points at the targets' total."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.iterate import Iterate, iterate_at
from purtensor.solving.spaces.array_points import ArrayPoints, ArrayTrial
from purtensor.solving.spaces.space import Direction


class TrialAtTotal(ArrayTrial):
    """A trial whose point is scaled to the targets' total."""

    def point(self) -> Iterate:
        """Return the point, made now."""
        return ArrayRowSpace(self.problem).at(self.before.potentials + self.step * self.direction)


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
        return np.asarray(self.problem.targets - self._measured(point)[0])

    def try_step(self, point: Iterate, direction: Direction, step: float) -> TrialAtTotal:
        return TrialAtTotal(*ArrayPoints.try_step(self, point, direction, step))
