"""Which places of whole-number vectors are independent, exactly: guessed modulo a prime, proved by relations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.rank.echelon import Echelon, as_whole, primes, relation

_CHUNK = 256


class Vectors(ABC):
    """Whole-number vectors, more than are held at once."""

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """How many places a vector has."""

    @property
    @abstractmethod
    def highest(self) -> int:
        """What the rank cannot pass."""

    @abstractmethod
    def span(self, prime: int) -> Echelon:
        """Return the span of all vectors modulo a prime; of less than all only by bad luck."""

    @abstractmethod
    def satisfy(self, weights: IntArray) -> bool:
        """Return, exactly, whether the weighted sum of every vector is 0."""


@dataclass(frozen=True, slots=True, eq=False)
class RankProfile:
    """Which places are independent, and what implies the others.

    Attributes
    ----------
    independent
        The places that are independent of the places before them, ascending. Without relations they may be as many
        others that are independent, where the prime divides a minor of those.
    dependent
        All other places, ascending.
    relations
        For each dependent place whole-number weights, shape (size,), positive there and otherwise 0 but on
        independent places, that sum to 0 with every vector. None where the rank was certain without them.
    """

    independent: IntArray
    dependent: IntArray
    relations: list[IntArray] | None

    def explain(self, vectors: Vectors) -> list[tuple[int, IntArray]]:
        """Return each dependent place of the vectors that this is the profile of, with its relation."""
        profile = self
        if self.relations is None and len(self.dependent):
            profile = rank_profile(vectors, explain=True)
        return list(zip(profile.dependent.tolist(), profile.relations or [], strict=True))


def rank_profile(vectors: Vectors, *, explain: bool = False) -> RankProfile:
    """Return the exact rank profile of vectors, with `explain` also the relations where the rank needs none.

    Modulo a prime at first, which can only miss independence; that nothing was missed is certain where the rank has
    reached its highest value, and proved by relations in whole numbers where it has not.
    """
    residues: list[IntArray] = []
    moduli: list[int] = []
    # an empty span, which any prime beats
    best = Echelon(vectors.size, 2)
    for prime in primes():
        echelon = vectors.span(prime)
        if _is_better(echelon, best) or not moduli:
            best, residues, moduli = echelon, [], []
        elif _is_better(best, echelon):
            continue  # the prime divides a minor that matters
        dependent = best.dependent()
        if not len(dependent) or (best.rank == vectors.highest and not explain):
            break
        # here both have the same leads, so that the residues are of the same fractions
        residues.append(echelon.coefficients(dependent))
        moduli.append(prime)
        relations = _prove(vectors, best.leads, dependent, residues, moduli)
        if relations is not None:
            return RankProfile(best.leads, dependent, relations)
    return RankProfile(best.leads, best.dependent(), None)


def _is_better(one: Echelon, other: Echelon) -> bool:
    """Return whether a prime lost less: more rank, or the same rank on earlier places."""
    return (-one.rank, one.leads.tolist()) < (-other.rank, other.leads.tolist())


def _prove(
    vectors: Vectors, leads: IntArray, dependent: IntArray, residues: list[IntArray], moduli: list[int]
) -> list[IntArray] | None:
    """Return the relation of every dependent place, each checked on every vector; None where one is not found."""
    relations = []
    for number, place in enumerate(dependent.tolist()):
        found = relation([r[number] for r in residues], moduli)
        # more primes may decide it
        if found is None:
            return None
        values = as_whole(found)
        weights = np.zeros(vectors.size, dtype=values.dtype)
        weights[place] = values[0]
        weights[leads] = -values[1:]
        if not vectors.satisfy(weights):
            return None
        relations.append(weights)
    return relations


@dataclass(frozen=True, slots=True, eq=False)
class Explicit(Vectors):
    """The rows of a whole-number matrix as vectors."""

    matrix: IntArray

    @property
    def size(self) -> int:
        """How many places a vector has."""
        return int(self.matrix.shape[1])

    @property
    def highest(self) -> int:
        """What the rank cannot pass."""
        return min(len(self.matrix), self.size)

    def span(self, prime: int) -> Echelon:
        """Return the span of all vectors modulo a prime."""
        echelon = Echelon(self.size, prime)
        echelon.insert(self.matrix)
        return echelon

    def satisfy(self, weights: IntArray) -> bool:
        """Return, exactly, whether the weighted sum of every vector is 0."""
        return not np.any(exact_product(self.matrix, weights))


def exact_product(matrix: IntArray, weights: IntArray) -> IntArray:
    """Return matrix @ weights without overflow: in Python's whole numbers where int64 may not do."""
    # no sum of products passes this
    bound = int(np.abs(matrix).max(initial=0)) * int(np.abs(weights).max(initial=0)) * len(weights)
    product: IntArray = (matrix if bound < 2**62 else matrix.astype(object)) @ weights
    return product


class Sampled(Vectors):
    """Vectors with one profile each: the span of a sample, then of those that the sample missed."""

    __slots__ = ()

    @property
    @abstractmethod
    def closing(self) -> IntArray:
        """The profiles that have a vector."""

    @abstractmethod
    def of(self, profiles: IntArray) -> IntArray:
        """Return the vectors of some profiles, shape (profiles, size)."""

    @abstractmethod
    def broken(self, weights: IntArray, modulus: int) -> BoolArray:
        """Mark, shape (M,), the profiles whose vector's weighted sum is not 0 modulo `modulus`."""

    @abstractmethod
    def bound(self, weights: IntArray) -> int:
        """Return what no vector's weighted sum passes in size."""

    @property
    def highest(self) -> int:
        """What the rank cannot pass: the number of places, or of vectors."""
        return min(self.size, len(self.closing))

    def span(self, prime: int) -> Echelon:
        """Return the span of all vectors modulo a prime; of less only where two random checks both fail to see."""
        # seeded by the prime: the same sample in every run
        rng = np.random.default_rng(prime)
        closing = self.closing
        echelon = Echelon(self.size, prime)
        # more than the rank can be, as vectors of a sample repeat each other
        self._insert(echelon, _sample(closing, 4 * self.size + 64, rng))
        while echelon.rank < self.highest:
            missed = self._find_missed(echelon, rng)
            if not len(missed):
                break
            self._insert(echelon, _sample(missed, self.size + 64, rng))
        return echelon

    def _insert(self, echelon: Echelon, profiles: IntArray) -> None:
        # in chunks: a full rank ends it early, and vectors of all profiles at once would fill the memory
        for begin in range(0, len(profiles), _CHUNK):
            if echelon.rank >= self.highest:
                return
            echelon.insert(self.of(profiles[begin : begin + _CHUNK]))

    def _find_missed(self, echelon: Echelon, rng: np.random.Generator) -> IntArray:
        """Return profiles whose vectors lie outside of the span: where random relations of the span do not hold."""
        dependent = echelon.dependent()
        implied = echelon.coefficients(dependent)
        for _ in range(2):
            # a vector outside passes a random relation with probability about 1 / prime
            factors = rng.integers(1, echelon.prime, len(dependent))
            weights = np.zeros(self.size, dtype=np.int64)
            weights[dependent] = factors
            weights[echelon.leads] = -(factors @ implied) % echelon.prime
            broken = self.broken(weights, echelon.prime)
            if broken.any():
                return np.flatnonzero(broken)
        return np.empty(0, dtype=np.int64)

    def satisfy(self, weights: IntArray) -> bool:
        """Check a relation exactly: a whole number below a bound that is 0 modulo enough primes is 0."""
        checked, bound = 1, self.bound(weights)
        for prime in primes():
            if self.broken((weights % prime).astype(np.int64), prime).any():
                return False
            checked *= prime
            if checked > bound:
                break
        return True


def _sample(profiles: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    if len(profiles) <= count:
        return profiles
    return profiles[np.unique(rng.integers(0, len(profiles), count))]


_PROFILES_AT_ONCE = 1 << 20
"""What a compiled loop takes on before it comes back to Python, where interrupts are heard."""


def blocks(profiles: int) -> Iterator[tuple[int, int]]:
    """Yield where the blocks of profiles begin and end that one call of a kernel takes on."""
    for begin in range(0, profiles, _PROFILES_AT_ONCE):
        yield begin, min(begin + _PROFILES_AT_ONCE, profiles)


class Proof(NamedTuple):
    """Why a row is redundant: `multiplier` times it is the sum of `weights` times `rows`."""

    row: int
    multiplier: int
    rows: IntArray
    weights: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Structure(ABC):
    """A structure of the spanning rows that determines their exact rank.

    Attributes
    ----------
    method
        How the rank was found, in a few words.
    independent
        A maximal set of independent rows, shape (D,).
    explained
        The constraints all of whose supported rows are independent or proved by `proofs`.
    serves_order
        Whether constraints were served in order, so that the independent rows of the first ones span theirs.
    """

    method: str
    independent: BoolArray
    explained: tuple[int, ...]
    serves_order: bool

    @abstractmethod
    def proofs(self) -> Iterator[Proof]:
        """Yield why rows are redundant that follow from no shared marginal, or stand in an explained constraint."""
