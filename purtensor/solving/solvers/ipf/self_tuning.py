"""Over-relaxed sweeps whose factor comes from the measured rate of plain ones, with a way back to these.

A few plain sweeps bring the masses so near to those of the answer that the sweep linearised there has the rate of all
later ones (notes/rates.md). Young's formula makes a factor of it, exact for two constraints and a good guess for more.
Where over-relaxed sweeps are then seen to be slower than plain ones would be, plain ones are made to the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from purtensor.solving.convergence.grouped_sweep import GroupedSweep, leading_eigenvalue
from purtensor.solving.convergence.krylov import decay_of, leading_by_sweeps
from purtensor.solving.convergence.trend import fall_per_sweep
from purtensor.solving.iterate import Budget, Iterate, Step, iterate_at
from purtensor.solving.problem import Problem

PLAIN_SWEEPS = 10
"""Made before the rate is examined."""

_FAST = 0.5
"""A logarithm of the error that falls by more than this a sweep is left alone: over-relaxation gains little."""

_ACCURACY = 0.01
"""Relative, of the rate: the factor depends on its root only."""

_CLOSE = 0.25
"""Relaxations whose distances to 2 differ by no more than this in the logarithm are the same."""

_FEWEST_LOOKED_AT = 64
_DECADES = 2.0
"""Over-relaxed sweeps are judged when they should have divided the error by ten so often, at least."""

_DEAR = 100_000
"""From so many memberships (profiles times constraints) on, looking at the rate costs many sweeps."""

_FEW_LEFT = 4.0
"""Then it is left alone while plain sweeps seem to end within this many times those that were made."""

Sweeps = Callable[[Problem, Iterate, Budget], Step]
"""The step of a solver."""


@dataclass(slots=True)
class SelfTuning:
    """The state of sweeps that tune themselves.

    Attributes
    ----------
    sweeps_with
        Returns the step of sweeps with a constant relaxation.
    relaxation
        The one that is used now.
    is_settled
        Whether it has been chosen for good.
    """

    order: tuple[int, ...]
    sweeps_with: Callable[[float], Sweeps]
    relaxation: float = 1.0
    is_settled: bool = False
    done: int = 0
    _inner: Any = None
    _look_at: int = PLAIN_SWEEPS
    _note: str = ""
    _gains: list[tuple[int, float]] = field(default_factory=list)
    _residuals: list[tuple[int, float]] = field(default_factory=list)

    def step(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return a step of sweeps, after the choice where one is due."""
        if not self.is_settled and self.done >= self._look_at:
            if self._ends_soon(problem, budget.residual):
                self._look_at = 2 * self.done
            else:
                iterate = self._choose(problem, iterate)
        left = budget.iterations if self.is_settled else max(1, min(budget.iterations, self._look_at - self.done))
        sweeps = self.sweeps_with(self.relaxation)
        made = sweeps(problem, iterate.with_memory(self._inner), Budget(left, budget.residual, budget.residual_l1))
        self._inner = made.iterate.memory
        self._gains += [(self.done + record.iteration, record.kl_step) for record in made.records]
        self._residuals += [(self.done + record.iteration, record.residual) for record in made.records]
        self.done += made.iterations
        moved = made.at(made.iterate.with_memory(self))
        return moved if moved.note else replace(moved, note=self._note)

    def _ends_soon(self, problem: Problem, tolerance: float) -> bool:
        """Return whether plain sweeps seem to end before looking at the rate of so large a problem would pay."""
        if problem.index.size <= _DEAR or self.relaxation != 1.0 or not (0.0 < tolerance < 1.0 and self._residuals):
            return False
        fall = fall_per_sweep(self._residuals, self.done // 2)
        return fall > 0.0 and math.log(self._residuals[-1][1] / tolerance) <= _FEW_LEFT * self.done * fall

    def _choose(self, problem: Problem, iterate: Iterate) -> Iterate:
        """Choose a relaxation, or give it up; return the point to continue from, without the state of other sweeps."""
        rate = _decay_at(problem, iterate, self.order)
        chosen = young(rate) if 0.0 < rate < _FAST else 1.0
        # far from the answer the rate may be wrong by a factor of a hundred, so it is looked at again
        self._look_at = 2 * max(self.done, PLAIN_SWEEPS)
        # the error shrinks by omega - 1 a sweep: near 2 it is the distance to 2 that counts
        if chosen == self.relaxation or abs(math.log((2.0 - chosen) / (2.0 - self.relaxation))) < _CLOSE:
            if self.relaxation == 1.0 or not self._are_slow(rate):
                return iterate
            chosen, self.is_settled = 1.0, True
            self._note = "over-relaxed sweeps were slower than plain ones: continued with plain sweeps"
        elif chosen > 1.0:
            self._note = f"relaxation {chosen:.4g}, from a rate of {math.log(10.0) / rate:,.4g} sweeps a decade"
        self.relaxation = chosen
        self._inner = None
        self._gains.clear()
        # potentials alone carry over: the kernels' state is of sweeps with another factor
        return iterate_at(problem, iterate.potentials)

    def _are_slow(self, plain: float) -> bool:
        """Return whether sweeps of this relaxation have had time to show their rate, and it is below the plain one."""
        # notes/rates.md, equation 5
        expected = -math.log(self.relaxation - 1.0)
        made = self._gains[-1][0] - self._gains[0][0] if self._gains else 0
        return made >= max(_FEWEST_LOOKED_AT, _DECADES * math.log(10.0) / expected) and self._decay_seen() < plain

    def _decay_seen(self) -> float:
        """Return how much a sweep took off the logarithm of the error over the last half of those of this kind.

        The dual gains half the square of the error.
        """
        first, (last, gain) = self._gains[0][0], self._gains[-1]
        middle = [(n, early) for n, early in self._gains if n <= (first + last) // 2]
        then, before = middle[-1] if middle else self._gains[0]
        if not (before > 0.0 and gain > 0.0 and last > then):
            return math.inf
        return 0.5 * math.log(before / gain) / (last - then)


def young(decay: float) -> float:
    """Return Young's relaxation for plain sweeps that take so much off the logarithm of the error each.

    Examples
    --------
    >>> round(young(0.0004), 3), young(float("inf"))
    (1.961, 1.0)
    """
    # 1 - rho with rho = exp(-decay), without cancellation where rho is near 1
    return 2.0 / (1.0 + math.sqrt(-math.expm1(-decay)))


def _decay_at(problem: Problem, iterate: Iterate, order: tuple[int, ...]) -> float:
    """Return how much a plain sweep takes off the logarithm of the error near the masses of an iterate."""
    masses = iterate.masses
    # masses that vanish leave nothing to linearise: plain sweeps go on
    if not (masses > 0.0).all():
        return 0.0
    sweep = GroupedSweep.at(problem, masses, [(k,) for k in order])
    found = (
        leading_by_sweeps(problem, masses, order) if sweep is None else leading_eigenvalue(sweep, tolerance=_ACCURACY)
    )
    return decay_of(found.gap)
