"""Semi-smooth Newton ascent of the dual, with a proximal point method on slacks whose cost is linear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.dual.columns.composite import CompositeColumns
from purtensor.solving.dual.problem import DualProblem
from purtensor.solving.dual.watch import Watch
from purtensor.solving.termination import Termination

_LENT = (0.0, 1e-8, 1e-4, 1e-2, 1.0)
"""Shares of their curvature that columns at their bounds may lend, where the others leave directions without any."""

_SUFFICIENT = 1e-4
_SHORTEST_STEP = 1e-9
_STEADY_STEPS = 6
_MOST_ROUNDS = 60
_SLOWLY = 0.5
_WIDEST = 1e3
"""Proximal widths beyond this many times mass over cost lose digits of the misses to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class DualPoint:
    """A state of the dual: potentials with the columns that answer them.

    Attributes
    ----------
    potentials
        Shape (rows,), of the scaled rows.
    z
        A^T potentials.
    x, give
        The columns' responses and their derivatives.
    columns
        The columns with the proximal terms that the responses are of.
    missing
        targets - A x.
    """

    potentials: FloatArray
    z: FloatArray
    x: FloatArray
    give: FloatArray
    columns: CompositeColumns
    missing: FloatArray

    def residual(self, mass: float) -> float:
        """Return the largest miss, the total mass being 1."""
        return float(np.abs(self.missing).max(initial=0.0)) / mass


@dataclass(frozen=True, slots=True, eq=False)
class DualRun:
    """Where a run, or one way that it tried, ended.

    Attributes
    ----------
    point
        The last state.
    ending, residual
        How it ended, and its largest miss (total mass 1).
    way
        What led there, where it was not plain ascent.
    stopped
        "iterations", "seconds", "callback" or "interrupted" where the run was ended from outside, "refuted" where
        potentials showed that there is no optimum.
    """

    point: DualPoint
    ending: Termination
    residual: float
    way: str = ""
    stopped: str = ""

    @property
    def converged(self) -> bool:
        """Whether the state is the optimum."""
        return self.ending is Termination.CONVERGED


Stepper: TypeAlias = Callable[[DualProblem, DualPoint, float], DualPoint | None]
"""Returns the state after a step of the dual, softened by a number; None where no step rises."""


@dataclass(slots=True)
class AscentOptions:
    """How an ascent goes: `sigma` is the first proximal width in units of the slack's own, grown tenfold a round.

    `softening` adds softening/2 |y|^2 to the dual, and one proximal round is enough then. `slack` is where the proximal
    terms begin; with `sharp` these are so near to the answer that the first round already goes to the tolerance, and
    rounds that hardly move them end. `step` takes the place of Newton's steps.
    """

    tolerance: float = 1e-13
    most_steps: int = 400
    sigma: float = 1.0
    softening: float = 0.0
    sharp: bool = False
    slack: FloatArray | None = field(default=None, repr=False)
    step: Stepper | None = field(default=None, repr=False)


def point_at(
    problem: DualProblem, columns: CompositeColumns, potentials: FloatArray, softening: float = 0.0
) -> DualPoint:
    """Return the state at these potentials."""
    z = problem.back(potentials)
    x, give = columns.respond(z)
    missing = problem.targets - problem.times(x)
    if softening:
        missing = missing - softening * potentials
    return DualPoint(potentials, z, x, give, columns, missing)


def ascend(problem: DualProblem, start: FloatArray | None, options: AscentOptions, watch: Watch) -> DualRun:
    """Return the state at which every row is met to the tolerance and every slack of linear cost has converged."""
    potentials = np.zeros(problem.rows) if start is None else start
    columns, own = problem.columns, problem.columns.linear_slice
    linear = columns.linear
    anchor = np.empty(0)
    width = widest = np.empty(0)
    if linear is not None:
        anchor = np.clip(0.0 if options.slack is None else options.slack[own], linear.lower, linear.upper)
        # what a row lacks and has too much at once would cost twice and say nothing
        anchor = problem.net(anchor)
        width = np.minimum(linear.upper - linear.lower, problem.mass)
        widest = _WIDEST * problem.mass / np.maximum(1.0, linear.cost)
    tolerance, sigma = options.tolerance, options.sigma
    # early rounds are solved loosely: the anchor moves on anyway
    inner = tolerance if linear is None or options.softening or options.sharp else max(tolerance, 1e-2)
    used, rounds, last = 0, 0, np.inf
    while True:
        # notes/one_dual.md, equation 6: the wider, the nearer to the linear cost, and the worse the equations
        proximal = np.minimum(sigma * width, widest)
        columns = columns.anchor_at(anchor, proximal)
        point = point_at(problem, columns, potentials, options.softening)
        point, ending, steps = _meet_rows(problem, point, inner, options.most_steps - used, options, watch)
        used, potentials = used + steps, point.potentials
        residual = point.residual(problem.mass)
        # large potentials leave their own rounding in the misses: that is as good as met
        rounded = ending is Termination.STALLED and residual <= _rounding(point)
        if ending is not Termination.CONVERGED and not rounded:
            return DualRun(point, ending, residual)
        rounds += 1
        if options.softening or linear is None:
            return DualRun(point, Termination.CONVERGED, residual)
        # what the slacks' own conditions lack, in nats per unit
        unrest = float((np.abs(point.x[own] - anchor) / proximal).max(initial=0.0))
        anchor = problem.net(point.x[own])
        still = unrest <= 1e-13 * (1.0 + np.abs(potentials).max(initial=0.0))
        if inner <= tolerance and still:
            return DualRun(point, Termination.CONVERGED, residual)
        slow = options.sharp and rounds > 2 and unrest > _SLOWLY * last
        if rounds > _MOST_ROUNDS or slow:
            return DualRun(point, Termination.ITERATION_LIMIT, residual)
        last = unrest
        # tenfold widths make the proximal point method converge faster than linearly
        inner, sigma = max(tolerance, 1e-3 * inner), 10.0 * sigma


def _rounding(point: DualPoint) -> float:
    """Return the residual below which a stagnating run counts as converged: rounding of masses at these potentials."""
    return min(1e-8, 1e-13 * (1.0 + float(np.abs(point.z).max(initial=0.0))))


def _floor(point: DualPoint) -> float:
    """Return the residual that rounding of these potentials alone leaves."""
    return float(np.finfo(np.float64).eps) * float(np.abs(point.z).max(initial=0.0))


def _meet_rows(
    problem: DualProblem, point: DualPoint, tolerance: float, most: int, options: AscentOptions, watch: Watch
) -> tuple[DualPoint, Termination, int]:
    """Return the state that meets the rows to the tolerance over fixed columns, how it ended, and the steps taken."""
    lowest, since, steps = np.inf, 0, 0
    step = _step if options.step is None else options.step
    while True:
        residual = point.residual(problem.mass)
        since = 0 if residual < 0.5 * lowest else since + 1
        lowest = min(lowest, residual)
        if residual <= tolerance:
            return point, Termination.CONVERGED, steps
        # no halving for six steps this near to rounding is a standstill; below its floor two are enough
        steady = since > _STEADY_STEPS and lowest < _rounding(point)
        if not np.isfinite(residual) or steady or (since > 1 and lowest < _floor(point)):
            return point, Termination.STALLED, steps
        if steps >= most:
            return point, Termination.ITERATION_LIMIT, steps
        watch.before_step(residual, point.potentials)
        steps += 1
        moved = step(problem, point, options.softening)
        if moved is None:
            return point, Termination.STALLED, steps
        point = moved
        # the potentials of a problem without an answer diverge along a proof of that (notes/one_dual.md, equation 16)
        if watch.refute and not options.softening and problem.is_refuted_by(point.potentials, point.z):
            watch.end_refuted(point.potentials)


def _step(problem: DualProblem, point: DualPoint, softening: float) -> DualPoint | None:
    """Return the best state that a Newton direction leads to; None where none rises.

    Columns at a bound have no curvature. Where the others leave the equations singular or the step short, they lend
    some of theirs, more and more; the direction that gains most is taken.
    """
    best: tuple[float, float, FloatArray] | None = None
    for share in _LENT:
        weights = point.give + share * _lend_curvature(problem, point) if share else point.give
        try:
            direction = problem.equations(weights, softening).solver()(point.missing)
        except np.linalg.LinAlgError:
            continue
        change = problem.back(direction)
        found = search_along(point, direction, change, softening)
        if found is None:
            continue
        gain, step = found
        if best is None or gain > best[0]:
            best = gain, step, direction
        left = np.abs(problem.times(point.give * change) + softening * direction - point.missing).max()
        # a fair step of equations that were really solved: lending more would only blur the direction
        if step > 0.05 and left <= 0.1 * np.abs(point.missing).max():
            break
    if best is None:
        return None
    _, step, direction = best
    return point_at(problem, point.columns, point.potentials + step * direction, softening)


def _lend_curvature(problem: DualProblem, point: DualPoint) -> FloatArray:
    """Return the curvature that columns at their bounds would have without these."""
    # entropy's curvature is x itself: a cell at 0 would have nothing to lend
    floor = np.maximum(point.x, 1e-12 * problem.mass)
    floor[problem.cells :] = point.x[problem.cells :]
    return np.where(point.give > 0.0, 0.0, point.columns.give(floor))


def search_along(
    point: DualPoint, direction: FloatArray, change: FloatArray, softening: float
) -> tuple[float, float] | None:
    """Return the gain of the dual and the step of Armijo's rule along a direction, None where it does not rise.

    `change` is A^T direction.
    """
    # missing is the gradient of the dual
    slope = float(point.missing @ direction)
    if not (np.isfinite(slope) and slope > 0.0):
        return None
    # the softening is a quadratic of its own, so its loss is exact
    bend = 0.5 * softening * float(direction @ direction)
    step = 1.0
    while step > _SHORTEST_STEP:
        with np.errstate(over="ignore", invalid="ignore"):
            # two sums in which nothing cancels (notes/one_dual.md, equation 7), not two values of the dual
            gain = step * slope - point.columns.loss(point.z, step * change, point.x) - bend * step * step
        if gain >= _SUFFICIENT * step * slope:
            return gain, step
        step *= 0.5
    return None
