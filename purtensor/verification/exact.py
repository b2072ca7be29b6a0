"""The same figures without a rounding: the float64 numbers of a result taken as exact, and every answer enclosed.

The potentials define a point p* = reference exp(C^T t) of the exponential family, which is enclosed; near it lies a
table p^ of fractions that meets the independent rows exactly; their divergence bounds that of the exact projection, and
the table's rounding off p* is added (notes/verification.md, equations 10 to 12).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor.errors import InvalidOptionError
from purtensor.verification.bounds import DISAGREEMENT, Proof, prove
from purtensor.verification.elimination import MOST_WORK, correct, profiles_of
from purtensor.verification.enclosures import Interval, exp_enclosure, float_above, log_enclosure, root_above
from purtensor.verification.evidence import Evidence
from purtensor.verification.implied_zeros import Emptied
from purtensor.verification.point import SAME_TOTAL

_DISAGREEMENT = Fraction(DISAGREEMENT)
_ZERO = Fraction(0)
_LARGEST_EXPONENT = 10_000
"""Tilted masses beyond exp of this limit prove nothing, and would have that many digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """What is recomputed; the fields are those of a Verification, and `keeps_named` that of a Proof."""

    residual: float
    residual_l1: float
    membership: float
    bound: float
    tv_bound: float
    log_ratio_bound: float = float("inf")
    keeps_named: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Exact:
    """The problem on the profiles with mass, in fractions of the total, the table's own where that is another.

    Attributes
    ----------
    reference, masses, exponents
        One a profile: the reference, the table, and C^T t.
    """

    reference: list[Fraction]
    masses: list[Fraction]
    exponents: list[Fraction]


def enclose(evidence: Evidence, emptied: Emptied) -> Figures:
    """Return the figures of the float64 numbers taken as exact, enclosed and rounded up: none is below the true one.

    Raises
    ------
    InvalidOptionError
        The problem is too large for it.
    """
    count = sum(len(block.targets) for block in evidence.blocks)
    if count**2 * len(evidence.masses) > MOST_WORK:
        raise InvalidOptionError(
            f"exact=True supports small problems only: {count} rows squared times {len(evidence.masses)} profiles are "
            "more "
            f"than {MOST_WORK}; verify without exact=True"
        )
    total = _sum(_fractions(evidence.blocks[0].targets))
    misses = _misses(evidence, total)
    residual = float_above(max(max(miss) for miss in misses))
    residual_l1 = float_above(max(map(_sum, misses)))
    on = evidence.masses > 0
    if not on.any() or not np.isfinite(evidence.exponents[on]).all():
        return Figures(residual, residual_l1, float("inf"), float("inf"), 1.0)
    problem = _exact_problem(evidence, total)
    # the point p* of equations 10 to 12, enclosed: its exponents are sums of float64 numbers, thus exact
    family = [exp_enclosure(e).times(r) for e, r in zip(problem.exponents, problem.reference, strict=True)]
    # |p / x - 1| is convex in 1/x, so it is largest at an end of the interval of x
    membership = max(
        max(abs(mass / point.low - 1), abs(mass / point.high - 1))
        for mass, point in zip(problem.masses, family, strict=True)
    )
    # floats propose a point and tilts; of what they prove the log ratio is kept, and all where p^ proves no more
    with np.errstate(all="ignore"):
        proof = prove(evidence, emptied)
    distances = proof.bound, proof.tv_bound
    if emptied.is_full:  # else the divergence is infinite, and the distance bounded in extended precision
        distances = _distances(total, problem, proof, family, membership)
    return Figures(residual, residual_l1, float_above(membership), *distances, proof.log_ratio_bound, proof.keeps_named)


def _misses(evidence: Evidence, total: Fraction) -> list[list[Fraction]]:
    masses = _fractions(evidence.masses)
    misses = []
    for block in evidence.blocks:
        left = _fractions(block.targets)
        for row, mass in zip(block.row.tolist(), masses, strict=True):
            left[row] -= mass
        misses.append([abs(miss) / total for miss in left])
    return misses


def _exact_problem(evidence: Evidence, total: Fraction) -> _Exact:
    on = np.flatnonzero(evidence.masses > 0)
    exponents = [_ZERO] * len(on)
    for block in evidence.blocks:
        potentials = _fractions(block.potentials[block.row[on]])
        exponents = [e + potential for e, potential in zip(exponents, potentials, strict=True)]
    if evidence.logarithms is not None:
        exponents = [e + log for e, log in zip(exponents, _fractions(evidence.logarithms[on]), strict=True)]
    masses = _fractions(evidence.masses[on])
    # a member of the family times a constant is one: as in `Point.of`, the table is given the total of the targets
    size = _sum(masses)
    unit = size if abs(size - total) > Fraction(SAME_TOTAL) * total else total
    return _Exact(
        [value / unit for value in _fractions(evidence.reference[on])], [mass / unit for mass in masses], exponents
    )


def _distances(
    total: Fraction, problem: _Exact, proof: Proof, family: list[Interval], membership: Fraction
) -> tuple[float, float]:
    """Return the bounds in divergence and in total variation; inf and 1 where nothing is proved."""
    feasible = _meet_rows(total, proof)
    # the last term of equation 12 divides by 1 - membership
    if not feasible or membership >= 1:
        return float("inf"), 1.0
    logs = [
        log_enclosure(p / r).plus(-e) if p else Interval(_ZERO, _ZERO)  # 0 log 0 = 0
        for p, r, e in zip(feasible, problem.reference, problem.exponents, strict=True)
    ]
    upper = _divergence(feasible, logs, family)
    tilts = _tilts(proof)
    if max(abs(e + tilt) for e, tilt in zip(problem.exponents, tilts, strict=True)) > _LARGEST_EXPONENT:
        tilts = [_ZERO] * len(tilts)  # any tilts prove a bound; exponentials of such numbers fill the memory
    tilted = [
        exp_enclosure(e + tilt).times(r) for e, tilt, r in zip(problem.exponents, tilts, problem.reference, strict=True)
    ]
    gap = _divergence(feasible, [log.plus(-tilt) for log, tilt in zip(logs, tilts, strict=True)], tilted)
    size = _sum(problem.masses)
    table = [mass / size for mass in problem.masses]
    # TV(q, table) <= TV(p^, table) + TV(p^, q), the second by Pinsker's inequality from G
    by_gap = _distance(feasible, table) + root_above(gap / 2)
    by_divergence = root_above(upper / 2) + _drift(table, family)
    tv = min(by_gap, by_divergence, Fraction(1))
    # D(q || table) = D(q || p*) + sum (q - table) log(p* / table) - D(table || p*)
    return float_above(upper + 2 * tv * membership / (1 - membership)), float_above(tv)


def _meet_rows(total: Fraction, proof: Proof) -> list[Fraction]:
    """Return a table next to that of the proof, which meets the independent rows exactly; empty if none was found."""
    if not np.isfinite(proof.masses).all():
        return []
    # what clipping takes is met by the elimination that follows
    near, rows = [max(mass / total, _ZERO) for mass in _fractions(proof.masses)], proof.rows
    # a row without profiles but with a target cannot be met, and shows up as a disagreement
    members = profiles_of(rows.index, len(rows.targets), np.arange(len(near)))
    misses = [
        target / total - _sum(near[i] for i in own)
        for own, target in zip(members, _fractions(rows.targets), strict=True)
    ]
    # those that are named come first, as in what floats prove
    served = rows.served.tolist()
    correction = correct([members[row] for row in served], [misses[row] for row in served], near)
    for profile, value in correction.added.items():
        near[profile] += value
    # a negative mass is no table; targets that disagree by more than rounding have no projection
    if min(near) < 0 or correction.disagreement > _DISAGREEMENT:
        return []
    return near


def _tilts(proof: Proof) -> list[Fraction]:
    """Return C^T m in fractions: any m gives a valid gap, the one of the proof a small one."""
    potentials = [Fraction(*value.as_integer_ratio()) for value in proof.potentials]
    return [_sum(potentials[row] for row in rows) for rows in proof.rows.index.T.tolist()]


def _divergence(p: list[Fraction], logs: list[Interval], point: list[Interval]) -> Fraction:
    """Return the upper end of sum p log(p / point) - p + point."""
    terms = (log.times(mass).plus(-mass) + other for mass, log, other in zip(p, logs, point, strict=True))
    return max(_ZERO, _sum(term.high for term in terms))


def _distance(p: list[Fraction], q: list[Fraction]) -> Fraction:
    return _sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def _drift(table: list[Fraction], family: list[Interval]) -> Fraction:
    """Return the upper end of the total variation between the table and the family's point divided by its total."""
    low, high = _sum(point.low for point in family), _sum(point.high for point in family)
    farthest = (
        max(abs(mass - point.low / high), abs(mass - point.high / low))
        for mass, point in zip(table, family, strict=True)
    )
    return _sum(farthest) / 2


def _fractions(values: npt.NDArray[Any]) -> list[Fraction]:
    return [Fraction(*value.as_integer_ratio()) for value in values]


def _sum(values: Iterable[Fraction]) -> Fraction:
    return sum(values, _ZERO)
