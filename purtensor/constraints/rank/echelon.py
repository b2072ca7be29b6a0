"""Exact linear algebra on whole numbers: ranks modulo primes, and the whole-number relations that prove them.

Independence modulo a prime proves independence; dependence is proved by a relation in whole numbers, found from its
residues and checked on every column (notes/independence.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.rank.slab_elimination import echelon_in_place, reduce_in_place

_BATCH = 128
# 2^9 products of residues below 2^22 stay below 2^53
_EXACT_TERMS = 512
_PLAIN = 1000
"""Coefficients up to this size are recognised from a single residue."""


def primes() -> Iterator[int]:
    """Yield primes below 2^22, largest first."""
    return filter(_is_prime, range(2**22 - 1, 2**21, -2))


@cache
def _is_prime(odd: int) -> bool:
    return all(odd % d for d in range(3, math.isqrt(odd) + 1, 2))


class Echelon:
    """The span of vectors modulo a prime in its one reduced echelon form, whatever the order of insertion.

    Each basis vector has a 1 at its lead, the first place where it is not 0, and all others have 0 there. Seen as
    columns of a matrix, the leads are the rows that are independent of the rows before them.
    """

    def __init__(self, size: int, prime: int) -> None:
        self.size = size
        self.prime = prime
        self._basis = np.empty((0, size))
        self._leads = np.empty(0, dtype=np.int64)

    @property
    def rank(self) -> int:
        """The dimension of the span."""
        return len(self._leads)

    @property
    def leads(self) -> IntArray:
        """The leads of the basis, ascending."""
        return np.sort(self._leads)

    @property
    def basis(self) -> IntArray:
        """The basis, one vector per row, in whole numbers from 0 to the prime."""
        return self._basis.astype(np.int64)

    def insert(self, vectors: IntArray) -> None:
        """Add whole-number vectors, shape (count, size), to the span."""
        for begin in range(0, len(vectors), _BATCH):
            if self.rank == self.size:
                return
            self._insert_batch((vectors[begin : begin + _BATCH] % self.prime).astype(np.float64))

    def _insert_batch(self, batch: FloatArray) -> None:
        self._subtract(batch, batch[:, self._leads], self._basis)
        leads = np.empty(len(batch), dtype=np.int64)
        echelon_in_place(batch, float(self.prime), leads)
        batch, leads = batch[leads >= 0], leads[leads >= 0]
        if len(leads):
            # in the reduced form the old vectors, too, are 0 at the new leads
            self._subtract(self._basis, self._basis[:, leads], batch)
            self._basis = np.concatenate([self._basis, batch])
            self._leads = np.concatenate([self._leads, leads])

    def _subtract(self, target: FloatArray, factors: FloatArray, source: FloatArray) -> None:
        """Write target - factors @ source into target; sums of up to 512 products are exact in float64."""
        for begin in range(0, len(source), _EXACT_TERMS):
            end = begin + _EXACT_TERMS
            product = factors[:, begin:end] @ source[begin:end]
            reduce_in_place(product, float(self.prime))
            target -= product
            reduce_in_place(target, float(self.prime))

    def dependent(self) -> IntArray:
        """Return the places that are not leads, ascending."""
        free = np.ones(self.size, dtype=bool)
        free[self._leads] = False
        return np.flatnonzero(free)

    def coefficients(self, places: IntArray) -> IntArray:
        """Return how each place follows from the leads, shape (places, rank), leads ascending, residues."""
        order = np.argsort(self._leads)
        found: IntArray = self._basis[np.ix_(order, places)].T.astype(np.int64)
        return found


def relation(residues: Sequence[IntArray], moduli: Sequence[int]) -> list[int] | None:
    """Return whole numbers [m, c_1, ..., c_r] with m x = sum of c_l x_l, given the c_l / m modulo several primes.

    Small numbers are tried first; m is positive. None where the moduli are too few to decide.
    """
    # no more than a guess: the caller checks it on every vector, and comes back with more primes
    if len(moduli) == 1 and (simple := _small(residues[0], moduli[0])) is not None:
        return simple
    modulus = math.prod(moduli)
    combined = centre_all(residues, moduli).tolist()
    # up to here a fraction is determined by its residue (Wang 1981)
    bound = math.isqrt(modulus // 2)
    multiplier = 1
    for value in combined:
        # with the denominators so far multiplied in: entries mostly share one
        multiplier *= _denominator(value * multiplier % modulus, modulus, bound)
        if not 0 < multiplier <= bound:
            return None
    scaled = [_centre(value * multiplier, modulus) for value in combined]
    return None if any(abs(value) > bound for value in scaled) else [multiplier, *scaled]


def _small(residues: IntArray, modulus: int) -> list[int] | None:
    for multiplier in range(1, 61):
        scaled = (residues * multiplier + modulus // 2) % modulus - modulus // 2
        if np.abs(scaled).max(initial=0) <= _PLAIN:
            return [multiplier, *scaled.tolist()]
    return None


def lift(solve: Callable[[int], IntArray], bound: Callable[[IntArray], int]) -> IntArray:
    """Return whole numbers by their residues modulo as many primes as it takes to pass twice their bound.

    `solve` returns the residues modulo a prime. Twice, because the residues then determine the sign, too.
    """
    moduli: list[int] = []
    residues: list[IntArray] = []
    for prime in primes():
        moduli.append(prime)
        residues.append(solve(prime))
        found = centre_all(residues, moduli)
        if math.prod(moduli) > 2 * bound(found):
            break
    return found


def centre_all(residues: Sequence[IntArray], moduli: Sequence[int]) -> IntArray:
    """Return the whole numbers of smallest size with the given residues, one array for each of distinct primes."""
    if len(moduli) == 1:
        half = moduli[0] // 2
        found: IntArray = (residues[0] + half) % moduli[0] - half
        return found
    return as_whole([_combine(values, moduli) for values in zip(*(r.tolist() for r in residues), strict=True)])


def _combine(residues: Sequence[int], moduli: Sequence[int]) -> int:
    combined, modulus = 0, 1
    for value, prime in zip(residues, moduli, strict=True):
        # Garner's algorithm: each prime corrects the residue and keeps those before
        combined += modulus * ((value - combined) * pow(modulus, -1, prime) % prime)
        modulus *= prime
    return _centre(combined, modulus)


def _centre(value: int, modulus: int) -> int:
    return (value + modulus // 2) % modulus - modulus // 2


def _denominator(value: int, modulus: int, bound: int) -> int:
    """Return the denominator within the bound of the fraction with this residue, 0 where there is none."""
    # Euclid's extended algorithm, stopped half way: s / u has this residue
    r, s, t, u = modulus, value, 0, 1
    while s > bound:
        q = r // s
        r, s, t, u = s, r - q * s, u, t - q * u
    return abs(u) if abs(u) <= bound else 0


def as_whole(values: Sequence[int]) -> IntArray:
    """Return whole numbers as int64, or as Python's own where they are beyond it."""
    fits = max(map(abs, values), default=0) < 2**62
    return np.array(values, dtype=np.int64 if fits else object)
