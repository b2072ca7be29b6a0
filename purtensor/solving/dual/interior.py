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
# into the room from the lower wall and from the upper one
_INWARD = np.array([[1.0], [-1.0]])


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
    """Columns, potentials, and the multipliers of the walls, shape (2, columns)."""

    x: FloatArray
    y: FloatArray
    multipliers: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Walls:
    """The bounds, shape (2, columns), lower ones first: those kept off with multipliers, and by the cost itself."""

    guarded: BoolArray
    repelled: BoolArray
    bounds: FloatArray
    fixed: BoolArray

    @property
    def by_logarithm(self) -> BoolArray:
        """The columns that only their cost keeps off a lower bound: they move in the logarithm."""
        return np.asarray(self.repelled[0] & ~self.guarded[1] & ~self.repelled[1])

    def to_walls(self, x: FloatArray) -> FloatArray:
        """Return the distances to both walls."""
        return np.asarray(_INWARD * (x - self.bounds))

    def measure_pressure(self, products: FloatArray) -> float:
        """Return the mean of the products of distance and multiplier."""
        return float((products * self.guarded).sum()) / max(int(self.guarded.sum()), 1)


def interior_phase(
    problem: DualProblem, watch: Watch, *, tolerance: float = 1e-10, most: int = 60, walled: bool = False
) -> InteriorPoint:
    """Return the point that Mehrotra's predictor-corrector method reaches from the middle of the bounds.

    Entropy keeps cells off 0, on the scale of a nat. Beside costs of hundreds of nats per unit the problem is nearly a
    linear program: with `walled` a multiplier keeps them off 0, too, as it does in such.
    """
    walls = _find_walls(problem, walled=walled)
    state = _start(problem, walls)
    with np.errstate(all="ignore"):  # near the walls multipliers overflow; the loop looks for what is not finite
        return _descend(problem, walls, state, watch, tolerance, most)


def _find_walls(problem: DualProblem, *, walled: bool) -> _Walls:
    columns = problem.columns
    fixed = columns.lower == columns.upper
    bounds = np.stack([columns.lower, columns.upper])
    finite = np.isfinite(bounds) & ~fixed
    repelled = np.stack([columns.repelled_below, columns.repelled_above]) & ~fixed
    if walled:
        # beside costs of hundreds of nats the scale of entropy, a nat, is too fine: a multiplier guards 0
        repelled[0] &= ~finite[0]
    return _Walls(finite & ~repelled, repelled, np.where(finite, bounds, 0.0), fixed)


def _start(problem: DualProblem, walls: _Walls) -> _State:
    columns, mass = problem.columns, problem.mass
    x, _ = columns.respond(np.zeros(columns.size))
    x = np.where(np.isfinite(x), x, 0.0)
    low, high = walls.guarded | walls.repelled
    lower, upper = walls.bounds
    room = np.where(low & high, upper - lower, mass)
    held = walls.guarded[0] | high
    # a tenth of the room off both walls: steps that begin next to one are cut short by it
    x = np.where(held & low, np.maximum(x, lower + 0.1 * room), x)
    x = np.where(held & high, np.minimum(x, upper - 0.1 * room), x)
    x = np.where(walls.fixed, columns.lower, x)
    multipliers = np.full((2, columns.size), 0.1)
    if columns.linear is not None:  # with the walls as strong as the costs nothing is lacking at potentials of 0
        multipliers[0, columns.linear_slice] = np.maximum(columns.linear.cost, 0.1)
    return _State(_with_misses(problem, x), np.zeros(problem.rows), multipliers * walls.guarded)


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
    repelled = columns.repelled_below | columns.repelled_above
    flat = np.zeros(columns.size, dtype=bool)
    flat[columns.linear_slice] = True
    best, since, last = np.inf, 0, InteriorPoint(state.x, state.y, np.inf)
    for _ in range(most):
        room = np.where(walls.guarded, walls.to_walls(state.x), 1.0)
        missing = problem.targets - problem.times(state.x)
        tilt = problem.back(state.y) + (_INWARD * state.multipliers).sum(axis=0) - columns.slope(state.x)
        tilt = np.where(walls.fixed, 0.0, tilt)
        # what an almost empty cell lacks in nats counts by its mass only
        weight = np.minimum(1.0, np.where(repelled, np.abs(state.x), mass) / mass)
        pressure = walls.measure_pressure(state.multipliers * room)
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
        stiff = np.where(flat, 0.0, 1.0 / columns.give(state.x)) + (state.multipliers / room).sum(axis=0)
        give = np.where(walls.fixed, 0.0, 1.0 / stiff)
        try:
            solve = problem.equations(give).solver()
        except (np.linalg.LinAlgError, ValueError):
            break
        _move(problem, walls, state, room, (missing, tilt, give), pressure, solve)
    return last


def _move(
    problem: DualProblem,
    walls: _Walls,
    state: _State,
    room: FloatArray,
    lacks: tuple[FloatArray, FloatArray, FloatArray],
    pressure: float,
    solve: Callable[[FloatArray], FloatArray],
) -> None:
    """Take one predictor-corrector step in place."""
    missing, tilt, give = lacks
    by_logarithm = walls.by_logarithm
    per_room = walls.guarded / room
    inward = _INWARD * per_room

    def direction(wanted: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the changes of columns, potentials and multipliers that bring the products to `wanted` more."""
        pull = tilt + (inward * wanted).sum(axis=0)
        rest = missing - problem.times(give * pull)
        dy = solve(rest)
        dy = dy + solve(rest - problem.times(give * problem.back(dy)))  # one refinement
        dx = give * (problem.back(dy) + pull)
        return dx, dy, per_room * wanted - inward * state.multipliers * dx

    def lengths(dx: FloatArray, dm: FloatArray) -> tuple[float, float]:
        open_walls = walls.repelled.copy()
        open_walls[0] &= ~by_logarithm
        primal = min(
            _reach(walls.to_walls(state.x), _INWARD * dx, walls.guarded | open_walls),
            _growth(state.x, dx, by_logarithm, problem.mass),
        )
        return primal, _reach(state.multipliers, dm, walls.guarded)

    products = state.multipliers * room
    dx, _, dm = direction(-products)
    primal, dual = lengths(dx, dm)
    ahead = walls.measure_pressure((state.multipliers + dual * dm) * (room + primal * _INWARD * dx))
    # Mehrotra's rule (1992): the less pressure the plain step would leave, the less the second is centred
    centred = min(1.0, max(0.0, (ahead / pressure) ** 3)) if pressure > 0 else 0.0
    # the corrector takes in the product of the two changes that the linear step leaves out
    dx, dy, dm = direction(centred * pressure - products - _INWARD * dm * dx)
    step = min(lengths(dx, dm))
    # log x of a KL cell is linear in its potential: moved so, cells that vanish do not hold the others up
    moved = np.where(by_logarithm, state.x * np.exp(step * dx / state.x), state.x + step * dx)
    state.x = np.where(walls.fixed, state.x, np.maximum(moved, np.where(by_logarithm, _LEAST, -np.inf)))
    state.y, state.multipliers = state.y + step * dy, state.multipliers + step * dm


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
