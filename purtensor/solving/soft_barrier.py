"""Newton's method for absolute penalties: an interior-point method on the bounds of the soft rows' potentials.

The dual keeps |t| <= c on the soft rows. With a = c - t and e = c + t, excess u and lack v of the marginals
(b - m = u - v), every step solves for u a = mu, v e = mu and b - m = u - v at once, and mu falls to 0; the duality gap
on the way is 2 mu a row. The bound c is the strength, or, where the misses may sum up to a slack, its multiplier:
one unknown more (notes/relaxation.md, equations 10 to 13).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.spread import spread
from purtensor.solving.soft_ascent import (
    SoftEnding,
    SoftPoint,
    SoftRun,
    climb,
    hard_residual,
    is_doubtful,
    is_met,
    start_at,
)
from purtensor.solving.soft_penalty import log_loss
from purtensor.solving.soft_problem import SoftProblem

_NEAR = 10.0
"""mu falls when the equations are met to so many times mu."""

_SLOWER, _FASTER = 0.2, 1.5
"""mu becomes the smaller of 0.2 mu and mu^1.5, both relative: superlinear at the end."""

_CENTRED = 1e-3
_DECIDED = 1e-12
_ROUNDING = 1e-14
_UNIT = 2.0**-50
_PATIENCE = 20
"""So many steps without a smaller mu or half the gap say that rounding is all that is left of it."""

_SHARE = 0.99
_INSIDE = 0.99
_MOST_OFF = 1e10
"""u a and v e are kept within this factor of mu."""


@dataclass(slots=True, eq=False)
class _Interior:
    """Where the method stands, every number positive.

    Attributes
    ----------
    level
        The bound c on the potentials of the soft rows.
    upper, lower
        a = c - t and e = c + t, kept as numbers of their own: near a bound the difference has no digits.
    excess, lack
        u and v.
    unused
        What the misses leave of the slack; nothing where the strength is given.
    mu
        What u a, v e and unused * c are to be.
    """

    level: float
    upper: FloatArray
    lower: FloatArray
    excess: FloatArray
    lack: FloatArray
    unused: FloatArray
    mu: float

    def off_centre(self) -> float:
        """Return the largest error of the products, as a multiple of mu."""
        products = (self.excess * self.upper, self.lack * self.lower, self.unused * self.level)
        return max(float(np.abs(product - self.mu).max(initial=0.0)) for product in products) / self.mu

    def gap(self) -> float:
        """Return the sum of the products: how far the objective is above the dual."""
        return float((self.excess * self.upper + self.lack * self.lower).sum() + (self.unused * self.level).sum())

    def is_decided(self) -> bool:
        """Tell whether nearly all misses are those of rows at their bounds: the rest is for the last digits."""
        return self.gap() <= _DECIDED * self.level * float((self.excess + self.lack).sum())

    def centre(self) -> None:
        """Give the misses the values that the potentials ask for: the dual is at its maximum for this mu."""
        self.excess, self.lack = self.mu / self.upper, self.mu / self.lower
        self.unused = np.full(len(self.unused), self.mu / self.level)

    def smaller_mu(self) -> float:
        """Return the next mu."""
        relative = self.mu / self.level
        return float(self.level * min(_SLOWER * relative, relative**_FASTER))


@dataclass(frozen=True, slots=True)
class Bounded:
    """What is given: the strength c, or the slack that the misses may sum up to; the other is None."""

    strength: float | None = None
    slack: float | None = None


def ascend_absolute(
    soft: SoftProblem,
    given: Bounded,
    *,
    tolerance: float,
    gap: float,
    max_iterations: int,
    is_hopeless: Callable[[], bool],
    start: tuple[FloatArray, float] | None = None,
) -> SoftRun:
    """Return the point where the hard rows are met and the duality gap is at most `gap` nats, the total mass being 1.

    `start` has potentials and the bound on the soft ones, such as those of a run with another slack; `is_hopeless`
    tells, where progress raises the doubt, whether the hard rows cannot be met. Ctrl-C ends it at the point so far.
    """
    point, at = _begin(soft, given, start)
    least = 0.5 * gap * soft.problem.total / max(1, len(soft.rows))
    iterations, least_gap, gained_at = 0, np.inf, 0
    try:
        while True:
            residual = hard_residual(soft, point.sums)
            if not (point.finite and residual.finite):
                return SoftRun(point, residual, SoftEnding.NOT_FINITE, iterations, at.level)
            missed = _missed(soft, given, point, at)
            rounding = _ROUNDING + _UNIT * at.level
            while at.mu > least and missed <= max(_NEAR * at.mu / at.level, rounding) and at.off_centre() <= _NEAR:
                at.mu, gained_at = max(least, at.smaller_mu()), iterations
            near = is_met(residual, tolerance) and missed <= tolerance
            if near and missed <= rounding and (at.is_decided() or (at.mu <= least and at.off_centre() <= _NEAR)):
                return SoftRun(point, residual, SoftEnding.CONVERGED, iterations, at.level)
            good = near and at.gap() <= tolerance * soft.problem.total
            if at.gap() < 0.5 * least_gap:
                least_gap, gained_at = at.gap(), iterations
            if good and missed <= rounding and iterations - gained_at >= _PATIENCE:
                return SoftRun(point, residual, SoftEnding.CONVERGED, iterations, at.level)
            if is_doubtful(residual, iterations) and is_hopeless():
                return SoftRun(point, residual, SoftEnding.INFEASIBLE, iterations, at.level)
            if iterations == max_iterations:
                ending = SoftEnding.CONVERGED if good else SoftEnding.ITERATION_LIMIT
                return SoftRun(point, residual, ending, iterations, at.level)
            moved = _stepped(soft, given, point, at)
            if moved is not None:
                point = moved
            elif not good and at.off_centre() > _CENTRED:
                at.centre()
            else:
                return SoftRun(
                    point, residual, SoftEnding.CONVERGED if good else SoftEnding.STALLED, iterations, at.level
                )
            iterations += 1
    except KeyboardInterrupt:
        return SoftRun(point, hard_residual(soft, point.sums), SoftEnding.INTERRUPTED, iterations, at.level)


def _begin(soft: SoftProblem, given: Bounded, start: tuple[FloatArray, float] | None) -> tuple[SoftPoint, _Interior]:
    """Return a point strictly inside of the bounds, and misses that fit it."""
    potentials, level = (None, 1.0) if start is None else start
    if given.strength is not None:
        level = given.strength
    if potentials is not None:
        potentials = potentials.copy()
        potentials[soft.rows] = np.clip(potentials[soft.rows], -_INSIDE * level, _INSIDE * level)
    point = start_at(soft, potentials)
    t = point.potentials[soft.rows]
    misses = (soft.problem.targets - point.sums)[soft.rows]
    size = 0.1 * max(float(np.abs(misses).sum()) / max(1, len(misses)), 1e-6)
    excess, lack = np.maximum(misses, 0.0) + size, np.maximum(-misses, 0.0) + size
    unused = np.empty(0) if given.slack is None else np.array([max(given.slack, size)])
    at = _Interior(level, level - t, level + t, excess, lack, unused, 0.0)
    products = np.concatenate([excess * at.upper, lack * at.lower, unused * level])
    at.mu = 0.1 * float(products.mean()) if len(products) else 0.0
    return point, at


def _missed(soft: SoftProblem, given: Bounded, point: SoftPoint, at: _Interior) -> float:
    """Return the largest error of the linear equations, as a mass of total 1."""
    misses = soft.problem.targets - point.sums
    split = misses[soft.rows] - at.excess + at.lack
    largest = max(float(np.abs(part).max(initial=0.0)) for part in (misses[: soft.hard_count], split))
    if given.slack is not None:
        largest = max(largest, abs(given.slack - float((at.excess + at.lack).sum() + at.unused.sum())))
    return largest / soft.problem.total


def _stepped(soft: SoftProblem, given: Bounded, point: SoftPoint, at: _Interior) -> SoftPoint | None:
    """Make one step, of `at` in place, and return the new point; None where there is no better one."""
    direction, rise, slope = _direction(soft, given, point, at)
    change = direction[soft.rows]
    relative = [(rise - change) / at.upper, (rise + change) / at.lower, np.full(len(at.unused), rise / at.level)]
    logs = np.concatenate(relative)
    moved = climb(soft, point, direction, slope, lambda step: at.mu * log_loss(step * logs), _reach(logs, at))
    if moved is None:
        return None
    _follow(at, relative, moved[1])
    at.level += moved[1] * rise
    return moved[0]


def _direction(soft: SoftProblem, given: Bounded, point: SoftPoint, at: _Interior) -> tuple[FloatArray, float, float]:
    """Return Newton's direction for the potentials and for the bound, and the slope of the dual along it."""
    rows, mu = soft.rows, at.mu
    gradient = soft.problem.targets - point.sums
    gradient[soft.hard_count :] = 0.0
    gradient[rows] = soft.soft_targets - point.sums[rows] - mu / at.upper + mu / at.lower
    ridge = np.zeros(soft.problem.system.rows)
    ridge[rows] = at.excess / at.upper + at.lack / at.lower
    direction, factored = soft.hessian.factor_and_solve(point.masses, gradient, ridge)
    if given.slack is None:
        return direction, 0.0, inner_product(gradient, direction)
    lean = np.zeros_like(ridge)
    lean[rows] = at.excess / at.upper - at.lack / at.lower
    want = float((mu / at.upper + mu / at.lower).sum()) + mu / at.level - given.slack
    across = factored.solve(lean)
    rise = (want + inner_product(lean, direction)) / _stiffness(soft, point, at, across)
    direction = direction + rise * across
    return direction, rise, inner_product(gradient, direction) + want * rise


def _stiffness(soft: SoftProblem, point: SoftPoint, at: _Interior, across: FloatArray) -> float:
    """Return k - l.y of the bordered system as a sum of positive terms: near bounds both are huge and nearly equal.

    With H = C diag(p) C^T and D the ridge it is sum 4 (u / a) (v / e) / D + w / c + y.H y + z.D z, z = l / D - y.
    """
    problem = soft.problem
    high, low = at.excess / at.upper, at.lack / at.lower
    flow = np.empty_like(point.masses)
    spread(problem.index, problem.offsets, across, flow)
    beside = (high - low) / (high + low) - across[soft.rows]
    own = 4.0 * high * low / (high + low) + (high + low) * beside**2
    return float(own.sum() + at.unused.sum() / at.level) + inner_product(point.masses, flow * flow)


def _reach(relative: FloatArray, at: _Interior) -> float:
    """Return the longest step that leaves every positive number some of its size, given relative changes."""
    lowest = float(relative.min(initial=0.0))
    return 1.0 if lowest >= 0.0 else min(1.0, max(_SHARE, 1.0 - at.mu / at.level) / -lowest)


def _follow(at: _Interior, relative: list[FloatArray], step: float) -> None:
    """Move what is positive along with the potentials: the bounds' distances by the step, the misses by their own."""
    products = (at.excess * at.upper, at.lack * at.lower, at.unused * at.level)
    parts = [at.mu / product - 1.0 - moved for product, moved in zip(products, relative, strict=True)]
    own = _reach(np.concatenate(parts), at)
    at.excess, at.lack, at.unused = (
        value * (1.0 + own * part) for value, part in zip((at.excess, at.lack, at.unused), parts, strict=True)
    )
    at.upper, at.lower = at.upper * (1.0 + step * relative[0]), at.lower * (1.0 + step * relative[1])
    level = at.level * (1.0 + step * relative[2])
    # the products stay within a factor of mu, so that the ridge stays a sensible one
    at.excess = np.clip(at.excess, at.mu / (_MOST_OFF * at.upper), _MOST_OFF * at.mu / at.upper)
    at.lack = np.clip(at.lack, at.mu / (_MOST_OFF * at.lower), _MOST_OFF * at.mu / at.lower)
    at.unused = np.clip(at.unused, at.mu / (_MOST_OFF * level), _MOST_OFF * at.mu / level)
