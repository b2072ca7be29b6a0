"""How far an answer can be from the exact one: the duality gap, column by column (notes/one_dual.md, 9 to 14)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray
from purtensor.solving.dual.ascent import DualPoint, point_at
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.columns.kind import ColumnKind
from purtensor.solving.dual.columns.logit import LogitColumns
from purtensor.solving.dual.columns.squares import SquareColumns
from purtensor.solving.dual.problem import DualProblem

_FREELY = 1e20
_UNIT = float(np.finfo(np.float64).eps)
_REFINEMENTS = 8
_ROUNDING = 64 * _UNIT
"""What is left of a miss counts as rounding of the targets up to this share of the row's own sum of sizes."""


@dataclass(frozen=True, slots=True, eq=False)
class DualCertificate:
    """What is proved of a state.

    Attributes
    ----------
    gap
        H(feasible) - least H is at most this, in nats times mass; infinite where nothing is proved.
    distance
        The sum of |cells - exact answer| is at most this.
    feasible
        Shape (columns,): a point that meets the rows up to rounding, and the bounds.
    potentials, cells
        The potentials that the gap is taken at, those of slacks inside of their intervals put exactly at their cost;
        and the cells: `feasible` where that is their response to all digits that the potentials have, else this.
    left
        The largest miss of `feasible` over its row's sum of sizes.
    """

    gap: float
    distance: float
    feasible: FloatArray
    potentials: FloatArray
    cells: FloatArray
    left: float

    @property
    def proved(self) -> bool:
        """Whether there is a bound."""
        return bool(np.isfinite(self.distance))


def certify(problem: DualProblem, point: DualPoint, *, advance: bool = False) -> DualCertificate:
    """Return the best bound of two ways to repair the misses.

    With `advance` the certificate may be of the potentials that Newton's next step, the repair, leads to: those of an
    answer have more digits for it.
    """
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        return _best(problem, point, advance=advance)


def _best(problem: DualProblem, point: DualPoint, *, advance: bool) -> DualCertificate:
    columns, own = problem.columns, slice(0, problem.cells)
    best = DualCertificate(np.inf, np.inf, point.x, point.potentials, point.x[own], np.inf)
    inside, held = _slacks(problem, point)
    potentials = _snapped(problem, point.potentials, inside)
    if problem.columns.linear is not None:  # what is repaired are the masses of the potentials that count
        point = point_at(problem, point.columns, potentials)
    x, give = _put_at_bounds(problem, point, inside, held)
    room = np.minimum(x - columns.lower, columns.upper - x)
    for weights in (give, np.minimum(give, np.where(np.isfinite(room), np.maximum(room, 0.0), give))):
        try:
            repaired = _repaired(problem, x, weights)
        except np.linalg.LinAlgError:
            continue
        if repaired is None:
            continue
        feasible, correction, left = repaired
        ways = [potentials]
        if advance:
            ways.append(_snapped(problem, potentials + correction, inside))
        for at in ways:
            gap = _gap(problem, feasible, at)
            cells, _ = columns.blocks[0].respond(problem.back(at)[own])
            blur = np.abs(cells) * (_UNIT * (4.0 + problem.matrix.size_back(np.abs(at))))
            if np.all(np.abs(feasible[own] - cells) <= blur):  # the response as well as the potentials tell it
                cells, blur = feasible[own], np.zeros(0)
            moved = float(np.abs(feasible[own] - cells).sum())
            distance = moved + distance_from_gap(columns.blocks[0], gap, feasible[own]) + float(blur.sum())
            if distance < best.distance:
                best = DualCertificate(gap, distance, feasible, at, cells, left)
    return best


def _slacks(problem: DualProblem, point: DualPoint) -> tuple[BoolArray, BoolArray]:
    """Return which slacks of linear cost are inside of their intervals, and which are at a bound.

    A slack belongs to its bound where that costs less than to put its potential at its cost.
    """
    own = problem.columns.linear_slice
    linear = problem.columns.linear
    if linear is None:
        nothing = np.zeros(0, dtype=bool)
        return nothing, nothing
    push = point.z[own] - linear.cost
    bound = np.where(push > 0.0, linear.upper, linear.lower)
    held = np.abs(point.x[own] - bound) < np.abs(push) * problem.mass
    return ~held & (linear.lower < linear.upper), held


def _put_at_bounds(
    problem: DualProblem, point: DualPoint, inside: BoolArray, held: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return the columns, and how they give way: a slack inside of its interval takes all that its row misses."""
    own, linear = problem.columns.linear_slice, problem.columns.linear
    x, give = point.x.copy(), point.give.copy()
    if linear is not None:
        bound = np.where(point.z[own] > linear.cost, linear.upper, linear.lower)
        x[own] = np.where(held, bound, x[own])
        give[own] = np.where(held, 0.0, np.where(inside, _FREELY * problem.mass, give[own]))
    return x, give


def _snapped(problem: DualProblem, potentials: FloatArray, inside: BoolArray) -> FloatArray:
    """Return the potentials put exactly where linear costs allow them: at the cost inside, never beyond at no bound."""
    linear = problem.columns.linear
    if linear is None:
        return potentials
    slacks = slice(problem.columns.linear_slice.start - problem.cells, None)
    rows, signs = problem.slack_rows[slacks], problem.slack_signs[slacks]
    put = potentials.copy()
    put[rows[inside]] = (signs * linear.cost)[inside]
    push = signs * put[rows] - linear.cost
    beyond = ((linear.upper == np.inf) & (push > 0.0)) | ((linear.lower == -np.inf) & (push < 0.0))
    put[rows[beyond]] = (signs * linear.cost)[beyond]
    return put


def _repaired(problem: DualProblem, x: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, float] | None:
    """Return x moved onto the rows by Newton's correction, refined; the correction, and what is left of the misses."""
    columns = problem.columns
    solve = problem.equations(weights).solver()
    correction, best = np.zeros(problem.rows), np.inf
    found: tuple[FloatArray, FloatArray] | None = None
    for _ in range(_REFINEMENTS):
        moved = x + weights * problem.back(correction)
        missing = problem.targets - problem.times(moved)
        left = _left(problem, moved, missing)
        if not left < 0.5 * best:
            break
        found, best = (moved, correction), left
        correction = correction + solve(missing)
    if found is None:
        return None
    moved, correction = found
    beyond = np.maximum(columns.lower - moved, moved - columns.upper).max(initial=0.0)
    if beyond > 1e-14 * problem.mass:
        return None
    feasible = np.clip(moved, columns.lower, columns.upper)
    left = _left(problem, feasible, problem.targets - problem.times(feasible))
    return (feasible, correction, left) if left <= _ROUNDING else None


def _left(problem: DualProblem, x: FloatArray, missing: FloatArray) -> float:
    """Return the largest miss over the sum of sizes of its row."""
    sizes = problem.size_times(x) + np.abs(problem.targets)
    dependent = problem.matrix.dependent
    if dependent is not None:  # what follows from other rows is met as they are, to the rounding of their targets
        sizes = np.where(dependent, problem.mass, sizes)
    return float((np.abs(missing) / np.where(sizes > 0.0, sizes, 1.0)).max(initial=0.0))


def _gap(problem: DualProblem, feasible: FloatArray, potentials: FloatArray) -> float:
    """Return the gap, a sum of terms that are never negative, and what rounding of the potentials adds to it."""
    z = problem.back(potentials)
    gap = float(problem.columns.gap(feasible, z).sum())
    blur = _UNIT * (2.0 + problem.matrix.size_back(np.abs(potentials)))
    response, give = problem.columns.blocks[0].respond(z[: problem.cells])
    moved = np.abs(feasible[: problem.cells] - response)
    return gap * (1.0 + 8.0 * _UNIT) + float((moved * blur + give * blur * blur).sum())


def distance_from_gap(cells: ColumnKind, gap: float, feasible: FloatArray) -> float:
    """Return the largest sum of |feasible - answer| that a gap allows; sharp for each kind of cell."""
    if isinstance(cells, SquareColumns):
        return float(np.sqrt(2.0 * gap * cells.variance.sum()))
    if isinstance(cells, LogitColumns):
        return float(np.sqrt(gap * (cells.rate * cells.width).sum() / 2.0))
    if not isinstance(cells, EntropyColumns):
        return float("inf")
    divergence = np.float64(gap / float(cells.strength.min(initial=1.0)))
    mass = float(feasible.sum())
    return float(2.0 * divergence / 3.0 + np.sqrt(4.0 * divergence**2 / 9.0 + 2.0 * mass * divergence))
