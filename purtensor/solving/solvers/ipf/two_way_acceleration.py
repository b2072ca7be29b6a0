"""Sweeps over a dense two-way table with Anderson acceleration of the columns' factors.

A sweep moves the columns' factors, by fitting them or beyond that, and fits the rows. Its masses meet the rows, so what
they miss of the columns is the whole residual, and is known after every sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.ipf.stopping import Goal
from purtensor.kernels.logarithm import divergence_gain
from purtensor.solving.iterate import Iterate
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.anderson import Moves
from purtensor.solving.solvers.ipf.first_sweep import is_first
from purtensor.solving.solvers.ipf.sweeper import Measured
from purtensor.solving.solvers.ipf.two_way_sweeps import TwoWaySweeps, two_way_of

DEPTH = 20
"""How many earlier sweeps an extrapolation uses: they cost next to nothing beside a pass over the table."""

_LARGEST_CHANGE = 40.0
"""An extrapolation that changes a factor by more than exp(40) is not tried."""

_SECONDS_PER_SWEEP = 8e-5
"""Of a sweep's work beside its pass over the table."""


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
            if np.abs(move + beyond).max() <= _LARGEST_CHANGE:
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

    def measured(self, hopeful: bool) -> Measured:
        """Return the residual: the rows have just been fitted."""
        found = self._v() * self._sums
        missed = np.abs(found - self._targets[1])
        return Measured(float(missed.max()), float(missed.sum()), float(found.sum()))

    def gain(self) -> float:
        """Return what the dual gained by the last sweep."""
        return self._gained

    def _fold(self) -> None:
        # images of other factors are no use, and the sums are those of base times u, which becomes the base
        self.moves.forget()
        self._sums[:] *= self._v()
        super(AcceleratedTwoWay, self)._fold()


def accelerated_sweeps_of(
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
