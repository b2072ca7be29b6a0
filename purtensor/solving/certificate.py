"""A proved bound on the distance of an iterate to the exact projection.

With independent rows C_i solve (C_i diag(p) C_i^T) m = b - C_i p and set c = p C_i^T m. What p + c still misses, known
to twice the digits, is realised exactly on a basis of profiles. So p^ = p + c + e meets the constraints, and since p
lies in the exponential family of the projection q, D(q || p) <= D(p^ || p), while the dual at m bounds D(p^ || q) from
above (notes/certificate.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from purtensor.solving.hessian.factored import FLOORS
from purtensor.solving.iterate import Iterate
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.spaces.space import C, CertifiableSpace, P, Sums

_MOST_REFINEMENTS = 20
# covers the rounding of the few operations in `bound_distances`; the sums come rounded up already
_UPWARD = 1.0 + 2.0**-40

_SUMMED = 2.0**-46
"""The share of a total by which it may be wrong where up to 2^30 masses are added up in pairs."""

_GOOD = 1e-6
"""The rest of the misses, in nats, by which a first solution is as good as a refined one: a share of the bound."""

_ROUNDING = 2.0**-104
"""In nats, total mass 1: a distance of 2^-52, which is the rounding of the masses."""


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What is proved of an iterate p: D(q || p) <= bound and TV(q, p) <= tv_bound for the exact projection q.

    Attributes
    ----------
    bound
        Nats; inf when nothing is proved.
    tv_bound
        Total variation; 1 when nothing is proved.
    log_ratio_bound
        The largest |log(q / p)| of a profile, where it was requested; else inf.
    """

    bound: float
    tv_bound: float
    log_ratio_bound: float = float("inf")

    @property
    def certified(self) -> bool:
        """Whether anything is proved."""
        return self.tv_bound < 1.0 or self.bound < float("inf")

    def or_better(self, other: Certificate) -> Certificate:
        """Return the smaller bounds of two certificates of one point: both are proved."""
        return Certificate(min(self.bound, other.bound), min(self.tv_bound, other.tv_bound))


UNPROVED = Certificate(float("inf"), 1.0)
"""Nothing is proved."""


class Certifier(Protocol):
    """Computes certificates for one problem."""

    def certify(self, iterate: Iterate) -> Certificate:
        """Return what can be proved of this iterate."""
        ...


def certify(
    space: CertifiableSpace[P, C], point: P, floors: Sequence[float] = FLOORS, kept: list[C] | None = None
) -> Certificate:
    """Return what can be proved of a point's masses over their sum; `kept` gets the changes that prove most.

    The bounds take in the rounding of the masses themselves: each is reference * exp(C^T t) to a relative
    error of some units in the last place times the potentials that it sums.
    """
    mass = space.mass(point)
    if not 0.0 < mass < float("inf"):
        return UNPROVED
    # far from the total the change would be mostly a constant; made anew from potentials, masses would be others
    point, apart = space.scale_point(point)
    # any change proves what its own p^ does: raised masses are tried where p^ would be negative
    for floor in (0.0, *floors):
        proof = _prove(space, point, floor, apart, [] if kept is None else kept)
        if proof.certified:
            return proof
    return UNPROVED


def _prove(space: CertifiableSpace[P, C], point: P, floor: float, apart: float, kept: list[C]) -> Certificate:
    """Return the best of what the changes prove that refinement gives, until one is as good as it gets.

    The masses of the point differ from those that the bounds are about by a share of `apart` at most.
    """
    best, change = UNPROVED, space.first_change(point, floor)
    least = float("inf")
    for _ in range(_MOST_REFINEMENTS):
        if change is None or not change.uneven < 0.5 * least:  # also where it is not a number
            break
        least = change.uneven
        sums = space.sums(point, change)
        if sums is None:
            break
        proof = bound_distances(sums, apart)
        if proof.tv_bound < best.tv_bound or not best.certified:
            kept.append(change)
        best = best.or_better(proof)
        # in nats what is still missed counts by its square over the target (notes/certificate.md, equation 10)
        enough = max(_GOOD * sums.divergence, _ROUNDING) * space.total
        if proof.certified and (sums.settled or least**2 <= enough):
            break
        change = space.refine(change)
    return best


def best_change(space: CertifiableSpace[P, C], point: P, floor: float = 0.0) -> C | None:
    """Return the change that makes a point feasible, refined until the unevenness no longer halves; None without."""
    found = changes(space, point, floor)
    return found[-1] if found else None


def changes(space: CertifiableSpace[P, C], point: P, floor: float) -> list[C]:
    """Return the changes that make a point feasible, each refined from the one before, until they no longer halve."""
    change = space.first_change(point, floor)
    found: list[C] = []
    for _ in range(_MOST_REFINEMENTS):
        if change is None or not np.isfinite(change.left + change.uneven):
            break
        # not halved means that its square has not fallen to a quarter: what is left is rounding
        if found and change.uneven > 0.5 * found[-1].uneven:
            break
        found.append(change)
        change = space.refine(change)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class DualCertifier:
    """Proves bounds for a problem in memory."""

    problem: Problem

    def certify(self, iterate: Iterate) -> Certificate:
        """Return what can be proved of this iterate."""
        return certify(ArraySpace(self.problem), iterate)


def bound_distances(sums: Sums, apart: float = 0.0) -> Certificate:
    """Return what a feasible point proves (notes/certificate.md, equations 8, 9, 17 and 18).

    The bounds are about masses that differ from those next to it by shares of up to `apart`, beside a common factor.
    """
    if not (sums.feasible and np.isfinite(sums.divergence + sums.gap + sums.distance)):
        return UNPROVED
    near = math.sqrt(0.5 * sums.gap)  # the total variation between the feasible point and the projection
    distance = sums.distance + near + apart
    # a relative error r of the masses changes the divergence from a nearby q to second order only, by 2 r sqrt(G / 2)
    bound = (sums.divergence + 2.0 * sums.rounding * near + 2.0 * apart * (distance + _SUMMED)) * _UPWARD
    # by way of the feasible point, or by Pinsker's inequality from p (notes/certificate.md, equation 5)
    tv_bound = min(1.0, distance * _UPWARD, (math.sqrt(0.5 * bound) + sums.beside) * _UPWARD)
    # where a table that meets the targets may have mass and p has none, no divergence from p is finite
    return Certificate(bound if sums.full else float("inf"), tv_bound)
