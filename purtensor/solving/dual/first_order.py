"""Steps of the dual that need no equations: limited-memory BFGS, generalised iterative scaling, and rows one by one.

Iterative proportional fitting for rows of any kind meets each row in turn exactly, by Bregman's projections: its
potential is moved to where its slope of the dual is 0. Intervals and absolute penalties have slopes that jump where the
row is met at an end or its potential is the penalty: the potential stops there exactly.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.reductions import inner_product
from purtensor.solving.dual.ascent import DualPoint, DualRun, point_at, search_along
from purtensor.solving.dual.columns.composite import CompositeColumns
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.columns.kind import ColumnKind
from purtensor.solving.dual.columns.squares import LinearCostColumns
from purtensor.solving.dual.problem import DualProblem
from purtensor.solving.dual.watch import Watch
from purtensor.solving.solvers.lbfgs import Pair, two_loops
from purtensor.solving.termination import Termination


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
            found = search_along(point, direction, problem.back(direction), softening)
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


_MOST_TRIALS = 60
_SETTLED = 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class _Jumps:
    """The slacks of linear cost of one row: potentials at which they jump, and what they come to on both sides.

    `before[i]` and `before[i + 1]` are the sums below and above `at[i]`; the potential stays in [lowest, highest].
    """

    at: FloatArray
    before: FloatArray
    lowest: float
    highest: float

    def around(self, potential: float) -> tuple[float, float]:
        """Return the least and the most that the slacks come to at a potential."""
        left, right = np.searchsorted(self.at, potential, "left"), np.searchsorted(self.at, potential, "right")
        # at the end of its range a slack without bound takes whatever is left
        low = -np.inf if potential <= self.lowest else float(self.before[left])
        high = np.inf if potential >= self.highest else float(self.before[right])
        return low, high


def sweep_rows(problem: DualProblem, watch: Watch, *, tolerance: float, start: FloatArray | None = None) -> DualRun:
    """Return where sweeps over all rows meet each to the tolerance, after as many as the watch allows."""
    sweeper = _Sweeper(problem, np.zeros(problem.rows) if start is None else start.copy())
    while True:
        lacking = sweeper.lacking()
        residual = float(lacking.max(initial=0.0)) / problem.mass
        if residual <= tolerance or not np.isfinite(residual):
            ending = Termination.CONVERGED if residual <= tolerance else Termination.STALLED
            return DualRun(sweeper.point(), ending, residual, way="row steps")
        watch.before_step(residual, sweeper.potentials)
        sweeper.sweep()


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """One row: its cells with their coefficients, its slacks of smooth cost with their signs, and its jumps."""

    cells: IntArray
    values: FloatArray
    kind: ColumnKind
    smooth: tuple[tuple[FloatArray, ColumnKind], ...]
    jumps: _Jumps
    target: float

    def remainder(self, z: FloatArray, potential: float) -> tuple[float, float]:
        """Return the remainder for the slacks of linear cost, and how fast it decreases with the potential.

        `z` is that of the cells at this potential.
        """
        x, give = self.kind.respond(z)
        left, fall = self.target - float(self.values @ x), float(self.values**2 @ give)
        for signs, kind in self.smooth:
            x, give = kind.respond(signs * potential)
            left, fall = left - float(signs @ x), fall + float(give.sum())
        return left, fall


class _Sweeper:
    """The potentials y with C^T y, kept up to date row by row."""

    def __init__(self, problem: DualProblem, potentials: FloatArray) -> None:
        self.problem, self.potentials = problem, potentials
        coefficients = problem.matrix.to_sparse().tocsr()
        self.rows = [_row(problem, coefficients, row) for row in range(problem.rows)]
        for k, row in enumerate(self.rows):
            # beyond, the dual is -inf: a slack without bound would be used without end
            potentials[k] = np.clip(potentials[k], row.jumps.lowest, row.jumps.highest)
        self.z = problem.matrix.back(potentials)

    def sweep(self) -> None:
        """Meet each row in turn."""
        for k, row in enumerate(self.rows):
            now = float(self.potentials[k])
            z = self.z[row.cells]
            found = _meet_row(row, z, now)
            self.z[row.cells] = z + (found - now) * row.values
            self.potentials[k] = found
        self.z = self.problem.matrix.back(self.potentials)  # rounding of many small moves

    def lacking(self) -> FloatArray:
        """Return how far each row is from what its slacks of linear cost may take."""
        rest = self._all_rest()
        low, high = np.array([row.jumps.around(float(y)) for row, y in zip(self.rows, self.potentials, strict=True)]).T
        return np.asarray(np.maximum(np.maximum(low - rest, rest - high), 0.0))

    def _all_rest(self) -> FloatArray:
        problem = self.problem
        x, _ = problem.columns.respond(problem.back(self.potentials))
        x[problem.columns.linear_slice] = 0.0
        return problem.targets - problem.times(x)

    def point(self) -> DualPoint:
        """Return the state with the slacks of linear cost that meet the rows."""
        problem, linear = self.problem, self.problem.columns.linear
        if linear is None:
            return point_at(problem, problem.columns, self.potentials)
        rest = self._all_rest()
        start = problem.columns.linear_slice.start - problem.cells
        rows, signs = problem.slack_rows[start:], problem.slack_signs[start:]
        push = signs * self.potentials[rows] - linear.cost
        taken = np.where(push > 0.0, linear.upper, linear.lower)
        taken = np.where(np.isfinite(taken), taken, 0.0)
        # where the potential is exactly at the cost the slack takes what the row needs; elsewhere it is at a bound
        for k in np.flatnonzero(push == 0.0):
            others = float((signs * taken)[(rows == rows[k]) & (np.arange(len(rows)) != k)].sum())
            taken[k] = np.clip(signs[k] * (rest[rows[k]] - others), linear.lower[k], linear.upper[k])
        columns = problem.columns.anchor_at(taken, np.full(len(taken), problem.mass))
        return point_at(problem, columns, self.potentials)


def _row(problem: DualProblem, coefficients: sparse.csr_array, row: int) -> _Row:
    own = slice(coefficients.indptr[row], coefficients.indptr[row + 1])
    cells = coefficients.indices[own]
    smooth = []
    for kind, place in zip(problem.columns.blocks[1:], problem.columns.slices[1:], strict=True):
        if isinstance(kind, LinearCostColumns):
            continue
        slacks = slice(place.start - problem.cells, place.stop - problem.cells)
        here = np.flatnonzero(problem.slack_rows[slacks] == row)
        if len(here):
            smooth.append((problem.slack_signs[slacks][here], kind.only(here)))
    kind = problem.columns.blocks[0].only(cells)
    target = float(problem.targets[row])
    return _Row(cells, coefficients.data[own], kind, tuple(smooth), _jumps(problem, row), target)


def _jumps(problem: DualProblem, row: int) -> _Jumps:
    linear = problem.columns.linear
    if linear is None:
        return _Jumps(np.empty(0), np.zeros(1), -np.inf, np.inf)
    start = problem.columns.linear_slice.start - problem.cells
    own = np.flatnonzero(problem.slack_rows[start:] == row)
    signs = problem.slack_signs[start:][own]
    at = signs * linear.cost[own]
    low = np.where(signs > 0.0, linear.lower[own], -linear.upper[own])
    high = np.where(signs > 0.0, linear.upper[own], -linear.lower[own])
    order = np.argsort(at, kind="stable")
    at, low, high = at[order], low[order], high[order]
    # below all jumps every slack is at its lower end; each jump takes one to its upper end
    before = np.array([high[:k].sum() + low[k:].sum() for k in range(len(at) + 1)])
    lowest, highest = at[low == -np.inf].max(initial=-np.inf), at[high == np.inf].min(initial=np.inf)
    return _Jumps(at, before, float(lowest), float(highest))


def _meet_row(row: _Row, z: FloatArray, start: float) -> float:
    """Return the potential at which a row is met: the remainder lies within the bounds of its slacks."""
    jumps = row.jumps
    below, above = jumps.lowest, jumps.highest
    for kink in jumps.at.tolist():
        if not below <= kink <= above:
            continue
        # the slope is monotone, so a kink is the root, or the sign there says on which side it lies
        left, _ = row.remainder(z + (kink - start) * row.values, kink)
        low, high = jumps.around(kink)
        if low <= left <= high:
            return float(kink)
        below, above = (kink, above) if left > high else (below, kink)
    now = start if below < start < above else _between(below, above)
    taken = jumps.around(now)[0]
    for _ in range(_MOST_TRIALS):
        left, fall = row.remainder(z + (now - start) * row.values, now)
        miss = left - taken
        if miss == 0.0:
            return now
        below, above = (now, above) if miss > 0.0 else (below, now)
        # where exp is steep a whole Newton step would empty or flood the cells: two nats at a time are enough
        ahead = now + (float(np.clip(miss / fall, -2.0, 2.0)) if fall > 0.0 else 2.0 * float(np.sign(miss)))
        if not below < ahead < above:
            ahead = _between(below, above)
        if abs(ahead - now) <= _SETTLED * (1.0 + abs(now)):
            return ahead
        now = ahead
    return now


def _between(below: float, above: float) -> float:
    if np.isinf(below) and np.isinf(above):
        return 0.0
    if np.isinf(below):
        return above - 1.0 - abs(above)
    return below + 1.0 + abs(below) if np.isinf(above) else 0.5 * (below + above)
