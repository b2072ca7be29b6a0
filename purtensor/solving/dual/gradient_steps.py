"""Steps of the dual that need no equations: limited-memory BFGS, and generalised iterative scaling."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from purtensor.errors import InvalidOptionError
from purtensor.kernels.lanes import inner_product
from purtensor.solving.dual.ascent import DualPoint, point_at, search_along
from purtensor.solving.dual.columns.composite import CompositeColumns
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.problem import DualProblem
from purtensor.solving.solvers.lbfgs import Pair, two_loops


@dataclass(slots=True)
class LimitedMemory:
    """L-BFGS: the last steps and the changes of the slope along them stand for the equations.

    The search subtracts what the dual loses against its slope, free of cancellation. What was learnt is forgotten where
    the proximal terms of linear costs have moved.
    """

    memory: int = 10
    _pairs: deque[Pair] = field(default_factory=deque)
    _columns: CompositeColumns | None = None

    def __call__(self, problem: DualProblem, point: DualPoint, softening: float) -> DualPoint | None:
        """Return the state after one step; None where none rises."""
        # a moved proximal term is another function: gradients of the old one teach nothing
        if self._columns is not point.columns:
            self._columns, self._pairs = point.columns, deque(maxlen=self.memory)
        bend = problem.size_times(point.give)
        # one over an upper bound of the curvature of each row alone
        scale = 1.0 / np.where(bend > 0.0, bend, problem.mass)
        # the plain scaled slope is an ascent direction in any case
        for direction in (two_loops(self._pairs, point.missing, scale), scale * point.missing):
            found = search_along(problem, point, direction, softening)
            if found is None:
                self._pairs.clear()
                continue
            _, step = found
            moved = point_at(problem, point.columns, point.potentials + step * direction, softening)
            fall = point.missing - moved.missing
            product = inner_product(step * direction, fall)
            # only pairs of positive curvature keep the approximation positive definite
            if product > 0.0:
                self._pairs.append(Pair(step * direction, fall, product))
            return moved
        return None


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
