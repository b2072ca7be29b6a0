"""Zeros that the constraints force, proved again by label from the whole numbers that a run on a face leaves.

Let t have C^T t >= 0 on every profile that may have mass, and b.t = 0: then those of positive C^T t are empty, for
every solution p has p.(C^T t) = b.t. The next proof is about what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.feasibility.farkas import exact_terms
from purtensor.feasibility.targets import ROUNDING
from purtensor.outofcore.result import ProvenRows, SlabEvidence
from purtensor.outofcore.targets import targets_of
from purtensor.projection.result import Projection
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.store.table import StoredTable
from purtensor.verification.stored import Profiles, Source, misses
from purtensor.verification.stored_sums import Piece, Rows


@dataclass(slots=True, eq=False)
class ProvedZeros:
    """The sums of the proofs of a face, accumulated piece by piece.

    Attributes
    ----------
    result, evidence
        What is verified, and where its numbers are.
    values, absolutes
        b.t and b.|t| of each proof so far.
    steepest
        The largest |C^T t| of each on profiles that the proofs before emptied.
    negative
        Whether a C^T t was negative on a profile that may have mass.
    differ
        Whether a piece has other numbers on the rows that all pieces have than the first one.
    coupling
        These rows of the first piece, by constraint: they count once.
    """

    result: Projection[StoredTable]
    evidence: SlabEvidence
    values: list[Fraction] = field(default_factory=list)
    absolutes: list[np.longdouble] = field(default_factory=list)
    steepest: list[int] = field(default_factory=list)
    negative: bool = False
    differ: bool = False
    coupling: dict[int, ProvenRows] = field(default_factory=dict)

    def of(self, piece: Piece) -> BoolArray:
        """Mark the profiles of a piece that the proofs empty, and take in what their rows add to b.t."""
        rows = _list_proven_rows(piece)
        proofs = max((len(one.weights) for one in rows), default=0)
        empty = np.zeros(len(piece.masses), dtype=bool)
        if not proofs:
            return empty
        while len(self.values) < proofs:
            self.values.append(Fraction(0))
            self.absolutes.append(np.longdouble(0))
            self.steepest.append(0)
        for k, one in enumerate(rows):
            # rows that couple the pieces come with each of them: they must be the same, and count once
            if k in self.coupling:
                self.differ |= not _same(one, self.coupling[k])
            else:
                terms = one.targets.astype(np.longdouble) * one.weights
                for j in range(proofs):
                    self.values[j] += sum(exact_terms(one.targets, one.weights[j]))
                    self.absolutes[j] += np.abs(terms[j]).sum()
                if k in self.evidence.store.outside:
                    self.coupling[k] = one
        listed, costs = _costs(piece, rows, self.result.reference.domain, self.evidence.store.scopes)
        for j, cost in enumerate(costs):
            # each proof needs C^T t >= 0 only where the ones before left mass
            alive = listed & ~empty & (piece.reference > 0)
            self.steepest[j] = max(self.steepest[j], int(np.abs(cost[empty]).max(initial=0)))
            self.negative |= bool((cost[alive] < 0).any())
            empty |= alive & (cost > 0)
        return empty

    def mass(self) -> float:
        """Return what the emptied profiles may have together: 0 where the targets say exactly that they are empty."""
        found = 0.0
        for value, steepest in zip(self.values, self.steepest, strict=True):
            # what earlier proofs emptied may still have mass: in b.t of a later one it counts steepest times at most
            found += (float(abs(value)) + steepest * found) * (1 + 2.0**-40)
        return found

    def hold(self) -> bool:
        """Return whether all proofs hold, to what rounding of the targets allows; they are those that were given."""
        if self.negative or self.differ:
            return False
        pairs = zip(self.values, self.absolutes, strict=True)
        if not all(abs(float(value)) <= 2 * float(ROUNDING) * absolute for value, absolute in pairs):
            return False
        return all(self._is_given(k) for k in range(len(self.evidence.store.scopes)))

    def _is_given(self, k: int) -> bool:
        """Return whether the targets of the rows are those of a constraint, to rounding."""
        result, evidence = self.result, self.evidence
        scope = evidence.store.scopes[k]

        def profiles() -> Iterator[Profiles]:
            for piece in evidence.pieces(result.table):
                one = _list_proven_rows(piece)[k]
                if len(one.targets):
                    yield one.codes, one.targets
                    if k in evidence.store.outside:
                        return

        given = Source(result.reference.domain.select(scope), profiles)
        # the proof is about numbers that the run left: they must be the targets that were asked for
        return misses(given, targets_of(result.constraints[k]), scope)[1] <= float(ROUNDING)


def _list_proven_rows(piece: Piece) -> list[ProvenRows]:
    return [rows for rows in piece.rows if isinstance(rows, ProvenRows)]


def _same(one: ProvenRows, other: ProvenRows) -> bool:
    """Return whether rows have the same codes, targets and weights."""
    pairs = [*zip(one.codes, other.codes, strict=True), (one.targets, other.targets), (one.weights, other.weights)]
    return all(np.array_equal(left, right) for left, right in pairs)


def split_piece(piece: Piece, empty: BoolArray) -> list[Piece]:
    """Return a piece in two: the profiles that may have mass, and those that may not, which have no rows."""
    if not empty.any():
        return [piece]
    nothing = [Rows([np.empty(0, np.int64)] * len(rows.codes), np.empty(0), np.empty(0), None) for rows in piece.rows]
    return [
        Piece([np.asarray(code)[on] for code in piece.codes], piece.reference[on], piece.masses[on], rows)
        for on, rows in ((~empty, piece.rows), (empty, nothing))
    ]


def _costs(
    piece: Piece, rows: Sequence[ProvenRows], domain: Domain, scopes: Sequence[Sequence[str]]
) -> tuple[BoolArray, IntArray]:
    """Return which profiles have a row of every constraint, matched by label, and C^T t of each proof on them."""
    count = len(piece.masses)
    listed = np.ones(count, dtype=bool)
    costs: IntArray = np.zeros((len(rows[0].weights), count), dtype=np.int64)
    for scope, one in zip(scopes, rows, strict=True):
        own = [np.asarray(piece.codes[domain.position(name)], dtype=np.int64) for name in scope]
        joint = [np.concatenate([code, np.asarray(row, np.int64)]) for code, row in zip(own, one.codes, strict=True)]
        group, distinct = group_profiles(joint, domain.select(scope).sizes)
        place = np.full(len(distinct[0]), -1, dtype=np.int64)
        place[group[count:]] = np.arange(len(one.targets))
        row = place[group[:count]]
        listed &= row >= 0
        costs += np.concatenate([one.weights, np.zeros((len(one.weights), 1), np.int64)], axis=1)[:, row]
    return listed, costs
