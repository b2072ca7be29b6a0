"""Targets as exact numbers: what the float64 values that came were rounded from.

Floats that were computed by divisions (shares of counts, pseudo-counts, f(y) f(s)) contradict each other in their
last digits, and taken at their word no distribution meets all of them. Where they are, to rounding, whole multiples of
one unit, or products of such marginals, and these whole numbers agree on everything that two constraints share, the
question is asked of the whole numbers. Otherwise it is asked of the floats on independent rows (notes/feasibility.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.system import System, joint_groups

ROUNDING = 64 * Fraction(1, 2**52)
"""What a sum of float64 may have lost, as a share: consistency is judged by the same."""

# a quotient, a product and some sums lose less; half of what consistency allows
_CLOSE = 32 * float(np.finfo(np.float64).eps)
# up to here 32 eps of the largest is less than a unit, and sums of units are exact in float64
_MOST_UNITS = 2**46
_SAMPLE = 64
_LONGEST_PRODUCT = 8


@dataclass(frozen=True, slots=True, eq=False)
class ExactTargets:
    """Targets as whole numbers over one denominator; they sum to the denominator in every constraint.

    Attributes
    ----------
    numerators
        Shape (D,): Python's own whole numbers.
    denominator
        What the numerators of the first constraint sum to: the total mass is 1.
    exact
        Whether the numbers agree on all that constraints share. If not they are the floats themselves, a statement is
        of independent rows, and differences within `ROUNDING` are rounding.
    """

    numerators: IntArray
    denominator: int
    exact: bool

    def dot(self, weights: IntArray) -> Fraction:
        """Return b.t exactly, for one whole number per row; the total mass is 1."""
        used = np.flatnonzero(weights)
        values = self.numerators[used] * weights[used].astype(object)
        return Fraction(int(values.sum()), self.denominator) if len(used) else Fraction(0)

    def rounding(self, weights: IntArray) -> Fraction:
        """Return how far from 0 a value of `dot` may be and still be rounding; 0 where targets are exact."""
        return Fraction(0) if self.exact else ROUNDING * self.dot(np.abs(weights))

    def select(self, rows: IntArray) -> ExactTargets:
        """Return the targets of some rows; those left out are zeros."""
        return ExactTargets(self.numerators[rows], self.denominator, self.exact)


def read_targets(system: System, units: Sequence[float] = ()) -> ExactTargets:
    """Return the targets of a system as exact numbers.

    Parameters
    ----------
    system
        Its targets may have any total.
    units
        Shares of the total mass that the targets may be whole multiples of, the most likely first.
    """
    total = float(system.targets[system.block(0)].sum())
    shares = system.targets / total
    given = _as_given(system)
    if given is not None:
        return given
    for unit in itertools.chain(units, _guess_units(shares)):
        found = _multiples(system, shares, unit)
        if found is not None:
            return found
    return _floats(system)


def _floats(system: System) -> ExactTargets:
    """Return the floats themselves, over a power of two."""
    mantissas, exponents = np.frexp(system.targets)
    # 53 bits: every float64 is such a whole number times a power of two
    whole = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
    lowest = int(exponents.min(initial=0))
    numerators = whole << (exponents - lowest).astype(object)
    # a single constraint cannot be contradicted, so its floats are exact as they are
    return ExactTargets(numerators, int(numerators[system.block(0)].sum()), len(system.scopes) == 1)


def _as_given(system: System) -> ExactTargets | None:
    """Return the floats themselves where they are whole multiples of a power of two that sums of them keep exactly."""
    targets = system.targets
    total = float(targets[system.block(0)].sum())
    scale = 53 - math.frexp(total)[1]
    whole = np.ldexp(targets, scale)
    if not (np.all(whole == np.rint(whole)) and len(targets)):
        return None
    lowest = int(np.bitwise_or.reduce(whole.astype(np.int64)))
    # by the lowest bit that is set in any of them: the largest unit of which all are multiples
    whole = whole / (lowest & -lowest)
    if whole[system.block(0)].sum() > _MOST_UNITS:  # not few units: last digits of some computation
        return None
    numerators = whole.astype(np.int64).astype(object)
    kinds = [_Kind(whole[system.block(k)]) for k in range(len(system.scopes))]
    if not _agree(system, kinds):
        return None
    return ExactTargets(numerators, int(numerators[system.block(0)].sum()), True)


def _guess_units(shares: FloatArray) -> Iterator[float]:
    """Yield units that the shares suggest: parts of the smallest, and the common denominator of some."""
    if not len(shares):
        return
    sample = np.unique(shares)
    denominator = 1
    for share in sample[:: max(1, len(sample) // _SAMPLE)].tolist():
        # what the denominator so far does not explain
        rest = share * denominator % 1.0
        denominator *= Fraction(rest).limit_denominator(10**6).denominator
        if denominator > _MOST_UNITS:
            break
    if denominator <= _MOST_UNITS:
        yield 1.0 / denominator
    smallest = float(sample[0])
    for part in range(1, 61):
        yield smallest / part


def _multiples(system: System, shares: FloatArray, unit: float) -> ExactTargets | None:
    """Return the targets as multiples of about `unit`, or products of such marginals; None where they are not."""
    if not (unit > 0.0 and 1.0 / unit <= _MOST_UNITS):
        return None
    count = round(1.0 / unit)
    whole = np.rint(shares * count)
    # relative to the value, so that a small target has to be as exact as a large one
    near = np.abs(whole - shares * count) <= _CLOSE * whole
    kinds: list[_Kind | None] = [
        _Kind(whole[system.block(k)]) if near[system.block(k)].all() else None for k in range(len(system.scopes))
    ]
    if not any(kinds):  # products are of marginals that whole constraints determine
        return None
    for k, kind in enumerate(kinds):
        if kind is None:
            kinds[k] = _as_product(system, kinds, k, shares[system.block(k)], count)
    found = [kind for kind in kinds if kind is not None]
    if len(found) < len(kinds) or not _agree(system, found):
        return None
    squared = any(kind.times is not None for kind in found)
    numerators = np.concatenate([kind.numerators(count if squared else 1) for kind in found])
    return ExactTargets(numerators, count * count if squared else count, True)


class _Kind(NamedTuple):
    """Targets that are whole numbers of units, held exactly in float64, or products of two such numbers.

    Products are over the square of the total.
    """

    values: FloatArray
    times: FloatArray | None = None

    def numerators(self, factor: int) -> IntArray:
        """Return the numbers as Python has them; a factor makes whole numbers comparable with products."""
        own: IntArray = self.values.astype(np.int64).astype(object)
        return own * (factor if self.times is None else self.times.astype(np.int64).astype(object))


def _as_product(system: System, kinds: Sequence[_Kind | None], k: int, shares: FloatArray, count: int) -> _Kind | None:
    """Return constraint k as a product of marginals that integer constraints determine, or None if it is not one."""
    scope = system.scopes[k]
    if len(scope) > _LONGEST_PRODUCT:
        return None
    whole = {j: kind for j, kind in enumerate(kinds) if kind is not None and kind.times is None}
    for size in range(1, len(scope)):
        for names in itertools.combinations(scope, size):
            # each split in two is tried once, the first attribute being in the first part
            if scope[0] not in names:
                continue
            others = tuple(name for name in scope if name not in names)
            factors = [_marginal_at_rows(system, whole, k, part, shares * count) for part in (names, others)]
            if factors[0] is None or factors[1] is None:
                continue
            # f(y) f(s): both factors are shares of the same total
            product = factors[0] / count * (factors[1] / count)
            if np.all(np.abs(product - shares) <= _CLOSE * shares):
                return _Kind(factors[0], factors[1])
    return None


def _marginal_at_rows(
    system: System, whole: dict[int, _Kind], k: int, names: tuple[str, ...], own: FloatArray
) -> FloatArray | None:
    """Return the marginal over `names` at the rows of constraint k, in whole numbers of units.

    It comes from a whole constraint, or else from constraint k itself, whose values `own` are in units; None where
    those do not sum to whole numbers.
    """
    source = next((j for j in whole if set(names) <= set(system.scopes[j])), None)
    if source is not None:
        group, sizes = joint_groups(system, (source, k), names)
        sums: FloatArray = np.bincount(group[: sizes[0]], whole[source].values, int(group.max()) + 1).astype(np.float64)
        return sums[group[sizes[0] :]]
    group, sizes = joint_groups(system, (k, k), names)
    sums = np.bincount(group[: sizes[0]], own).astype(np.float64)[group[: sizes[0]]]
    near = np.rint(sums)
    return near if np.all(np.abs(near - sums) <= _CLOSE * near) else None


def _agree(system: System, kinds: Sequence[_Kind]) -> bool:
    """Return whether all constraints agree exactly on every marginal that two of them share, and on the total."""
    squared = any(kind.times is not None for kind in kinds)
    factor = int(next(kind.values.sum() for kind in kinds if kind.times is None)) if squared else 1
    for one, two in itertools.combinations(range(len(kinds)), 2):
        names = [name for name in system.scopes[one] if name in system.scopes[two]]
        group, sizes = joint_groups(system, (one, two), names)
        parts = np.split(group, sizes[:1])
        pair = (kinds[one], kinds[two])
        if all(kind.times is None for kind in pair):
            sums = [
                np.bincount(part, weights=kind.values, minlength=int(group.max()) + 1)
                for kind, part in zip(pair, parts, strict=True)
            ]
        else:
            sums = [_exact_sums(kind.numerators(factor), part) for kind, part in zip(pair, parts, strict=True)]
        if not np.array_equal(sums[0], sums[1]):
            return False
    return True


def _exact_sums(values: IntArray, group: IntArray) -> Any:
    """Return the sums of Python's whole numbers over the groups that have one, which every group has on both sides."""
    order = np.argsort(group, kind="stable")
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.array([*zip(group[order][begins].tolist(), np.add.reduceat(values[order], begins), strict=True)], object)
