"""The figures of a projection on disk, added up piece by piece in extended precision.

What proves the bound is a witness: potentials m whose w = C^T m makes p (1 + w) all but feasible. Any potentials prove
something (notes/verification.md, equations 5 to 9), so they are taken, and no equations are solved again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.verification.evidence import LongArray, measure_membership, spacing_of
from purtensor.verification.stored import hash_rows

_ZERO = np.longdouble(0)

Fingerprint = tuple[int, int]
"""How many profiles have mass, and a hash of them that no order changes."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of one constraint: their codes in the reference's categories, potentials, and the witness of the bound.

    `named` marks those onto whose targets the bound is proved; None where the run did not say.
    """

    codes: Sequence[IntArray]
    potentials: FloatArray
    witness: FloatArray
    named: BoolArray | None


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Some profiles of a projection on disk.

    Attributes
    ----------
    codes, reference, masses
        Of the profiles: codes, the reference as it was given, and the table that is to be its projection.
    rows
        For each constraint the rows that these profiles belong to; a profile without a row has a target of 0.
    """

    codes: Sequence[IntArray]
    reference: FloatArray
    masses: FloatArray
    rows: Sequence[Rows]


@dataclass(slots=True)
class Sums:
    """Sums over the profiles of a projection in extended precision.

    `weighed_logarithms` is the sum of p log(p / reference), of which the divergence is made, `reference` the order-free
    fingerprint of the reference; `strays` counts profiles with mass that a target of 0
    excludes, and `lost` those without mass that should have some.
    """

    mass: np.longdouble = _ZERO
    reference_mass: np.longdouble = _ZERO
    weighed_logarithms: np.longdouble = _ZERO
    membership: float = 0.0
    largest_potential: float = 0.0
    strays: int = 0
    lost: int = 0
    reference: Fingerprint = (0, 0)


def add_piece(sums: Sums, piece: Piece, domain: Domain, scopes: Sequence[Sequence[str]], total: float) -> None:
    """Add the profiles of a piece to the sums; `total` is that of the targets."""
    exponents, listed = _spread(piece, domain, scopes)
    masses = piece.masses.astype(np.longdouble)
    with np.errstate(over="ignore", under="ignore"):
        members = piece.reference.astype(np.longdouble) * np.exp(exponents)
    sums.strays += int(np.count_nonzero(~listed & (masses > 0)))
    # a member that rounds to 0 is no loss
    sums.lost += int(np.count_nonzero(listed & (masses == 0) & (members > spacing_of(total))))
    on = listed & (masses > 0)
    p, f = masses[on], members[on]
    sums.mass += p.sum()
    given = piece.reference.astype(np.longdouble)
    sums.reference_mass += given.sum()
    with np.errstate(divide="ignore"):
        # not divided by the totals, which are known only after the last piece
        sums.weighed_logarithms += (p * np.log(p / given[on])).sum()
    sums.membership = max(sums.membership, measure_membership(piece.masses[on], f, total))
    finite = [np.abs(rows.potentials[np.isfinite(rows.potentials)]).max(initial=0) for rows in piece.rows]
    sums.largest_potential = max(sums.largest_potential, *map(float, finite))
    sums.reference = join_fingerprints(sums.reference, fingerprint(piece.codes, piece.reference))


def divergence_of(sums: Sums) -> float:
    """Return the divergence from the reference, each divided by its total; NaN where the table has no mass."""
    if not sums.mass > 0:
        return float("nan")
    return max(0.0, float(sums.weighed_logarithms / sums.mass - np.log(sums.mass / sums.reference_mass)))


def fingerprint(codes: Sequence[IntArray], values: FloatArray) -> Fingerprint:
    """Return the number of profiles with mass, and a hash of them and their masses that no order changes."""
    on = values > 0
    if not on.any():
        return 0, 0
    columns = [np.asarray(code, dtype=np.int64)[on] for code in codes]
    # the very bits of the masses: any change of one shows
    bits = np.ascontiguousarray(values[on], dtype=np.float64).view(np.int64)
    # hashes are added, which no order of the pieces changes
    return int(on.sum()), int(hash_rows([*columns, bits]).sum(dtype=np.uint64))


def join_fingerprints(one: Fingerprint, other: Fingerprint) -> Fingerprint:
    """Return the fingerprint of the profiles of two."""
    return one[0] + other[0], (one[1] + other[1]) % 2**64


def _spread(piece: Piece, domain: Domain, scopes: Sequence[Sequence[str]]) -> tuple[LongArray, BoolArray]:
    """Return C^T t, and which profiles have a row of every constraint, matched by label."""
    count = len(piece.masses)
    exponents, listed = np.zeros(count, dtype=np.longdouble), np.ones(count, dtype=bool)
    for scope, rows in zip(scopes, piece.rows, strict=True):
        own = [np.asarray(piece.codes[domain.position(name)], dtype=np.int64) for name in scope]
        joint = [
            np.concatenate([code, np.asarray(row, dtype=np.int64)]) for code, row in zip(own, rows.codes, strict=True)
        ]
        group, distinct = group_profiles(joint, domain.select(scope).sizes)
        # -1 stays where no row of the constraint has these labels
        place = np.full(len(distinct[0]), -1, dtype=np.int64)
        place[group[count:]] = np.arange(len(rows.potentials))
        row = place[group[:count]]
        listed &= row >= 0
        # row -1 picks the 0 at the end
        exponents += np.append(rows.potentials, 0.0).astype(np.longdouble)[row]
    return exponents, listed
