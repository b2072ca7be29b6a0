"""An interior-point phase: it reaches the neighbourhood of answers with many kinks in few steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray
from purtensor.solving.dual.problem import DualProblem
from purtensor.solving.dual.watch import Watch

# the usual share of the way to the nearest wall: a column that touches it could not come off any more
_TO_THE_WALL = 0.995
_STEADY_STEPS = 25
_MOST_GROWTH = 2.0
_LEAST = 1e-290


@dataclass(frozen=True, slots=True, eq=False)
class InteriorPoint:
    """Where the phase ended: columns and potentials, and the largest of what its conditions lack (total mass 1)."""

    x: FloatArray
    potentials: FloatArray
    lacking: float

    @property
    def usable(self) -> bool:
        """Whether the point is near enough to an answer to continue from it."""
        return bool(self.lacking < 1e-4 and np.isfinite(self.potentials).all() and np.isfinite(self.x).all())


@dataclass(slots=True, eq=False)
class _State:
    x: FloatArray
    y: FloatArray
    below: FloatArray  # multipliers of the lower walls
    above: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Walls:
    """Which bounds the phase keeps off with multipliers; `open_*` are those that the cost itself keeps off."""

    has_lower: BoolArray
    has_upper: BoolArray
    open_lower: BoolArray
    open_upper: BoolArray
    fixed: BoolArray
    by_logarithm: BoolArray
    lower: FloatArray
    upper: FloatArray

    @property
    def count(self) -> int:
        """The number of walls."""
        return int(self.has_lower.sum() + self.has_upper.sum())


def interior_phase(
    problem: DualProblem, watch: Watch, *, tolerance: float = 1e-10, most: int = 60, walled: bool = False
) -> InteriorPoint:
    """Return the point that Mehrotra's predictor-corrector method reaches from the middle of the bounds.

    Entropy keeps cells off 0, on the scale of a nat. Beside costs of hundreds of nats a unit the problem is nearly a
    linear program: with `walled` a multiplier keeps them off 0, too, as it does in such.
    """
    walls = _walls(problem, walled=walled)
    state = _start(problem, walls)
    with np.errstate(all="ignore"):  # near the walls multipliers overflow; the loop looks for what is not finite
        return _descend(problem, walls, state, watch, tolerance, most)


def _walls(problem: DualProblem, *, walled: bool) -> _Walls:
    columns = problem.columns
    fixed = columns.lower == columns.upper
    finite_lower, finite_upper = np.isfinite(columns.lower) & ~fixed, np.isfinite(columns.upper) & ~fixed
    open_lower, open_upper = columns.repelled_below & ~fixed, columns.repelled_above & ~fixed
    if walled:
        # beside costs of hundreds of nats the scale of entropy, a nat, is too fine: a multiplier guards 0
        open_lower = open_lower & ~finite_lower
    has_lower, has_upper = finite_lower & ~open_lower, finite_upper & ~open_upper
    return _Walls(
        has_lower,
        has_upper,
        open_lower,
        open_upper,
        fixed,
        open_lower & ~has_upper & ~open_upper,
        np.where(finite_lower, columns.lower, 0.0),
        np.where(finite_upper, columns.upper, 0.0),
    )


def _start(problem: DualProblem, walls: _Walls) -> _State:
    columns, mass = problem.columns, problem.mass
    x, _ = columns.respond(np.zeros(columns.size))
    x = np.where(np.isfinite(x), x, 0.0)
    low, high = walls.has_lower | walls.open_lower, walls.has_upper | walls.open_upper
    room = np.where(low & high, walls.upper - walls.lower, mass)
    guarded = walls.has_lower | walls.has_upper | walls.open_upper
    # a tenth of the room off both walls: steps that begin next to one are cut short by it
    x = np.where(guarded & low, np.maximum(x, walls.lower + 0.1 * room), x)
    x = np.where(guarded & high, np.minimum(x, walls.upper - 0.1 * room), x)
    x = np.where(walls.fixed, columns.lower, x)
    x = _with_misses(problem, x)
    cost = np.full(columns.size, 0.1)
    if columns.linear is not None:  # with the walls as strong as the costs nothing is lacking at potentials of 0
        cost[columns.linear_slice] = np.maximum(columns.linear.cost, 0.1)
    below, above = np.where(walls.has_lower, cost, 0.0), np.where(walls.has_upper, 0.1, 0.0)
    return _State(x, np.zeros(problem.rows), below, above)


def _with_misses(problem: DualProblem, x: FloatArray) -> FloatArray:
    """Return x with the slacks of absolute penalties at what the rows miss, and some more on both sides."""
    own = problem.columns.linear_slice
    one_sided = np.isinf(problem.columns.upper[own]) & (problem.columns.lower[own] == 0.0)
    if not one_sided.any():
        return x
    places = np.arange(own.start, own.stop)[one_sided]
    without = x.copy()
    without[places] = 0.0
    missing = problem.targets - problem.times(without)
    rows, signs = problem.slack_rows[places - problem.cells], problem.slack_signs[places - problem.cells]
    ahead = signs * missing[rows]
    some = 0.1 * max(float(np.abs(ahead).mean()), 1e-6 * problem.mass)
    without[places] = np.maximum(ahead, 0.0) + some
    return without


def _descend(
    problem: DualProblem, walls: _Walls, state: _State, watch: Watch, tolerance: float, most: int
) -> InteriorPoint:
    columns, mass = problem.columns, problem.mass
    open_ = columns.repelled_below | columns.repelled_above
    flat = np.zeros(columns.size, dtype=bool)
    flat[columns.linear_slice] = True
    best, since, last = np.inf, 0, InteriorPoint(state.x, state.y, np.inf)
    for _ in range(most):
        to_lower = np.where(walls.has_lower, state.x - walls.lower, 1.0)
        to_upper = np.where(walls.has_upper, walls.upper - state.x, 1.0)
        missing = problem.targets - problem.times(state.x)
        tilt = problem.back(state.y) + state.below - state.above - columns.slope(state.x)
        tilt = np.where(walls.fixed, 0.0, tilt)
        # what an almost empty cell lacks in nats counts by its mass only
        weight = np.minimum(1.0, np.where(open_, np.abs(state.x), mass) / mass)
        pressure = _pressure(state, to_lower, to_upper, walls)
        residual = float(np.abs(missing).max(initial=0.0)) / mass
        lacking = max(residual, float(np.abs(tilt * weight).max(initial=0.0)), pressure / mass)
        if not np.isfinite(lacking):  # a column has come to its wall to the last digit
            return last
        last = InteriorPoint(state.x, state.y, lacking)
        if lacking <= tolerance:
            break
        best, since = (lacking, 0) if lacking < 0.5 * best else (best, since + 1)
        if since > _STEADY_STEPS:
            break
        watch.before_step(residual)
        if watch.refute and problem.is_refuted_by(state.y):
            watch.end_refuted(state.y)
        # linear costs have no curvature: their walls alone give some
        stiff = np.where(flat, 0.0, 1.0 / columns.give(state.x))
        stiff = stiff + state.below / to_lower * walls.has_lower + state.above / to_upper * walls.has_upper
        give = np.where(walls.fixed, 0.0, 1.0 / stiff)
        try:
            solve = problem.equations(give).solver()
        except (np.linalg.LinAlgError, ValueError):
            break
        _move(problem, walls, state, (to_lower, to_upper), (missing, tilt, give), pressure, solve)
    return last


def _pressure(state: _State, to_lower: FloatArray, to_upper: FloatArray, walls: _Walls) -> float:
    total = (state.below * to_lower * walls.has_lower + state.above * to_upper * walls.has_upper).sum()
    return float(total) / max(walls.count, 1)


def _move(
    problem: DualProblem,
    walls: _Walls,
    state: _State,
    room: tuple[FloatArray, FloatArray],
    lacks: tuple[FloatArray, FloatArray, FloatArray],
    pressure: float,
    solve: Callable[[FloatArray], FloatArray],
) -> None:
    """Take one predictor-corrector step in place."""
    (to_lower, to_upper), (missing, tilt, give) = room, lacks
    low, high = walls.has_lower, walls.has_upper

    def direction(wanted_below: FloatArray, wanted_above: FloatArray) -> tuple[FloatArray, ...]:
        pull = tilt + wanted_below / to_lower * low - wanted_above / to_upper * high
        rest = missing - problem.times(give * pull)
        dy = solve(rest)
        dy = dy + solve(rest - problem.times(give * problem.back(dy)))  # one refinement
        dx = give * (problem.back(dy) + pull)
        return (
            dx,
            dy,
            low * (wanted_below - state.below * dx) / to_lower,
            high * (wanted_above + state.above * dx) / to_upper,
        )

    def lengths(dx: FloatArray, dbelow: FloatArray, dabove: FloatArray) -> tuple[float, float]:
        open_low, open_high = walls.open_lower, walls.open_upper
        primal = min(
            _reach(to_lower, dx, low),
            _reach(to_upper, -dx, high),
            _reach(state.x - walls.lower, dx, open_low & ~walls.by_logarithm),
            _reach(walls.upper - state.x, -dx, open_high),
            _growth(state.x, dx, walls.by_logarithm, problem.mass),
        )
        return primal, min(_reach(state.below, dbelow, low), _reach(state.above, dabove, high))

    dx, _, dbelow, dabove = direction(-state.below * to_lower, -state.above * to_upper)
    primal, dual = lengths(dx, dbelow, dabove)
    ahead = (
        (state.below + dual * dbelow) * (to_lower + primal * dx) * low
        + (state.above + dual * dabove) * (to_upper - primal * dx) * high
    ).sum() / max(walls.count, 1)
    # Mehrotra's rule (1992): the less pressure the plain step would leave, the less the second is centred
    centred = min(1.0, max(0.0, float(ahead / pressure) ** 3)) if walls.count and pressure > 0 else 0.0
    dx, dy, dbelow, dabove = direction(
        # the corrector takes in the product of the two changes that the linear step leaves out
        centred * pressure - state.below * to_lower - dbelow * dx,
        centred * pressure - state.above * to_upper + dabove * dx,
    )
    step = min(lengths(dx, dbelow, dabove))
    # log x of a KL cell is linear in its potential: moved so, cells that vanish do not hold the others up
    moved = np.where(walls.by_logarithm, state.x * np.exp(step * dx / state.x), state.x + step * dx)
    state.x = np.where(walls.fixed, state.x, np.maximum(moved, np.where(walls.by_logarithm, _LEAST, -np.inf)))
    state.y = state.y + step * dy
    state.below, state.above = state.below + step * dbelow, state.above + step * dabove


def _growth(x: FloatArray, dx: FloatArray, where: BoolArray, mass: float) -> float:
    """Return the longest step, 1 at most, by which no mass that counts becomes more than e^2 times what it was."""
    rises = where & (dx > 0.0)
    # cells of almost nothing may grow further, up to a hundredth of an even share
    allowed = np.maximum(_MOST_GROWTH, np.log(1e-2 * mass / (x[rises] * len(x))))
    return min(1.0, float((allowed * x[rises] / dx[rises]).min(initial=np.inf)))


def _reach(values: FloatArray, change: FloatArray, where: BoolArray) -> float:
    """Return the longest step, 1 at most, that keeps the values positive."""
    falls = where & (change < 0.0)
    return min(1.0, float((-_TO_THE_WALL * values[falls] / change[falls]).min(initial=np.inf)))
