"""The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno on the dual."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Generic

import numpy as np

from purtensor._options import is_count
from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.reductions import inner_product
from purtensor.solving.iterate import Budget, Iterate, Record, Step, is_rounding
from purtensor.solving.line_search import centre, search_at_total
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.array_points import ArrayRowSpace
from purtensor.solving.spaces.space import P, RowSpace

SMALLEST_TARGET = 2.0**-1000
"""Below, one over a target may be beyond float64: such rows are scaled alike."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A step s of the potentials and the fall y of the gradient along it."""

    s: FloatArray
    y: FloatArray
    product: float


@dataclass(frozen=True, slots=True, eq=False)
class _Move(Generic[P]):
    """Where a step s of the potentials leads, what the dual gains, and by how much less than the slope promised."""

    point: P
    s: FloatArray
    gain: float
    bend: float


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
        `memory` is not a positive integer.

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
                f"memory must be the number of earlier steps to keep, at least 1, got {self.memory!r}"
            )
        object.__setattr__(self, "memory", int(self.memory))

    def step(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return the iterate after one step."""
        space = ArrayRowSpace(problem)
        # the search needs points at the targets' total
        point = iterate if isinstance(iterate.memory, deque) else space.at(iterate.potentials)
        return lbfgs_step(space, self.memory, point, budget)


def lbfgs_step(space: RowSpace[P], memory: int, point: P, budget: Budget) -> Step[P]:
    """Return the point after one step, in any space whose rows lie in memory."""
    # what earlier steps of a run have shown of the Hessian
    pairs = point.memory if isinstance(point.memory, deque) else deque[Pair](maxlen=memory)
    move = _best_move(space, point, pairs)
    if pairs and _is_rounding(space, move):
        pairs.clear()  # what was learnt may be rounding
        move = _best_move(space, point, pairs)
    if move is None:
        return Step(point, 1, stalled=True)
    moved = move.point
    learn(pairs, move.s, move.bend, space.miss(point) - space.miss(moved))
    moved.memory = pairs
    residual = space.residual(moved)
    record = Record(1, residual.largest, residual.l1, move.gain / space.total, space.dual(moved))
    return Step(moved, 1, (record,), stalled=_is_rounding(space, move))


def _is_rounding(space: RowSpace[P], move: _Move[P] | None) -> bool:
    return move is None or is_rounding(move.gain / space.total, space.constraints)


def _best_move(space: RowSpace[P], point: P, pairs: deque[Pair]) -> _Move[P] | None:
    """Return the move from a point by what was learnt; None where rounding forbids any."""
    # 1 / b is the inverse of the Hessian's diagonal at the answer
    scale = 1.0 / np.maximum(space.targets, SMALLEST_TARGET)
    # times what fits the last pair
    factor = pairs[-1].product / inner_product(pairs[-1].y, scale * pairs[-1].y) if pairs else 1.0
    wanted = two_loops(pairs, space.miss(point), scale, factor)
    direction = centre(space, point, wanted)
    found = search_at_total(space, point, direction)
    if found is None:
        return None
    moved, gain, step = found
    # without the constant that restores the total: misses sum to 0, so it would not change s.y
    return _Move(moved, step * direction.potentials, gain, step * direction.slope - gain)


def learn(pairs: deque[Pair], s: FloatArray, bend: float, y: FloatArray) -> None:
    """Keep a pair whose s.y is what the bend of the dual says: twice that for small moves, 1 to 40 times for large.

    Where it is not, y is a difference of rounding errors.
    """
    product = inner_product(s, y)
    # some room around 1 and 40 for what a line search may return
    if 0.5 * bend < product < 50.0 * bend:
        pairs.append(Pair(s, y, product))


def two_loops(pairs: deque[Pair], gradient: FloatArray, scale: FloatArray, factor: float = 1.0) -> FloatArray:
    """Return the inverse Hessian that the pairs imply, times the gradient (Nocedal, Math. Comp. 35, 1980, 773-782).

    Before the first pair it is the diagonal matrix of `scale` times `factor`.
    """
    out = gradient.copy()
    weights = []
    for pair in reversed(pairs):
        weight = inner_product(pair.s, out) / pair.product
        out -= weight * pair.y
        weights.append(weight)
    out *= factor
    out *= scale
    for pair, weight in zip(pairs, reversed(weights), strict=True):
        out += (weight - inner_product(pair.y, out) / pair.product) * pair.s
    return out
