"""Exact ranks slab by slab, where three or more constraints share a key: each slab is a small matrix of its own.

A slab's null vectors are the cycles of a graph in general form: whole numbers on its profiles that sum to 0 in all
inside rows. What the outside constraints add is the rank of the null vectors summed over their rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.rank.echelon import Echelon, primes
from purtensor.constraints.rank.exact_rank import (
    Explicit,
    Proof,
    RankProfile,
    Structure,
    Vectors,
    exact_product,
    rank_profile,
)
from purtensor.constraints.slabs import arrange, slab_of_rows
from purtensor.constraints.system import System, rows_of
from purtensor.kernels.rank.slab_elimination import null_vectors, number_rows

_PROFILES_AT_ONCE = 1 << 14
_ENTRIES_AT_ONCE = 1 << 22
"""The buffer of null vectors holds no more, unless one slab alone needs it."""


class LargeEntriesError(ArithmeticError):
    """A slab has a null vector whose entries are not small whole numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class NullVectors(Vectors):
    """The null vectors of all slabs, summed over outside rows; made again for every pass over them.

    Attributes
    ----------
    inner, outer
        Shape (constraints, M): the rows of every profile, in slab order, inside and outside.
    usable
        Shape (D,): the inside rows that take part.
    rows, places
        The outside rows that take part, and the place of each row among them (-1: none).
    """

    slab_ptr: IntArray
    inner: IntArray
    inner_starts: IntArray
    usable: BoolArray
    outer: IntArray
    outer_starts: IntArray
    rows: IntArray
    places: IntArray
    count: int
    prime: int

    @classmethod
    def of(
        cls,
        slab_ptr: IntArray,
        index: IntArray,
        offsets: IntArray,
        inside: Sequence[int],
        outside: Sequence[int],
        usable: BoolArray,
        rows: IntArray,
    ) -> NullVectors:
        """Return the null vectors of slabs, of which there are at most as many as profiles."""
        places = np.full(int(offsets[-1]), -1, dtype=np.int64)
        places[rows] = np.arange(len(rows))
        within, beyond = list(inside), list(outside)
        return cls(
            slab_ptr,
            index[within],
            offsets[within],
            usable,
            index[beyond],
            offsets[beyond],
            rows,
            places,
            int(index.shape[1]),
            next(primes()),
        )

    @property
    def size(self) -> int:
        """How many outside rows the vectors are summed over."""
        return len(self.rows)

    @property
    def highest(self) -> int:
        """What the rank cannot pass: the number of rows, or of vectors."""
        return min(self.size, self.count)

    def passes(self, independent: BoolArray | None = None) -> Iterator[IntArray]:
        """Yield all vectors in blocks; marks the inside rows that are independent in their slab, when asked."""
        marked = np.zeros(len(self.usable), dtype=bool) if independent is None else independent
        most = min(_PROFILES_AT_ONCE, _ENTRIES_AT_ONCE // max(self.size, 1))
        # a slab is never split
        most = max(most, int(np.diff(self.slab_ptr).max(initial=1)))
        first = 0
        while first < len(self.slab_ptr) - 1:
            last = int(np.searchsorted(self.slab_ptr, self.slab_ptr[first] + most, side="right")) - 1
            buffer = np.empty((int(self.slab_ptr[last] - self.slab_ptr[first]), self.size), dtype=np.int64)
            count = null_vectors(
                first,
                last,
                self.slab_ptr,
                self.inner,
                self.inner_starts,
                self.usable,
                self.outer,
                self.outer_starts,
                self.places,
                self.prime,
                marked,
                buffer,
            )
            # residues that are no small numbers cannot be read as whole ones
            if count < 0:
                raise LargeEntriesError(f"a null vector has large entries modulo {self.prime}")
            yield buffer[:count]
            first = last

    def span(self, prime: int) -> Echelon:
        """Return the span of all vectors modulo a prime."""
        echelon = Echelon(self.size, prime)
        for block in self.passes():
            echelon.insert(block)
            if echelon.rank >= self.highest:
                break
        return echelon

    def satisfy(self, weights: IntArray) -> bool:
        """Return, exactly, whether the weighted sum of every vector is 0."""
        return not any(np.any(exact_product(block, weights)) for block in self.passes())


@dataclass(frozen=True, slots=True, eq=False)
class SlabBySlab(Structure):
    """The structure of slabs: local rows that are independent in each, and coupling rows on their null vectors."""

    vectors: NullVectors
    profile: RankProfile

    def proofs(self) -> Iterator[Proof]:
        """Yield the dependent rows of each slab, then those of the coupling."""
        explained = self.profile.explain(self.vectors)
        dependent = [int(self.vectors.rows[place]) for place, _ in explained]
        relations = [weights for _, weights in explained]
        pieces: list[list[tuple[int, IntArray, IntArray]]] = [[] for _ in dependent]
        number = np.full(len(self.vectors.usable), -1, dtype=np.int64)
        for x in range(len(self.vectors.slab_ptr) - 1):
            rows, found = self._explain(x, number, relations)
            for place, weights in found:
                used = np.flatnonzero(weights[: len(rows)])
                if place >= len(rows):
                    # the column of a relation: what this slab contributes to its proof
                    pieces[place - len(rows)].append((int(weights[place]), rows[used], -weights[used]))
                    continue
                used = used[used != place]
                yield Proof(int(rows[place]), int(weights[place]), rows[used], -weights[used])
        for row, weights, parts in zip(dependent, relations, pieces, strict=True):
            yield _join(row, self.vectors, weights, parts)

    def _explain(
        self, x: int, number: IntArray, relations: list[IntArray]
    ) -> tuple[IntArray, list[tuple[int, IntArray]]]:
        """Return the local rows of a slab, and what its matrix with one more row for each relation implies.

        `number` is -1 everywhere, at entry and at return.
        """
        v = self.vectors
        begin, end = int(v.slab_ptr[x]), int(v.slab_ptr[x + 1])
        rows = np.empty((end - begin) * len(v.inner), dtype=np.int64)
        rows = rows[: number_rows(begin, end, v.inner, v.inner_starts, v.usable, number, rows)]
        # relations may be beyond int64: Python's whole numbers then
        matrix = np.zeros((end - begin, len(rows) + len(relations)), dtype=object if relations else np.int64)
        for start, column in zip(v.inner_starts, v.inner, strict=True):
            own = number[start + column[begin:end].astype(np.int64)]
            matrix[np.flatnonzero(own >= 0), own[own >= 0]] = 1
        for start, column in zip(v.outer_starts, v.outer, strict=True):
            place = v.places[start + column[begin:end].astype(np.int64)]
            for n, weights in enumerate(relations, len(rows)):
                matrix[:, n] += np.where(place >= 0, weights[place], 0)
        number[rows] = -1
        explicit = Explicit(matrix)
        return rows, rank_profile(explicit, explain=True).explain(explicit)


def _join(row: int, vectors: NullVectors, weights: IntArray, parts: list[tuple[int, IntArray, IntArray]]) -> Proof:
    """Return the proof of a coupling row from its relation and what each slab contributes to it."""
    # the slabs' proofs have multipliers of their own
    scale = math.lcm(*(multiplier for multiplier, _, _ in parts)) if parts else 1
    used = np.flatnonzero(weights)
    used = used[vectors.rows[used] != row]
    rows = [vectors.rows[used], *(own for _, own, _ in parts)]
    terms = [-scale * weights[used], *(scale // multiplier * own for multiplier, _, own in parts)]
    multiplier = scale * int(weights[vectors.places[row]])
    return Proof(row, multiplier, np.concatenate(rows), np.concatenate(terms))


def slab_by_slab(system: System, key: tuple[str, ...], spanning: BoolArray, supported: BoolArray) -> SlabBySlab:
    """Return the exact rank of a system by elimination in each slab of a key, then of what couples them.

    Raises
    ------
    LargeEntriesError
        The null vectors of a slab have entries that are not small whole numbers.
    """
    arranged, slabs, _ = arrange(system, key)
    inside = slabs.inside
    usable = np.zeros(system.rows, dtype=bool)
    for k in inside:
        usable[system.block(k)] = (supported if k in inside[:2] else spanning)[system.block(k)]
    outer = spanning.copy()
    outer[rows_of(system.offsets, inside)] = False
    rows = np.flatnonzero(outer)
    vectors = NullVectors.of(slabs.slab_ptr, arranged.index, system.offsets, slabs.inside, slabs.outside, usable, rows)
    independent = np.zeros(system.rows, dtype=bool)
    # the first pass counts the vectors and marks the independent local rows
    count = sum(len(block) for block in vectors.passes(independent))
    vectors = replace(vectors, count=count)
    profile = rank_profile(vectors)
    independent[rows[profile.independent]] = True
    return SlabBySlab("slab by slab", independent, inside[:2], True, vectors, profile)


def slab_cost(system: System, key: tuple[str, ...]) -> float:
    """Return how many operations the elimination in all slabs takes, at most."""
    _, slabs, _ = arrange(system, key)
    profiles = np.diff(slabs.slab_ptr).astype(float)
    rows = sum(np.bincount(slab_of_rows(system, slabs, k), minlength=slabs.count) for k in slabs.inside)
    # so many pivots at most, each of which changes all entries
    return float(np.sum(np.minimum(rows, profiles) * rows * profiles))
