"""Exact ranks by peeling: rows and profiles that stand alone are pivots; only the core that is left is eliminated.

A profile with one row left, or a row with one profile left, is a pivot that no other line can disturb, so the rank is
the number of pivots plus the rank of the core (notes/independence.md, equation 4). It takes time and memory
proportional to the ones of C, which no other way does on large constraint sets without a slab key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.rank.echelon import lift
from purtensor.constraints.rank.exact_rank import Proof, RankProfile, Sampled, Structure, blocks, rank_profile
from purtensor.constraints.system import System
from purtensor.kernels.rank.peeling import count_profiles, extend_weights, list_profiles, peel

_WORK_AT_ONCE = 1 << 21
"""Entries that one call of the kernel looks at before it comes back to Python, where interrupts are heard."""


@dataclass(frozen=True, slots=True, eq=False)
class Core(Sampled):
    """The profiles that peeling left, as vectors over the rows that it left."""

    index: IntArray
    starts: IntArray
    rows: IntArray
    places: IntArray
    closing: IntArray

    @property
    def size(self) -> int:
        """How many rows are left."""
        return len(self.rows)

    def of(self, profiles: IntArray) -> IntArray:
        """Return the columns of some profiles on the rows that are left, shape (profiles, size)."""
        vectors = np.zeros((len(profiles), self.size), dtype=np.int32)
        for start, row in zip(self.starts, self.index, strict=True):
            place = self.places[start + row[profiles].astype(np.int64)]
            vectors[np.flatnonzero(place >= 0), place[place >= 0]] = 1
        return vectors

    def broken(self, weights: IntArray, modulus: int) -> BoolArray:
        """Mark the left profiles whose weights do not sum to 0 modulo `modulus`."""
        # place -1, a row that is not left, reads this 0
        padded = np.append(weights, 0)
        total = np.zeros(len(self.closing), dtype=np.int64)
        for start, row in zip(self.starts, self.index, strict=True):
            total += padded[self.places[start + row[self.closing].astype(np.int64)]]
        broken = np.zeros(self.index.shape[1], dtype=bool)
        broken[self.closing] = total % modulus != 0
        return broken

    def bound(self, weights: IntArray) -> int:
        """Return what no weighted sum of a column passes in size."""
        return len(self.starts) * int(np.abs(weights).max(initial=0))


@dataclass(frozen=True, slots=True, eq=False)
class Peeled(Structure):
    """The structure of pivots that stand alone, and of the core that they leave.

    Attributes
    ----------
    pivot_rows, pivot_profiles, by_row
        The pivots in order, and whether the row (else the profile) of each stood alone.
    """

    usable: BoolArray
    pivot_rows: IntArray
    pivot_profiles: IntArray
    by_row: BoolArray
    core: Core
    profile: RankProfile

    def proofs(self) -> Iterator[Proof]:
        """Yield the dependent rows of the core, with what the pivots contribute."""
        for place, weights in self.profile.explain(self.core):
            row = int(self.core.rows[place])
            terms = self._extend(weights)
            multiplier = int(terms[row])
            terms[row] = 0
            used = np.flatnonzero(terms)
            yield Proof(row, multiplier, used, -terms[used])

    def _extend(self, weights: IntArray) -> IntArray:
        """Return weights on all rows that sum to 0 on every profile, from those on the core."""
        core = self.core

        def extend(prime: int) -> IntArray:
            extended = np.zeros(len(self.usable), dtype=np.int64)
            extended[core.rows] = weights % prime
            pivots = self.pivot_rows, self.pivot_profiles, self.by_row
            extend_weights(core.index, core.starts, self.usable, *pivots, extended, prime)
            return extended

        # a sum below the product of the primes that vanishes modulo each of them is 0
        return lift(extend, lambda found: (len(core.starts) + 1) * int(np.abs(found).max()))


def peel_system(system: System, spanning: BoolArray, most: int) -> Peeled | None:
    """Return the exact rank by peeling the spanning rows; None where a core of more than `most` rows is left."""
    alive, present = spanning.copy(), np.ones(system.profiles, dtype=bool)
    pivot_rows, pivot_profiles, by_row = _pivots(system, alive, present)
    rows = np.flatnonzero(alive)
    if len(rows) > most:
        return None
    places = np.full(system.rows, -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    core = Core(system.index, system.offsets[:-1], rows, places, np.flatnonzero(present))
    profile = rank_profile(core)
    independent = np.zeros(system.rows, dtype=bool)
    # notes/independence.md, equation 4
    independent[pivot_rows] = True
    independent[rows[profile.independent]] = True
    # order is served where all spanning rows are pivots
    return Peeled(
        "peeled", independent, (), core.size == 0, spanning, pivot_rows, pivot_profiles, by_row, core, profile
    )


def _pivots(system: System, alive: BoolArray, present: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Return all pivots in order, taken out of `alive` and `present`: rows, profiles, and whether the row was alone."""
    starts = system.offsets[:-1]
    row_left, profile_left = (np.zeros(n, dtype=np.int64) for n in (system.rows, system.profiles))
    for begin, end in blocks(system.profiles):
        count_profiles(system.index, starts, alive, begin, end, row_left, profile_left)
    begins = np.concatenate([[0], np.cumsum(row_left)]).astype(np.int64)
    # the profiles of every row, one list after the other
    profiles = np.empty(begins[-1], dtype=np.int32 if system.profiles < 2**31 else np.int64)
    filled = begins[:-1].copy()
    for begin, end in blocks(system.profiles):
        list_profiles(system.index, starts, alive, begin, end, filled, profiles)
    # rows are negative on the stack to differ from profiles, of which the first is now on top
    first = np.concatenate([-1 - np.flatnonzero(row_left == 1), np.flatnonzero(profile_left == 1)[::-1]])
    stack = np.empty(system.rows + system.profiles, dtype=np.int64)  # each line is put there at most once
    stack[: len(first)] = first
    # each pivot takes a row and a profile away
    room = min(int(alive.sum()), system.profiles)
    rows, columns, by_row = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room, dtype=bool)
    top, count = len(first), 0
    while top:
        top, count = peel(
            system.index,
            starts,
            profiles,
            begins,
            alive,
            present,
            row_left,
            profile_left,
            stack,
            top,
            rows,
            columns,
            by_row,
            count,
            _WORK_AT_ONCE,
        )
    return rows[:count], columns[:count], by_row[:count]
