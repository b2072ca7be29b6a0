"""The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno on the dual."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from purtensor._options import is_count
from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.newton.line_search import LARGEST_CHANGE, SUFFICIENT
from purtensor.solving.iterate import Budget, Iterate, Step, is_rounding
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ascent import Direction, Point, direction_from, gain_along, point_at, record_of

SHORTEST_CHANGE = 2.0**-60

SMALLEST_TARGET = 2.0**-1000
"""Below, one over a target may be beyond float64: such rows are scaled alike."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A step s of the potentials and the fall y of the gradient along it."""

    s: FloatArray
    y: FloatArray
    product: float


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """A step of the potentials, what the dual gains by it, and by how much that is less than the slope promised."""

    s: FloatArray
    gain: float
    bend: float


@dataclass(slots=True, eq=False)
class _Memory:
    point: Point
    pairs: deque[Pair]


@dataclass(frozen=True, slots=True)
class LBFGS:
    """L-BFGS on the dual, scaled by the targets; one iteration is one step, its line search included.

    The line search asks for the gain of the dual rather than for its values, so that it does not end where values no
    longer differ in float64, as scipy's L-BFGS-B does (notes/solvers.md).

    Parameters
    ----------
    memory
        So many earlier steps shape the next one.

    Raises
    ------
    InvalidOptionError
        A memory that is no count.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.LBFGS().memory
    10
    """

    memory: int = 10

    def __post_init__(self) -> None:
        if not (is_count(self.memory) and self.memory >= 1):
            raise InvalidOptionError(
                f"memory is the number of earlier steps to keep, at least 1, this is {self.memory!r}"
            )
        object.__setattr__(self, "memory", int(self.memory))

    def step(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return the iterate after one step."""
        memory = iterate.memory
        if not isinstance(memory, _Memory):
            memory = _Memory(point_at(problem, iterate.potentials), deque(maxlen=self.memory))
        move = _best_move(problem, memory)
        if memory.pairs and _is_rounding(problem, move):
            memory.pairs.clear()  # what was learnt may be rounding
            move = _best_move(problem, memory)
        if move is None:
            return Step(Iterate(iterate.potentials, iterate.masses, memory), 1, stalled=True)
        before, memory.point = memory.point, point_at(problem, memory.point.iterate.potentials + move.s)
        learn(memory.pairs, move.s, move.bend, before.miss - memory.point.miss)
        reached = memory.point.iterate
        record = record_of(problem, memory.point, move.gain)
        return Step(
            Iterate(reached.potentials, reached.masses, memory), 1, (record,), stalled=_is_rounding(problem, move)
        )


def _is_rounding(problem: Problem, move: _Move | None) -> bool:
    return move is None or is_rounding(move.gain / problem.total, len(problem.index))


def _best_move(problem: Problem, memory: _Memory) -> _Move | None:
    """Return the move from the memory's point by what it has learnt; None where rounding forbids any."""
    scale = 1.0 / np.maximum(problem.targets, SMALLEST_TARGET)
    wanted = two_loops(memory.pairs, memory.point.miss, scale)
    direction = direction_from(problem, memory.point, wanted)
    found = search_step(problem, memory.point, direction)
    if found is None:
        return None
    length, gain = found
    return _Move(length * direction.potentials, gain, length * direction.slope - gain)


def learn(pairs: deque[Pair], s: FloatArray, bend: float, y: FloatArray) -> None:
    """Keep a pair whose s.y is what the bend of the dual says: twice that for small moves, 1 to 40 times for large.

    Where it is not, y is a difference of rounding errors.
    """
    product = inner_product(s, y)
    if 0.5 * bend < product < 50.0 * bend:
        pairs.append(Pair(s, y, product))


def two_loops(pairs: deque[Pair], gradient: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the inverse Hessian that the pairs imply, times the gradient (Nocedal, Math. Comp. 35, 1980, 773-782).

    Before the first pair it is `scale`, later that times the factor which fits the last pair.
    """
    out = gradient.copy()
    weights = []
    for pair in reversed(pairs):
        weight = inner_product(pair.s, out) / pair.product
        out -= weight * pair.y
        weights.append(weight)
    if pairs:
        last = pairs[-1]
        out *= last.product / inner_product(last.y, scale * last.y)
    out *= scale
    for pair, weight in zip(pairs, reversed(weights), strict=True):
        out += (weight - inner_product(pair.y, out) / pair.product) * pair.s
    return out


def search_step(problem: Problem, point: Point, direction: Direction) -> tuple[float, float] | None:
    """Return a length along an ascent direction at which the dual has gained enough, and that gain; None if none."""
    largest = float(np.abs(direction.change).max())
    if not (np.isfinite(direction.slope) and direction.slope > 0.0 and 0.0 < largest < np.inf):
        return None
    length = min(1.0, LARGEST_CHANGE / largest)
    while length * largest > SHORTEST_CHANGE:
        gain = gain_along(problem, point, direction, length)
        if gain >= SUFFICIENT * length * direction.slope:
            return length, gain
        # the maximum of the parabola through the slope and this gain, kept well inside
        peak = 0.5 * direction.slope * length**2 / (direction.slope * length - gain)
        length = min(max(peak, 0.1 * length), 0.5 * length)
    return None
