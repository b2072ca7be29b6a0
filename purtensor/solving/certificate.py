"""A proved bound on the distance of an iterate to the exact projection.

With independent rows C_i solve (C_i diag(p) C_i^T) m = b - C_i p and set w = C_i^T m. If w >= -1, then p (1 + w)
meets the constraints, and since p lies in the exponential family of the projection q, D(q || p) is at most
B = sum p phi(w) with phi(w) = (1 + w) log(1 + w) - w. The dual at m bounds D(q || p) from below; the gap G between
the two bounds D(p (1 + w) || q) (notes/certificate.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from purtensor.solving.hessian.regularized import FLOORS
from purtensor.solving.iterate import Iterate
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.spaces.space import C, CertifiableSpace, P

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


def certify(
    space: CertifiableSpace[P, C], point: P, floors: Sequence[float] = FLOORS, kept: list[C] | None = None
) -> Certificate:
    """Return what can be proved of a point; it costs about one Newton step. `kept` gets the changes that were tried.

    The bounds take in the rounding of the masses themselves: each is reference * exp(C^T t) to a relative
    error of some units in the last place times the potentials that it sums.
    """
    if not 0.0 < space.mass(point) < float("inf"):
        return UNPROVED
    for floor in (0.0, *floors):
        for change in reversed(changes(space, point, floor)):  # an earlier one where rounding takes the last to -1
            if kept is not None:
                kept.append(change)
            proof = _proof(space, point, change)
            if proof.certified:
                return proof
    return UNPROVED


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
        if found and change.uneven > 0.5 * found[-1].uneven:
            break
        found.append(change)
        change = space.refine(change)
    return found


def _proof(space: CertifiableSpace[P, C], point: P, change: C) -> Certificate:
    lowest, upper, gap, moved = space.sums(point, change)
    upper, left = with_unevenness(upper, change.uneven**2 / space.total), change.left / space.total
    if not _is_feasible(lowest, left):
        return UNPROVED
    rounding = _UNIT * (4.0 + space.weight(point))
    return Certificate(*proved(lowest, upper, gap, moved, left, rounding))


@dataclass(frozen=True, slots=True, eq=False)
class DualCertifier:
    """Proves bounds for a problem in memory."""

    problem: Problem

    def certify(self, iterate: Iterate) -> Certificate:
        """Return what can be proved of this iterate."""
        return certify(ArraySpace(self.problem), iterate)


def with_unevenness(upper: float, uneven: float) -> float:
    """Return what sum p phi(w) may be, at most, where the misses that are left are `uneven`: both for a mass of 1."""
    return (math.sqrt(max(upper, 0.0)) + math.sqrt(uneven)) ** 2


def proved(lowest: float, upper: float, gap: float, moved: float, left: float, rounding: float) -> tuple[float, float]:
    """Return the bound on the divergence and that on the total variation which the sums over w prove; inf and 1 else.

    All of a total mass of 1: the sums of purtensor.kernels.newton.certificate, the L1 miss that refinement left, and
    how far rounding can have moved the masses off their potentials.
    """
    if not _is_feasible(lowest, left):
        return float("inf"), 1.0
    away = rounding + left
    tv = min(np.sqrt(max(upper, 0.0) / 2), moved / 2 + np.sqrt(max(gap, 0.0) / 2)) + away
    return float(upper + 2 * tv * away + away**2), float(min(1.0, tv))


def _is_feasible(lowest: float, left: float) -> bool:
    """Tell whether p (1 + w) is a distribution that meets the targets to rounding; not where a number is NaN."""
    return lowest >= -1.0 and left <= NEGLIGIBLE
