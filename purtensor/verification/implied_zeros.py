"""Zeros that the constraints imply: a vector t with C^T t >= 0, b.t = 0 and C^T t > 0 on each of them proves them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.optimize
import scipy.sparse as sp

from purtensor._interrupts import run_apart
from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.verification.elimination import MOST_WORK, correct, profiles_of
from purtensor.verification.evidence import Evidence
from purtensor.verification.exact_sums import Rows, stack_rows

# proofs of marginals have small whole numbers; larger denominators would fit rounding
_LARGEST_DENOMINATOR = 64
# some hundred ulps: what sums of float64 targets may disagree by
_ROUNDING = Fraction(1, 10**13)
_SHARPLY = 1e9
"""What b.t costs, total mass 1: a row b.t <= 0 would be met to 1e-7 only, and such a t proves nothing."""

_MOST_ENTRIES = 200_000
"""Profiles times constraints up to which proofs are sought of masses that underflowed, and may well be positive."""


@dataclass(frozen=True, slots=True, eq=False)
class Emptied:
    """The profiles without mass that no zero target excludes.

    Attributes
    ----------
    proved
        Shape (M,): those that the constraints were shown to empty, to the rounding of the targets.
    mass
        What these may have together in a table that meets the targets: 0 where they are empty exactly.
    open
        Shape (M,): the others.
    """

    proved: BoolArray
    mass: float
    open: BoolArray

    @property
    def is_full(self) -> bool:
        """Whether the table has mass wherever one that meets the targets may have some."""
        return self.mass == 0.0 and not bool(self.open.any())


def find_emptied(evidence: Evidence, underflowed: BoolArray) -> Emptied:
    """Return the status of the profiles without mass; `underflowed` marks those whose mass underflows."""
    lost = np.asarray((evidence.masses == 0) & ~evidence.excluded)
    sought = lost & ~underflowed
    # only masses that underflowed are left: were they proved empty, the bound would be finite
    if not sought.any() and lost.size * len(evidence.blocks) <= _MOST_ENTRIES:
        sought = lost
    if not sought.any():
        return Emptied(np.zeros_like(lost), 0.0, lost)
    found = prove_zeros(evidence, lost, sought)
    if found.mass == 0.0:
        return found
    # masses that underflowed are known from the potentials, and better than from what rounding leaves of b.t
    proved = np.asarray(found.proved & ~underflowed)
    return Emptied(proved, found.mass if proved.any() else 0.0, np.asarray(lost & ~proved))


def prove_zeros(evidence: Evidence, lost: BoolArray, sought: BoolArray) -> Emptied:
    """Return which profiles without mass, those that are `sought` above all, the constraints are shown to empty.

    One linear program proposes t, bounded by 1 and positive on as many of the profiles as it can; t is rounded to small
    fractions, and only what these prove in exact arithmetic counts: since every solution p has p.(C^T t) = b.t, a
    profile with (C^T t)_i > 0 has at most the mass b.t / (C^T t)_i, and b.t must be 0 to the rounding of the targets.
    """
    allowed = ~evidence.excluded
    rows = stack_rows(evidence, allowed)
    nothing = Emptied(np.zeros_like(lost), 0.0, lost)
    proposed = _propose(rows, evidence.total, np.flatnonzero(sought[allowed]))
    if proposed is None:
        return nothing
    # the solver's rounding is no proof; a small fraction next to it can be checked exactly
    t = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in proposed.tolist()]
    sums = [sum((t[row] for row in column), Fraction(0)) for column in rows.index.T.tolist()]
    value = sum((a * b for a, b in zip(t, imply_targets(rows), strict=True)), Fraction(0))
    if min(sums) < 0 or abs(value) > _ROUNDING * Fraction(evidence.total):
        return nothing
    proved = np.zeros_like(lost)
    proved[allowed] = [cost > 0 for cost in sums]
    proved &= lost
    # p . (C^T t) = b.t, so together they have at most b.t / min (C^T t)
    least = min((cost for cost, on in zip(sums, proved[allowed].tolist(), strict=True) if on), default=Fraction(1))
    return Emptied(proved, float(abs(value) / least) * (1 + 2.0**-50), lost & ~proved)


def imply_targets(rows: Rows) -> list[Fraction]:
    """Return the targets of all rows that those of independent rows imply, of the named ones first.

    Targets that contradict each other may say 0 of b.t where those that the projection meets say 1e-16. On problems
    too large for elimination they are taken as they were given.
    """
    given, profiles = [Fraction(target) for target in rows.targets.astype(np.float64).tolist()], rows.index.shape[1]
    if len(given) ** 2 * profiles > MOST_WORK:
        return given
    served, members = rows.served.tolist(), profiles_of(rows.index, len(given), np.arange(profiles))
    nothing = [Fraction(0)] * profiles
    # any solution of the independent rows says what all others are to sum to, be it positive or not
    solution = correct([members[row] for row in served], [given[row] for row in served], nothing).added
    return [sum((solution.get(profile, Fraction(0)) for profile in own), Fraction(0)) for own in members]


def _propose(rows: Rows, total: float, zeros: IntArray) -> FloatArray | None:
    """Return t that maximises the sum over the zeros of min(C^T t, 1) less what b.t costs, with C^T t >= 0."""
    transposed = rows.matrix(np.ones(rows.index.shape[1], dtype=bool)).T
    (profiles, count), extra = transposed.shape, len(zeros)
    targets = rows.targets.astype(np.float64) / total
    capped = sp.csr_array((np.ones(extra), (zeros, np.arange(extra))), shape=(profiles, extra))
    found = run_apart(  # it does not hear Ctrl-C
        lambda: scipy.optimize.linprog(
            np.concatenate([_SHARPLY * targets, -np.ones(extra)]),
            A_ub=sp.hstack([-transposed, capped]),
            b_ub=np.zeros(profiles),
            # where rounding makes b.t negative, t would grow without end
            bounds=[(-100, 100)] * count + [(0, 1)] * extra,
            method="highs",
        )
    )
    return found.x[:count] if found.x is not None else None
