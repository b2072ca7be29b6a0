"""Anderson acceleration of sweeps: of any form in the potentials, of dense two-way tables in the columns' factors.

A sweep over a two-way table moves the columns' factors, by fitting them or beyond that, and fits the rows. Its masses
meet the rows, so what they miss of the columns is the whole residual, and is known after every sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.elementary import divergence_gain
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.kernels.newton.line_search import LARGEST_CHANGE
from purtensor.solving.iterate import Budget, Iterate, Record, Step
from purtensor.solving.line_search import centre, gain_at_total
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.first_sweep import is_first
from purtensor.solving.solvers.ipf.sweeper import SweepResidual
from purtensor.solving.solvers.ipf.two_way_sweeps import TwoWaySweeps, two_way_of
from purtensor.solving.spaces.array_points import ArrayRowSpace

_RIDGE = 1e-12
"""Added to the diagonal of the normal equations, which is 1: differences may depend on each other."""


DEPTH = 20
"""How many earlier sweeps an extrapolation uses: they cost next to nothing beside a pass over the table."""

_SECONDS_PER_SWEEP = 8e-5
"""Of a sweep's work beside its pass over the table."""


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


def accelerate_step(
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
    if not tried.largest < LARGEST_CHANGE:  # nor where the dual falls along it
        return None
    gain = gain_at_total(space.total, direction.slope, tried.loss, 1.0)
    return (tried.point(), gain) if gain > 0.0 else None


@dataclass(slots=True, eq=False)
class AcceleratedTwoWay(TwoWaySweeps):
    """Sweeps whose state is that of the plain ones, but that end with the rows.

    Attributes
    ----------
    moves
        What earlier sweeps have taught.
    """

    moves: Moves = field(init=False)
    _gained: float = 0.0

    def __post_init__(self) -> None:
        super(AcceleratedTwoWay, self).__post_init__()
        self.use(DEPTH)

    def use(self, depth: int) -> None:
        """Let extrapolations use so many earlier sweeps, none of which was made yet."""
        self.moves = Moves(np.sqrt(self._targets[1]), depth)

    @property
    def sweep_arithmetic(self) -> float:
        """The estimated seconds of a sweep's arithmetic."""
        return self.layout.sweep_arithmetic + _SECONDS_PER_SWEEP

    def sweep_once(self) -> None:
        """Make one more sweep: as far beyond the columns' targets as earlier ones suggest, if the dual gains by it.

        It has to gain what fitting the columns would gain alone, which is enough for convergence (notes/solvers.md).
        """
        if self.done and self._is_large():
            self._fold()
        self.u_before[:] = self.u
        self.done += 1
        if self.done == 1:  # nothing is known of the columns yet
            self._fit_rows()
            self._gained = divergence_gain(self._targets[0], self.u, self.u_before)
            return
        targets, sums = self._targets[1], self._v() * self._sums
        with np.errstate(all="ignore"):  # numbers that are not finite end the run
            move = np.log(targets / sums)
        least = divergence_gain(targets, targets / sums, np.ones_like(sums))
        beyond = self.moves.learn(np.log(self._v()) + move, move)
        if beyond is not None:
            if np.abs(move + beyond).max() <= LARGEST_CHANGE:
                self._gained = self._move_columns(move + beyond, sums)
                if self._gained >= least:
                    return
                self._v()[:], self.u[:] = self.v_before[: len(sums)], self.u_before
            self.moves.forget()
        self._gained = self._move_columns(move, sums)

    def _move_columns(self, change: FloatArray, sums: FloatArray) -> float:
        """Change the logarithms of the columns' factors, fit the rows, and return what the dual gains by both."""
        targets = self._targets[1]
        self.v_before[:] = self.v
        with np.errstate(all="ignore"):
            self._v()[:] *= np.exp(change)
            self._fit_rows()
            # of the columns (b - s) d - s (e^d - 1 - d): no difference of two values of the dual (notes/duality.md, 4)
            of_columns = float(np.sum((targets - sums) * change - sums * (np.expm1(change) - change)))
        return of_columns + divergence_gain(self._targets[0], self.u, self.u_before)

    def may_be_met(self, goal: Goal) -> bool:
        """Return that it is: the residual costs no pass."""
        return True

    def measure(self, hopeful: bool) -> SweepResidual:
        """Return the residual: the rows have just been fitted."""
        found = self._v() * self._sums
        missed = np.abs(found - self._targets[1])
        return SweepResidual(float(missed.max()), float(missed.sum()), float(found.sum()))

    def gain(self) -> float:
        """Return what the dual gained by the last sweep."""
        return self._gained

    def _fold(self) -> None:
        # images of other factors are no use, and the sums are those of base times u, which becomes the base
        self.moves.forget()
        self._sums[:] *= self._v()
        super(AcceleratedTwoWay, self)._fold()


def find_accelerated_sweeps(
    problem: Problem, iterate: Iterate, order: tuple[int, ...] = (0, 1), depth: int = DEPTH
) -> AcceleratedTwoWay | None:
    """Return the accelerated sweeps that go on from an iterate, or begin there; None where they do not apply."""
    if isinstance(iterate.memory, AcceleratedTwoWay):
        return iterate.memory
    # sweeps go on in the form in which they began, and the first is plain where zero targets empty profiles
    if iterate.memory is not None or (problem.emptied is not None and is_first(problem, iterate)):
        return None
    layout = two_way_of(problem, order)
    made = None if layout is None else AcceleratedTwoWay.at(problem, layout, iterate.potentials)
    if made is not None:
        made.use(depth)
    return made
