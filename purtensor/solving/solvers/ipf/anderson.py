"""Anderson acceleration of a map of the potentials, such as a sweep of iterative proportional fitting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.iterate import Budget, Iterate, Record, Step
from purtensor.solving.line_search import centre, gain_at_total
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.array_rows import ArrayRowSpace

_LARGEST_CHANGE = 40.0
"""An extrapolation that changes a mass by more than exp(40) is not tried."""

_RIDGE = 1e-12
"""Added to the diagonal of the normal equations, which is 1: differences may depend on each other."""


@dataclass(slots=True, eq=False)
class Moves:
    """How the latest moves of a map and their images differed: what Anderson's method extrapolates from.

    Differences are scaled so that those of the moves have length 1, as late ones are many decades smaller than early
    ones.

    Attributes
    ----------
    roots
        Shape (D,): roots of the weights of least squares.
    depth
        How many differences are kept.
    count
        How many there are.
    """

    roots: FloatArray
    depth: int
    count: int = 0
    _next: int = 0
    _moves: FloatArray = field(init=False)
    _images: FloatArray = field(init=False)
    _gram: FloatArray = field(init=False)
    _last: tuple[FloatArray, FloatArray] | None = None

    def __post_init__(self) -> None:
        self._moves, self._images = np.empty((2, self.depth, len(self.roots)))
        self._gram = np.empty((self.depth, self.depth))

    def forget(self) -> None:
        """Drop all differences, and where the last move began."""
        self.count = self._next = 0
        self._last = None

    def learn(self, image: FloatArray, move: FloatArray) -> FloatArray | None:
        """Take a move and its image up, and return what is to be added to the image; None where nothing is known.

        The sum leads to the combination of all images whose moves cancel best (notes/solvers.md, equation 5).
        """
        weighted = move * self.roots
        if self._last is not None:
            self._add(image - self._last[0], weighted - self._last[1])
        self._last = image, weighted
        if not self.count:
            return None
        moves, gram = self._moves[: self.count], self._gram[: self.count, : self.count]
        # the safeguard of the caller has the last word, so a ridge serves where differences almost depend on each other
        shares = np.linalg.solve(gram + _RIDGE * np.eye(self.count), np.einsum("ij,j->i", moves, weighted))
        return np.asarray(-np.einsum("i,ij->j", shares, self._images[: self.count]))

    def _add(self, image: FloatArray, move: FloatArray) -> None:
        length = float(np.sqrt(np.einsum("i,i->", move, move)))
        if not 0.0 < length < np.inf:  # the same point twice
            return
        at = self._next
        self.count, self._next = max(self.count, at + 1), (at + 1) % self.depth
        self._moves[at], self._images[at] = move / length, image / length
        found = np.einsum("ij,j->i", self._moves[: self.count], self._moves[at])
        self._gram[at, : self.count] = self._gram[: self.count, at] = found


def accelerated_step(
    sweep: Callable[[Problem, Iterate, Budget], Step], depth: int, problem: Problem, iterate: Iterate
) -> Step:
    """Return the iterate after one sweep and the extrapolation from it, where the dual gains by that.

    Where it does not, the sweep stands, and what was learnt from earlier sweeps is dropped.
    """
    memory = iterate.memory if isinstance(iterate.memory, Moves) else Moves(np.sqrt(problem.targets), depth)
    swept = sweep(problem, Iterate(iterate.potentials, iterate.masses), Budget(1, 0.0, 0.0))
    space, point = ArrayRowSpace(problem), swept.iterate
    # the first sweep from a fresh state is always recorded
    gain = swept.records[0].kl_step
    image = point.potentials
    # the sweep is from where the last extrapolation led, as Anderson's method has it
    move = memory.learn(image, image - iterate.potentials)
    if move is not None:
        extra = _extrapolate(space, point, move)
        if extra is None:
            memory.forget()
            point = space.at(image)  # masses only ever scaled in place would drift off their potentials
        else:
            point, more = extra
            gain += more / problem.total
    residual = space.residual(point)
    record = Record(1, residual.largest, residual.l1, gain, space.dual(point))
    return Step(Iterate(point.potentials, point.masses, memory), 1, (record,), judged=True)


def _extrapolate(space: ArrayRowSpace, point: Iterate, move: FloatArray) -> tuple[Iterate, float] | None:
    """Return the point after the move and what the dual gains by it; None where it gains nothing."""
    direction = centre(space, point, move)
    tried = space.try_step(point, direction, 1.0)
    if not tried.largest < _LARGEST_CHANGE:  # nor where the dual falls along it
        return None
    gain = gain_at_total(space.total, direction.slope, tried.loss, 1.0)
    return (tried.point(), gain) if gain > 0.0 else None
