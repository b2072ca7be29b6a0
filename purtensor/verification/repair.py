"""What a table still misses, met by changes of heavy profiles: in fractions where that is cheap, else on a basis."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.verification.elimination import MOST_WORK, correct, profiles_of
from purtensor.verification.evidence import LongArray
from purtensor.verification.exact_sums import EPS, Rows
from purtensor.verification.spanning import Spanning, spanning_profiles

# each round gains the digits of float64 less those that the condition of the basis costs
_MOST_ROUTED = 6


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """Masses next to some that meet the independent rows exactly.

    Attributes
    ----------
    masses, rest
        No mass of those is farther than `rest` from these; infinite where one is negative.
    left
        The sum of what the dependent rows keep, in the constraint where it is largest.
    """

    masses: LongArray
    rest: LongArray
    left: float


class Repair(Protocol):
    """Makes changed masses meet the constraints."""

    @property
    def basis(self) -> Spanning | None:
        """Profiles on which any misses can be met, where they are known."""
        ...

    @property
    def keeps_named(self) -> bool | None:
        """Whether the rows that are named are a maximal independent set, and the ones met; None where undecided."""
        ...

    def complete(self, masses: LongArray, change: LongArray) -> Repaired:
        """Return what meets the independent rows, next to masses + change."""
        ...

    def reach(self, sizes: FloatArray) -> FloatArray:
        """Return by how much targets that differ by these sizes can move each mass; inf where no bound is known."""
        ...


def repair_of(rows: Rows, masses: FloatArray) -> Repair | None:
    """Return what repairs tables like this one; None where it is large and no basis is found."""
    # also for elimination: it names the profiles, and bounds how far changed targets can move each mass
    basis = spanning_profiles(rows.index, len(rows.targets), masses, rows.named)
    if len(rows.targets) ** 2 * len(masses) > MOST_WORK:
        return None if basis is None else OnBasis(rows, basis)
    return InFractions.on(rows, np.arange(len(masses)) if basis is None else np.sort(basis.used), basis)


@dataclass(frozen=True, slots=True, eq=False)
class InFractions:
    """Eliminates exactly on some profiles: the light ones that tie parts together take just what is theirs."""

    rows: Rows
    basis: Spanning | None
    served: list[list[int]]
    keeps_named: bool | None

    @classmethod
    def on(cls, rows: Rows, profiles: IntArray, basis: Spanning | None) -> InFractions:
        """Return what takes changes on these profiles; the rows that are named are served first."""
        own = profiles_of(rows.index, len(rows.targets), profiles)
        served = [own[row] for row in rows.served.tolist()]
        if rows.named is None:
            return cls(rows, basis, served, None)
        nothing = [Fraction(0)] * max(len(own), rows.index.shape[1])
        kept = correct(served, nothing, nothing).independent
        # served first, they are the ones kept if, and only if, they are independent and imply all others
        return cls(rows, basis, served, kept == tuple(range(int(rows.named.sum()))))

    def reach(self, sizes: FloatArray) -> FloatArray:
        """Return by how much targets that differ by these sizes can move each mass."""
        return np.full(self.rows.index.shape[1], np.inf) if self.basis is None else self.basis.reach(sizes)

    def complete(self, masses: LongArray, change: LongArray) -> Repaired:
        """Return what meets the independent rows, next to masses + change."""
        # extended precision numbers are binary fractions, so this loses nothing
        exact = [_fraction(mass) + _fraction(move) for mass, move in zip(masses, change, strict=True)]
        targets = [_fraction(target) for target in self.rows.targets]
        missed = list(targets)
        for own in self.rows.index:
            for profile, row in enumerate(own.tolist()):
                missed[row] -= exact[profile]
        found = correct(self.served, [missed[row] for row in self.rows.served.tolist()], exact)
        for profile, added in found.added.items():
            exact[profile] += added
        near = np.array([_nearest(mass) for mass in exact], dtype=np.longdouble)
        # rounding to extended precision is all that separates `near` from the exact masses
        rest = [0.0 if _fraction(there) == mass else EPS * there for there, mass in zip(near, exact, strict=True)]
        negative = np.array([mass < 0 for mass in exact])
        return Repaired(
            near, np.where(negative, np.inf, np.array(rest, dtype=np.longdouble)), float(found.disagreement)
        )


@dataclass(frozen=True, slots=True, eq=False)
class OnBasis:
    """Lets what is missed flow to a basis, and bounds how far rounding leaves each mass from what meets the rows."""

    rows: Rows
    basis: Spanning

    @property
    def keeps_named(self) -> bool | None:
        """Whether the rows that are named are a maximal independent set, and the ones met; None where undecided."""
        named, kept = self.rows.named, self.basis.kept
        if named is None:
            return None
        # as many other rows may be independent too, in a way that no forest of a pair of constraints shows
        return np.array_equal(kept, np.flatnonzero(named)) or (None if len(kept) == named.sum() else False)

    def reach(self, sizes: FloatArray) -> FloatArray:
        """Return by how much targets that differ by these sizes can move each mass."""
        return self.basis.reach(sizes)

    def complete(self, masses: LongArray, change: LongArray) -> Repaired:
        """Return what meets the independent rows, next to masses + change."""
        missed, rest = self._measure_misses(masses, change)
        for _ in range(_MOST_ROUTED):
            moved = np.maximum(change + self.basis.change(missed.astype(np.float64)), -masses)
            missed_then, rest_then = self._measure_misses(masses, moved)
            # rounding is reached: a further round gains nothing
            if not rest_then.sum() < 0.5 * rest.sum():
                break
            change, missed, rest = moved, missed_then, rest_then
        near = masses + change
        return Repaired(near, rest + EPS * np.abs(near), float(self.rows.by_constraint(missed).max()))

    def _measure_misses(self, masses: LongArray, change: LongArray) -> tuple[LongArray, FloatArray]:
        missed, unsure = self.rows.misses(masses, change)
        return missed, self.basis.reach((np.abs(missed) + unsure).astype(np.float64))


def _fraction(value: np.longdouble) -> Fraction:
    return Fraction(*value.as_integer_ratio())


def _nearest(value: Fraction) -> np.longdouble:
    """Return a number of extended precision within one rounding of a fraction, however small."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = value / Fraction(2) ** shift
    # two float64 parts hold 106 bits of the mantissa, more than the 64 that are kept
    high = float(scaled)
    return np.longdouble(np.ldexp(np.longdouble(high) + np.longdouble(float(scaled - Fraction(high))), shift))
