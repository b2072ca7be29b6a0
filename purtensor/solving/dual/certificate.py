"""How far an answer can be from the exact one: the duality gap, column by column (notes/one_dual.md, 9 to 18)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from purtensor._typing import BoolArray, FloatArray
from purtensor.solving.dual.ascent import DualPoint, point_at
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.columns.kind import ColumnKind
from purtensor.solving.dual.columns.logit import LogitColumns
from purtensor.solving.dual.columns.squares import SquareColumns
from purtensor.solving.dual.extended import ExtendedSums, LongArray
from purtensor.solving.dual.problem import DualProblem
from purtensor.solving.dual.remainder import meet_remainder

Potentials = TypeVar("Potentials", FloatArray, LongArray)
# times the mass: a slack that gives way so freely takes the whole miss of its row
_FREELY = 1e20
_UNIT = float(np.finfo(np.float64).eps)
_REFINEMENTS = 8
_VANISHING = 1e-25
"""Sums of masses below this share of the total, as of underflowing cells, do not decide whether a repair continues."""

_SHARPEST = 1e-13
"""A bound of this share of the mass is rounding: another way to repair the misses would say the same."""

_SHARP = 1e-11
"""Bounds below this share of the mass are not worth extended precision."""

_ROUNDING = 64 * _UNIT
"""The rest of a miss counts as rounding of the targets up to this share of the row's own sum of sizes."""


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


@dataclass(frozen=True, slots=True, eq=False)
class _Repaired:
    """Columns on the rows but for `left` of a row's sum of sizes, and the step of the potentials that led there.

    `rest` is no less than what each column takes to meet what is left.
    """

    feasible: FloatArray
    correction: FloatArray
    left: float
    rest: FloatArray


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
    # the linear cost counts as asked, without the proximal term: a slack is at a bound, or its potential is at its cost
    inside, held = problem.slacks_inside(point.x, point.z)
    potentials = _snap(problem, point.potentials, inside)
    if problem.columns.linear is not None:  # what is repaired are the masses of the potentials that count
        point = point_at(problem, point.columns, potentials)
    x, give = _put_at_bounds(problem, point, inside, held)
    room = np.minimum(x - columns.lower, columns.upper - x)
    # Newton's own weights first, then capped by the room to the bounds, so that columns near theirs move less
    for weights in (give, np.minimum(give, np.where(np.isfinite(room), np.maximum(room, 0.0), give))):
        try:
            repaired = _repair(problem, x, weights, inside)
        except np.linalg.LinAlgError:
            continue
        if repaired is None:
            continue
        ways = [potentials]
        if advance:
            # any potentials prove with the same feasible point: equation 9 of the note holds for every y
            ways.append(_snap(problem, potentials + repaired.correction, inside))
        for at in ways:
            found = _judge(problem, repaired, problem.back(at), _blur(problem, at), at)
            best = found if found.distance < best.distance else best
        # what remains of the misses cannot be repaired away
        if best.distance <= max(_SHARPEST * problem.mass, 4.0 * float(repaired.rest.sum())):
            break
    if advance and best.distance > _SHARP * problem.mass and _blur(problem, potentials).max(initial=0.0) > _SHARP:
        sharper = _with_more_digits(problem, point, potentials, inside, held)
        best = sharper if sharper is not None and sharper.distance < best.distance else best
    return best


def _blur(problem: DualProblem, potentials: FloatArray) -> FloatArray:
    """Return how far rounding of the potentials may move their sums, one per cell."""
    return _UNIT * (2.0 + problem.matrix.size_back(np.abs(potentials)))


def _judge(
    problem: DualProblem, repaired: _Repaired, z: FloatArray, blur: FloatArray, potentials: FloatArray
) -> DualCertificate:
    """Return what potentials with the sums z prove of masses on the rows."""
    own, kind = slice(0, problem.cells), problem.columns.blocks[0]
    feasible, rest = repaired.feasible, repaired.rest
    gap = _gap(problem, repaired, z, blur)
    cells, _ = kind.respond(z[own])
    blurred = np.abs(cells) * (blur + 2.0 * _UNIT)
    if np.all(np.abs(feasible[own] - cells) <= blurred):  # the response is as exact as the potentials
        cells, blurred = feasible[own], np.zeros(0)
    # from what is returned to the feasible point, from there to the answer, and the rounding of what is returned
    moved = float((np.abs(feasible[own] - cells) + rest[own]).sum())
    distance = moved + distance_from_gap(kind, gap, feasible[own] + rest[own]) + float(blurred.sum())
    # the answer's divergence from cells that are rounded: to first order what these are off by weighs the distance
    gap += float(blur.max(initial=0.0) + 2.0 * _UNIT) * distance
    return DualCertificate(gap, distance, feasible, potentials, cells, repaired.left)


def _with_more_digits(
    problem: DualProblem, point: DualPoint, potentials: FloatArray, inside: BoolArray, held: BoolArray
) -> DualCertificate | None:
    """Return the proof of potentials in extended precision, moved by Newton's steps; None where masses leave bounds."""
    here: LongArray = potentials.astype(np.longdouble)
    found: DualCertificate | None = None
    lowest = np.inf
    taken = problem.slack_rows[problem.columns.linear_slice.start - problem.cells :][inside]
    for _ in range(_REFINEMENTS):
        sums = ExtendedSums.of(problem, here)
        x, give = point.columns.respond(sums.z)
        responding = DualPoint(here.astype(np.float64), sums.z, x, give, point.columns, point.missing)
        x, give = _put_at_bounds(problem, responding, inside, held)
        missing = problem.targets - problem.times(x)
        missing[taken] = 0.0  # their slacks are free to take it
        largest = float(np.abs(missing).max(initial=0.0))
        if not largest < 0.5 * lowest:
            break
        lowest = largest
        try:
            solve = problem.equations(give).solver()
            repaired = _repair(problem, x, give, inside)
        except np.linalg.LinAlgError:
            break
        if repaired is not None:
            now = _judge(problem, repaired, sums.z, sums.blur, responding.potentials)
            found = now if found is None or now.distance < found.distance else found
        # solved in doubles, added in extended precision: the refinement keeps the digits that doubles lose
        here = _snap(problem, here + solve(missing), inside)
    return found


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


def _snap(problem: DualProblem, potentials: Potentials, inside: BoolArray) -> Potentials:
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
    # past the cost of a slack without bound the dual is -inf: nothing would be proved
    put[rows[beyond]] = (signs * linear.cost)[beyond]
    return put


def _repair(problem: DualProblem, x: FloatArray, weights: FloatArray, inside: BoolArray) -> _Repaired | None:
    """Return x moved onto the rows by Newton's correction, refined; None where it leaves the bounds or the rows."""
    columns = problem.columns
    solve = problem.equations(weights).solver()
    correction, best = np.zeros(problem.rows), np.inf
    found: tuple[FloatArray, FloatArray] | None = None
    for _ in range(_REFINEMENTS):
        moved = x + weights * problem.back(correction)
        missing = problem.targets - problem.times(moved)
        left = _find_relative_miss(problem, moved, missing, _VANISHING * problem.mass)
        # not halved any more: rounding
        if not left < 0.5 * best:
            break
        found, best = (moved, correction), left
        correction = correction + solve(missing)
    if found is None:
        return None
    moved, correction = found
    beyond = np.maximum(columns.lower - moved, moved - columns.upper).max(initial=0.0)
    # rounding beyond a bound is clipped below, and what rows lack by it is taken up by slacks
    if beyond > 1e-14 * problem.mass:
        return None
    feasible = _take_up(problem, np.clip(moved, columns.lower, columns.upper), inside)
    missing = problem.targets - problem.times(feasible)
    left = _find_relative_miss(problem, feasible, missing)
    if not left <= _ROUNDING:
        return None
    rest = meet_remainder(problem, weights, feasible, solve)
    return None if rest is None else _Repaired(feasible, correction, left, rest)


def _take_up(problem: DualProblem, x: FloatArray, inside: BoolArray) -> FloatArray:
    """Return x with what rows still miss in the slacks that are free to take it: of intervals, then of soft rows."""
    first, found = problem.columns.linear_slice.start, x.copy()
    for own in (first + np.flatnonzero(inside), np.arange(problem.cells, first)):
        rows, signs = problem.slack_rows[own - problem.cells], problem.slack_signs[own - problem.cells]
        missing = problem.targets - problem.times(found)
        moved = found[own] + signs * missing[rows]
        found[own] = np.clip(moved, problem.columns.lower[own], problem.columns.upper[own])
    return found


def _find_relative_miss(problem: DualProblem, x: FloatArray, missing: FloatArray, least: float = 0.0) -> float:
    """Return the largest miss over the sum of sizes of its row, or over `least`."""
    sizes = problem.size_times(x) + np.abs(problem.targets)
    dependent = problem.matrix.dependent
    if dependent is not None:  # what follows from other rows is met as they are, to the rounding of their targets
        sizes = np.where(dependent, problem.mass, sizes)
    sizes = np.maximum(np.where(sizes > 0.0, sizes, 1.0), least)
    return float((np.abs(missing) / sizes).max(initial=0.0))


def _gap(problem: DualProblem, repaired: _Repaired, z: FloatArray, blur: FloatArray) -> float:
    """Return the gap, a sum of terms that are never negative, and what rounding of the potentials adds to it."""
    feasible, rest, columns = repaired.feasible, repaired.rest, problem.columns
    # every term is convex, so it is largest at an end of what the feasible point may be
    gap = float(np.maximum(columns.gap(feasible - rest, z), columns.gap(feasible + rest, z)).sum())
    response, give = columns.blocks[0].respond(z[: problem.cells])
    moved = np.abs(feasible[: problem.cells] - response) + rest[: problem.cells]
    # first order: `blur` times what the cells would move; second order: curvature times its square
    return gap * (1.0 + 8.0 * _UNIT) + float((moved * blur + give * blur * blur).sum())


def distance_from_gap(cells: ColumnKind, gap: float, feasible: FloatArray) -> float:
    """Return the largest sum of |feasible - answer| that a gap allows; sharp for each kind of cell."""
    if isinstance(cells, SquareColumns):
        # h'' is at least 1 / f, then Cauchy-Schwarz
        return float(np.sqrt(2.0 * gap * cells.variance.sum()))
    if isinstance(cells, LogitColumns):
        # h'' is at least 4 / (a (hi - lo))
        return float(np.sqrt(gap * (cells.rate * cells.width).sum() / 2.0))
    if not isinstance(cells, EntropyColumns):
        return float("inf")
    # notes/one_dual.md, equations 13 and 14; Pinsker would be wrong, for the two totals need not agree
    divergence = np.float64(gap / float(cells.strength.min(initial=1.0)))
    mass = float(feasible.sum())
    return float(2.0 * divergence / 3.0 + np.sqrt(4.0 * divergence**2 / 9.0 + 2.0 * mass * divergence))
