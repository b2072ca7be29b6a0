"""How far the exact projection can be from a table, proved by a point that meets the constraints exactly.

With A = diag(b)^(-1/2) C diag(p)^(1/2) the least-norm solution v of A v = diag(b)^(-1/2) (b - C p) is A^T y for some y.
Then w = C^T diag(b)^(-1/2) y, and p (1 + w) meets the constraints up to rounding (notes/verification.md, equations 2 to
4). What it misses, known exactly, is met on a basis of profiles that take all that is left; how far rounding may have
moved the point from one that meets the constraints exactly is bounded profile by profile (equations 5 to 9). So nothing
that is proved hangs on the rank that rounding left to A, and the best of several proofs counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import BoolArray, FloatArray
from purtensor.verification.evidence import Evidence, LongArray
from purtensor.verification.exact_sums import EPS, Rows, is_row, stack_rows
from purtensor.verification.implied_zeros import Emptied
from purtensor.verification.least_norm import MOST_DENSE, Solver, solvers
from purtensor.verification.log_ratio import log_ratio_from, norm_of_projection
from purtensor.verification.point import Point, reach_of_zeros
from purtensor.verification.repair import Repair, Repaired, repair_of
from purtensor.verification.series import excess, gap_terms

_MOST_REFINEMENTS = 8
_MOST_FITS = 3
_LIGHT = 1e-40
"""Profiles with a smaller share of the mass are not changed: w would be dominated by rounding there."""

DISAGREEMENT = 64 * 2.0**-52
"""By so much of the total mass, in one constraint, may targets that depend on others contradict them."""

_UPWARD = 1 + 2.0**-30
"""Makes up for the rounding of sums in extended precision, none of whose terms is negative."""


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """What is proved: D(q || table) <= bound nats and TV(q, table) <= tv_bound, inf and 1 when nothing is.

    Attributes
    ----------
    masses
        A table next to the one with these potentials, that meets the constraints; one number per profile with mass.
    potentials
        m, one per row of `rows`: the table is about p exp(C^T m).
    log_ratio_bound
        |log(q / table)| is no larger on any profile with mass; inf where nothing is proved.
    keeps_named
        Whether the rows that the claims name are a maximal independent set, and q the projection onto their targets;
        None where they name none, or where it could not be decided.
    """

    bound: float
    tv_bound: float
    masses: LongArray
    potentials: LongArray
    rows: Rows
    log_ratio_bound: float = float("inf")
    keeps_named: bool | None = None


def prove(evidence: Evidence, emptied: Emptied) -> Proof:
    """Return what points that meet the constraints prove of the table."""
    problem = _Problem.of(evidence, emptied)
    best = problem.nothing
    if problem.repair is not None:
        # float64 does not show which rank is right, which need not be known: every proof is valid, the best is kept
        for solver in solvers(problem.rows, problem.point.masses, problem.heavy):
            potentials = _least_change(problem.rows, problem.point.masses, problem.heavy, solver)
            best = _better(best, _prove_change(problem, potentials, solver))
    return best


def prove_with(evidence: Evidence, emptied: Emptied, witness: Sequence[FloatArray]) -> Proof:
    """Return what is proved by potentials that are given, one array per constraint: no equations are solved.

    Any potentials serve; those of rows without a number count as 0.
    """
    problem = _Problem.of(evidence, emptied)
    # rows without a profile and without a target are no rows of the problem, here as in `stack_rows`
    given = [own[is_row(block, problem.on)] for block, own in zip(evidence.blocks, witness, strict=True)]
    potentials = np.nan_to_num(np.concatenate(given).astype(np.longdouble), nan=0.0)
    if problem.repair is None:
        return problem.nothing
    small = len(potentials) * len(problem.heavy) <= MOST_DENSE  # then a fit of the dual to what meets the rows is cheap
    solver = next(solvers(problem.rows, problem.point.masses, problem.heavy)) if small else None
    return _prove_change(problem, potentials, solver)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """What is to be proved, on the profiles that the projection may have mass on.

    Attributes
    ----------
    on
        Shape (M,): these among the profiles of the evidence: all with mass, and those without any that are not proved
        to be empty. Without the latter rows may depend on each other that do not on all profiles, and what their
        targets differ by would be taken for rounding.
    heavy
        Those that have more than next to no mass.
    zeros, rest
        What profiles that are empty to the rounding of the targets have at most, and how far this may move each mass.
    """

    on: BoolArray
    point: Point
    rows: Rows
    heavy: BoolArray
    repair: Repair | None
    zeros: float
    rest: FloatArray
    is_full: bool
    norm: float

    @classmethod
    def of(cls, evidence: Evidence, emptied: Emptied) -> _Problem:
        on = np.asarray((evidence.masses > 0) | emptied.open)
        rows, point = stack_rows(evidence, on), Point.of(evidence, on)
        heavy = np.asarray(point.masses > _LIGHT * point.masses.sum())
        repair = repair_of(rows, evidence.masses[on]) if point.masses.any() else None
        rest = reach_of_zeros(evidence, emptied, on, rows, repair)
        norm = float("inf")
        # where the projection may have mass and the table has none, the log ratio is infinite: no norm is needed
        if repair is not None and not emptied.open.any():
            members, rounding = point.members.astype(np.float64), float(point.rounding.max(initial=0))
            norm = norm_of_projection(rows, repair.basis, members, rounding + 2.0**-53)
        return cls(on, point, rows, heavy, repair, emptied.mass, rest, emptied.is_full, norm)

    @property
    def nothing(self) -> Proof:
        # on fewer profiles than the support, rows may depend on each other that do not on all
        keeps_named = None if self.repair is None or not self.is_full else self.repair.keeps_named
        potentials = np.zeros_like(self.rows.targets)
        return Proof(float("inf"), 1.0, self.point.masses, potentials, self.rows, keeps_named=keeps_named)


def _better(one: Proof, other: Proof) -> Proof:
    """Return both proofs in one: the smaller bounds, with the table that proves more."""
    # one scale for both bounds: by Pinsker's inequality the root of a divergence is a distance
    first = one.tv_bound + math.sqrt(one.bound) <= other.tv_bound + math.sqrt(other.bound)
    if math.isinf(one.bound) and math.isinf(other.bound):
        first = one.tv_bound <= other.tv_bound
    table = one if first else other
    bound, tv_bound = min(one.bound, other.bound), min(one.tv_bound, other.tv_bound)
    log_ratio = min(one.log_ratio_bound, other.log_ratio_bound)
    return Proof(bound, tv_bound, table.masses, table.potentials, table.rows, log_ratio, table.keeps_named)


def _prove_change(problem: _Problem, potentials: LongArray, solver: Solver | None) -> Proof:
    """Return what the change p C^T potentials proves, what that misses being met too."""
    point, rows, heavy, repair = problem.point, problem.rows, problem.heavy, problem.repair
    assert repair is not None
    # no mass may become negative; what the clipping takes is met by the repair that follows
    change = np.where(heavy, np.maximum(point.masses * rows.spread(potentials), -point.masses), 0)
    near = repair.complete(point.masses, change)
    near = replace(near, rest=near.rest + problem.rest)
    best = replace(problem.nothing, masses=near.masses, potentials=potentials)
    # dependent rows may keep an ulp of their targets: q is the projection onto the independent ones
    agree = near.left <= DISAGREEMENT * float(point.total)
    if not (agree and bool((near.masses >= near.rest * (1 + 4 * EPS)).all()) and point.is_member):
        return best
    tilts = [potentials]
    if solver is not None:
        fitted = _tilt_onto(point, rows, heavy, near.masses, potentials, solver)
        # where a mass vanishes next to another that appears, the dual is largest half way
        tilts += [fitted, np.asarray((potentials + fitted) / 2, dtype=np.longdouble)]
    for tilt in tilts:
        # equation 8 holds for any m: the smallest of the gaps counts
        distances = _distances(problem, near, rows.spread(tilt), rows.spread(np.abs(tilt)))
        best = _better(best, replace(best, bound=distances[0], tv_bound=distances[1], potentials=tilt))
    return replace(best, log_ratio_bound=_log_ratio(problem, near, potentials))


def _log_ratio(problem: _Problem, near: Repaired, potentials: LongArray) -> float:
    """Return no less than |log(q / table)| of any profile with mass; inf where none is proved."""
    point, rows = problem.point, problem.rows
    if problem.norm == float("inf"):
        return problem.norm
    change, sizes = rows.spread(potentials), rows.spread(np.abs(potentials))
    # relative to p* = q0 exp(C^T t), not to the float64 table: only p* is exactly in the family
    w = (near.masses - point.members) / point.members
    off = np.abs(w - change) + near.rest / point.members + 2 * point.rounding * (1 + np.abs(w))
    off += 4 * EPS * (sizes + np.abs(w))
    # |log(p* / p)| <= x / (1 - x) for a relative difference x brings the bound from p* to the table
    drift = float((np.abs(point.masses - point.members) / point.members + point.rounding).max(initial=0))
    found = log_ratio_from(change.astype(np.float64), off.astype(np.float64) * _UPWARD, problem.norm)
    # of the masses as they are, not of shares
    drift += abs(float(np.log(point.scale)))
    return found + drift / (1 - drift) * _UPWARD if drift < 0.5 else float("inf")


def _tilt_onto(
    point: Point, rows: Rows, heavy: BoolArray, masses: LongArray, potentials: LongArray, solver: Solver
) -> LongArray:
    """Return potentials m for which p exp(C^T m) is closer to these masses; the bound depends on the rest."""
    # where the repaired mass is 0 its logarithm is -inf and would take over the least squares
    there = heavy & (masses > 0)
    wanted = np.log(np.where(there, masses, 1) / point.members)

    def measure_rest(potentials: LongArray) -> LongArray:
        return np.asarray(np.where(there, wanted - rows.spread(potentials), 0))

    for _ in range(_MOST_FITS):
        moved = potentials + solver.fit(measure_rest(potentials)[heavy])
        # `not <` also ends at NaN
        if not (point.masses * measure_rest(moved) ** 2).sum() < (point.masses * measure_rest(potentials) ** 2).sum():
            break
        potentials = moved
    return potentials


def _distances(problem: _Problem, near: Repaired, tilt: LongArray, size: LongArray) -> tuple[float, float]:
    """Return bounds in divergence and in total variation (notes/verification.md, equations 5 to 9)."""
    point = problem.point
    masses, members = point.masses, point.members
    w = (near.masses - members) / members
    off = near.rest / members + point.rounding * (1 + np.abs(w)) + 4 * EPS * np.abs(w)
    # both terms are convex in w, so each is largest at an end of what w may be
    ends = [np.maximum(w - off, -1), w + off]
    # `size` is C^T |m|: large potentials that cancel in C^T m leave the rounding of their sizes
    blur = 4 * EPS * size
    divergence = (members * np.maximum(*(excess(end) for end in ends))).sum()
    gap = (members * np.maximum(*(gap_terms(end, tilt, blur) for end in ends))).sum()
    # TV compares both divided by their totals, so a change in proportion to the masses counts for nothing
    change = near.masses - masses
    moved = np.abs(change - masses * (change.sum() / masses.sum())).sum() / 2
    apart = moved + near.rest.sum() + 4 * EPS * masses.sum() + problem.zeros
    tv_bound = min(1.0, float(apart / point.total + np.sqrt(max(gap, 0) / (2 * point.total))) * _UPWARD)
    if not problem.is_full:  # where the table has no mass and the projection may have some, it diverges
        return float("inf"), tv_bound if math.isfinite(tv_bound) else 1.0
    # p* and the targets are in units of the total, the bounds in those of a total of 1
    bound = float(divergence / point.total) * _UPWARD
    bound += _off_family(point, tv_bound, bound)
    if not math.isfinite(bound):
        return float("inf"), 1.0
    # Pinsker's inequality
    return bound, min(tv_bound, math.sqrt(bound / 2) * _UPWARD)


def _off_family(point: Point, tv_bound: float, bound: float) -> float:
    """Return what the table's distance from its family may add to a divergence (notes/verification.md, equation 9)."""
    # bounds |log(p* / p)|: x / (1 - x) for small x, else the logarithm itself, with 1 for its rounding
    apart = np.abs(point.masses - point.members) / point.members + point.rounding
    logs = np.where(apart < 0.5, apart / (1 - np.minimum(apart, 0.5)), np.abs(np.log(point.masses / point.members)) + 1)
    # below 2^-900 the masses lose digits, but q has next to nothing there: counted by D(q || p*) instead
    light = np.maximum(point.masses, point.members) <= np.longdouble(2) ** -900 * point.masses.sum()
    most = float(logs[~light].max(initial=0)), float(logs[light].max(initial=0))
    return 2 * tv_bound * most[0] * _UPWARD + most[1] * (max(bound, 2.0**-400) + 2.0**-800)


def _least_change(rows: Rows, masses: LongArray, heavy: BoolArray, solver: Solver) -> LongArray:
    """Return potentials m with C^T m of least p-weighted norm, refined while the miss of p (1 + C^T m) halves."""
    potentials = np.zeros_like(rows.targets)
    best, best_miss = potentials, np.inf
    for _ in range(_MOST_REFINEMENTS):
        # a miss in extended precision is what lets a float64 solver gain digits in each round
        left = rows.misses(masses, np.where(heavy, masses * rows.spread(potentials), 0))[0]
        miss = float(np.abs(left).sum())
        if not miss < best_miss / 2:
            break
        best, best_miss = potentials, miss
        if miss == 0:
            break
        potentials = potentials + solver.least(left)
    return best
