"""Steps of the dual that need no equations: limited-memory BFGS, and generalised iterative scaling."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.solving.dual.ascent import DualPoint, point_at, searched
from purtensor.solving.dual.columns.composite import CompositeColumns
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.problem import DualProblem


@dataclass(slots=True)
class LimitedMemory:
    """L-BFGS: the last steps and the changes of the slope along them stand for the equations.

    The search subtracts what the dual loses against its slope, free of cancellation. What was learnt is forgotten where
    the proximal terms of linear costs have moved.
    """

    memory: int = 10
    _pairs: deque[tuple[FloatArray, FloatArray]] = field(default_factory=deque)
    _columns: CompositeColumns | None = None

    def __call__(self, problem: DualProblem, point: DualPoint, softening: float) -> DualPoint | None:
        """Return the state after one step; None where none rises."""
        # a moved proximal term is another function: gradients of the old one teach nothing
        if self._columns is not point.columns:
            self._columns = point.columns
            self._pairs.clear()
        # the plain scaled slope is an ascent direction in any case
        for direction in (self._direction(problem, point), self._scaled(problem, point, point.missing)):
            found = searched(problem, point, direction, softening)
            if found is None:
                self._pairs.clear()
                continue
            _, step = found
            moved = point_at(problem, point.columns, point.potentials + step * direction, softening)
            fall = point.missing - moved.missing
            # only pairs of positive curvature keep the approximation positive definite
            if float(fall @ direction) > 0.0:
                self._pairs.append((step * direction, fall))
                if len(self._pairs) > self.memory:
                    self._pairs.popleft()
            return moved
        return None

    def _direction(self, problem: DualProblem, point: DualPoint) -> FloatArray:
        """Return the two-loop recursion's direction."""
        q, shares = point.missing.copy(), []
        for s, y in reversed(self._pairs):
            share = float(s @ q) / float(s @ y)
            shares.append(share)
            q -= share * y
        q = self._scaled(problem, point, q)
        for (s, y), share in zip(self._pairs, reversed(shares), strict=True):
            q += (share - float(y @ q) / float(s @ y)) * s
        return q

    @staticmethod
    def _scaled(problem: DualProblem, point: DualPoint, slope: FloatArray) -> FloatArray:
        """Return a slope over an upper bound of the curvature of each row alone."""
        bend = problem.size_times(point.give)
        return slope / np.where(bend > 0.0, bend, problem.mass)


class IterativeScaling:
    """Generalised iterative scaling: all rows at once, each to the power of one over the largest column sum."""

    def __init__(self, problem: DualProblem) -> None:
        cells = problem.columns.blocks[0]
        plain = len(problem.columns.blocks) == 1 and isinstance(cells, EntropyColumns)
        coefficients = problem.matrix.to_sparse()
        if not (plain and coefficients.data.min(initial=0.0) >= 0.0 and problem.targets.min(initial=1.0) > 0.0):
            raise InvalidOptionError(
                "GIS() needs hard rows with positive targets and coefficients that are not negative (numeric "
                "rows with a total are centred and have negative ones), and distance='kl': use solver=Newton(), or None"
            )
        if cells.lower.max(initial=0.0) > 0.0 or np.isfinite(cells.upper).any():
            raise InvalidOptionError("GIS() does not support bounds on masses: use solver=Newton(), or None")
        # to this power no cell's factors count more than once together, as Darroch and Ratcliff (1972) need
        self._power = 1.0 / float(np.asarray(coefficients.sum(axis=0)).max(initial=1.0))

    def __call__(self, problem: DualProblem, point: DualPoint, softening: float) -> DualPoint | None:
        """Return the state after all rows were scaled."""
        sums = problem.targets - point.missing
        moved = point.potentials + self._power * np.log(problem.targets / sums)
        return point_at(problem, point.columns, moved, softening)
