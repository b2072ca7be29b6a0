"""A proved bound on the distance of an iterate to the exact projection.

With independent rows C_i solve (C_i diag(p) C_i^T) m = b - C_i p and set w = C_i^T m. If w >= -1, then p (1 + w)
meets the constraints, and since p lies in the exponential family of the projection q, D(q || p) is at most
B = sum p phi(w) with phi(w) = (1 + w) log(1 + w) - w. The dual at m bounds D(q || p) from below; the gap G between
the two bounds D(p (1 + w) || q) (notes/certificate.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.certificate import unevenness
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.iterate import Iterate
from purtensor.solving.masses import change_sums, changed, measured, weighed
from purtensor.solving.problem import Problem
from purtensor.solving.raised import FLOORS, even_shares

_MOST_REFINEMENTS = 20
_UNIT = 2.0**-53

NEGLIGIBLE = 64 * 2.0**-52
"""The miss, total mass 1, up to which a point counts as feasible: by so much may dependent targets disagree."""


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What is proved of an iterate p: D(q || p) <= bound and TV(q, p) <= tv_bound for the exact projection q.

    Attributes
    ----------
    bound
        Nats; inf when nothing is proved.
    tv_bound
        Total variation; 1 when nothing is proved.
    """

    bound: float
    tv_bound: float

    @property
    def certified(self) -> bool:
        """Whether anything is proved."""
        return self.bound < float("inf")


UNPROVED = Certificate(float("inf"), 1.0)
"""Nothing is proved."""


class Certifier(Protocol):
    """Computes certificates for one problem."""

    def certify(self, iterate: Iterate) -> Certificate:
        """Return what can be proved of this iterate."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DualCertifier:
    """Proves bounds by a feasible point next to the iterate and the dual below it."""

    problem: Problem

    def certify(self, iterate: Iterate) -> Certificate:
        """Return what can be proved of this iterate; it costs about one Newton step.

        The bounds take in the rounding of the masses themselves: each is reference * exp(C^T t) to a relative
        error of some units in the last place times the potentials that it sums.
        """
        problem = self.problem
        mass = float(iterate.masses.sum())
        if not 0.0 < mass < float("inf"):
            return UNPROVED
        proof = self._proof(iterate, mass, iterate.masses)
        if proof.certified:
            return proof
        shares = even_shares(problem)
        for floor in FLOORS:
            proof = self._proof(iterate, mass, iterate.masses + floor * shares)
            if proof.certified:
                break
        return proof

    def _proof(self, iterate: Iterate, mass: float, weights: FloatArray) -> Certificate:
        """Return what the change proves that is solved for with these weights in the place of the masses."""
        problem = self.problem
        found = feasible_change(problem, iterate.masses, problem.total / mass, weights)
        if found is None:
            return UNPROVED
        lowest, upper, gap, moved = change_sums(problem, iterate.masses, found.potentials)
        upper = with_unevenness(upper / mass, found.unevenness**2 / problem.total)
        left = found.left / problem.total
        if not _is_feasible(lowest, left):
            return UNPROVED
        return Certificate(*proved(lowest, upper, gap / mass, moved / mass, left, self._rounding(iterate)))

    def _rounding(self, iterate: Iterate) -> float:
        """Return how far, in total variation, rounding can have moved the masses off their potentials."""
        problem = self.problem
        return _UNIT * (4.0 + weighed(problem, iterate.masses, iterate.potentials))


def with_unevenness(upper: float, uneven: float) -> float:
    """Return what sum p phi(w) may be, at most, where the misses that are left are `uneven`: both for a mass of 1."""
    return (math.sqrt(max(upper, 0.0)) + math.sqrt(uneven)) ** 2


def proved(lowest: float, upper: float, gap: float, moved: float, left: float, rounding: float) -> tuple[float, float]:
    """Return the bound on the divergence and that on the total variation which the sums over w prove; inf and 1 else.

    All of a total mass of 1: the sums of purtensor.kernels.certificate, the miss in L1 that refinement left, and how
    far rounding can have moved the masses off their potentials.
    """
    if not _is_feasible(lowest, left):
        return float("inf"), 1.0
    away = rounding + left
    tv = min(np.sqrt(max(upper, 0.0) / 2), moved / 2 + np.sqrt(max(gap, 0.0) / 2)) + away
    return float(upper + 2 * tv * away + away**2), float(min(1.0, tv))


def _is_feasible(lowest: float, left: float) -> bool:
    """Tell whether p (1 + w) is a distribution that meets the targets to rounding; not where a number is NaN."""
    return lowest >= -1.0 and left <= NEGLIGIBLE


class Change(NamedTuple):
    """A point that meets the targets to rounding, next to an iterate.

    Attributes
    ----------
    potentials
        m of its masses p (1 + C^T m).
    left
        The sum of the misses in the worst constraint.
    unevenness
        The root of the sum of miss^2 / max(target, miss): what they are in nats, for a miss of rounding is large for a
        small target.
    """

    potentials: FloatArray
    left: float
    unevenness: float


def feasible_change(problem: Problem, masses: FloatArray, scale: float, weights: FloatArray) -> Change | None:
    """Return m such that scale * masses * (1 + C^T m) meets the targets, and what rounding leaves of the misses.

    Solved by one factorisation, of C diag(weights) C^T with weights close to the masses, and iterative refinement until
    the unevenness no longer halves; None where a miss is no number.
    """
    sums, moved = np.empty(problem.system.rows), np.empty_like(masses)
    measured(problem, masses, sums)
    potentials, factored = hessian_of(problem).factor_and_solve(weights, problem.targets / scale - sums)
    best: Change | None = None
    for _ in range(_MOST_REFINEMENTS):
        changed(problem, masses, potentials, scale, moved)
        _, left = measured(problem, moved, sums)
        missed = problem.targets - sums
        uneven = math.sqrt(unevenness(missed, problem.targets))
        if not np.isfinite(left + uneven) or (best is not None and uneven > 0.5 * best.unevenness):
            break
        best = Change(potentials, left, uneven)
        potentials = potentials + factored.solve(missed / scale)
    return best
