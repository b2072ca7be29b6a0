"""Exact ranks by two constraints as a graph, and the others on its cycles.

Two constraints are a bipartite graph (rows are nodes, profiles are edges): their rank is the number of rows less the
number of components. What the other constraints add is the rank of the cycles, summed over their rows: whole
numbers, small and few (notes/independence.md, equation 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.echelon import Echelon, centred, primes, relation
from purtensor.constraints.system import System
from purtensor.kernels.forest import broken_cycles, cycle_vectors, forest_edges, rooted_forest

_CHUNK = 256


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """A spanning forest of two constraints' rows, rooted at rows of the second.

    Attributes
    ----------
    constraints
        The two constraints; node n is row n of the first, or row n - `first_rows` of the second.
    in_forest
        Shape (M,): the profiles that are edges of the forest; every other closes one cycle with them.
    sequence
        The supported nodes, parents before children.
    parent, via, depth
        For each node its parent (-1 at a root), the profile that leads there, and its depth.
    """

    constraints: tuple[int, int]
    first: IntArray
    second: IntArray
    first_rows: int
    in_forest: BoolArray
    sequence: IntArray
    parent: IntArray
    via: IntArray
    depth: IntArray

    @property
    def roots(self) -> IntArray:
        """The rows of the second constraint, numbered within it, that follow from the rest of their component."""
        nodes = self.sequence[self.parent[self.sequence] < 0]
        return nodes - self.first_rows


def grow_forest(system: System, first: int, second: int, supported: BoolArray) -> Forest:
    """Return a spanning forest of the graph of two constraints."""
    one, two = system.index[first], system.index[second]
    rows = np.diff(system.offsets)
    first_rows, nodes = int(rows[first]), int(rows[first] + rows[second])
    in_forest = np.zeros(system.profiles, dtype=bool)
    edges = forest_edges(one, two, first_rows, nodes, in_forest)
    has_support = np.concatenate([supported[system.block(first)], supported[system.block(second)]])
    sequence, parent, via, depth = (np.zeros(nodes, dtype=np.int64) for _ in range(4))
    reached = rooted_forest(one, two, first_rows, edges, has_support, sequence, parent, via, depth)
    return Forest((first, second), one, two, first_rows, in_forest, sequence[:reached], parent, via, depth)


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """The rows of the other constraints, to be judged on the cycles of a forest.

    Attributes
    ----------
    rows
        The row number of each place.
    places
        Shape (D,): the place of each row, -1 for rows left out.
    """

    forest: Forest
    rows: IntArray
    places: IntArray
    index: IntArray
    starts: IntArray

    def cycles(self, profiles: IntArray) -> IntArray:
        """Return the sums over every place along the cycles that the profiles close, shape (profiles, places)."""
        forest = self.forest
        vectors = np.empty((len(profiles), len(self.rows)), dtype=np.int32)
        cycle_vectors(profiles, forest.first, forest.second, forest.first_rows, forest.parent, forest.via,
                      forest.depth, self.places, self.index, self.starts, vectors)  # fmt: skip
        return vectors

    def broken(self, weights: IntArray, modulus: int) -> tuple[BoolArray, IntArray]:
        """Return the profiles where the weighted places are no combination of the two constraints, mod `modulus`.

        Also returns the potentials, one a node, that make them equal elsewhere.
        """
        forest = self.forest
        broken = np.empty(len(forest.in_forest), dtype=bool)
        potentials = np.zeros(len(forest.parent), dtype=np.int64)
        broken_cycles(weights, modulus, forest.first, forest.second, forest.first_rows, forest.sequence, forest.parent,
                      forest.via, potentials, self.places, self.index, self.starts, broken)  # fmt: skip
        return broken, potentials

    def weights_of(self, independent: IntArray, place: int, relation: list[int], modulus: int) -> IntArray:
        """Return one weight a place: the multiplier at the dependent place, minus the coefficients, mod `modulus`."""
        weights = np.zeros(len(self.rows), dtype=np.int64)
        weights[independent] = [-value % modulus for value in relation[1:]]
        weights[place] = relation[0] % modulus
        return weights

    def bound(self, relation: list[int]) -> int:
        """Return what no potential of a relation, and no miss of it on any cycle, can pass in size."""
        longest = 2 * int(self.forest.depth.max(initial=0)) + 2
        return longest * len(self.starts) * max(map(abs, relation))

    def potentials(self, independent: IntArray, place: int, relation: list[int]) -> list[int]:
        """Return the whole-number potentials, one a node, that a relation leaves to the two constraints."""
        moduli: list[int] = []
        found: list[list[int]] = []
        for prime in primes():
            moduli.append(prime)
            found.append(self.broken(self.weights_of(independent, place, relation, prime), prime)[1].tolist())
            if math.prod(moduli) > 2 * self.bound(relation):
                break
        return [centred(residues, moduli) for residues in zip(*found, strict=True)]


def couple(system: System, forest: Forest, others: Sequence[int], rows: IntArray) -> Coupling:
    """Return the coupling of the given rows of the other constraints, in the order given."""
    places = np.full(system.rows, -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    return Coupling(forest, rows, places, system.index[list(others)], system.offsets[list(others)])


@dataclass(frozen=True, slots=True, eq=False)
class Coupled:
    """Which places of a coupling are independent, and what implies the others.

    Attributes
    ----------
    independent
        The places that are independent of the places before them on the cycles, ascending.
    dependent
        All other places, ascending.
    relations
        For each dependent place [m, c_1, ..., c_r]: m times it is the sum of c_l times independent place l on every
        cycle. None where the rank was certain without them.
    """

    independent: IntArray
    dependent: IntArray
    relations: list[list[int]] | None


def independent_places(coupling: Coupling, *, explain: bool = False) -> Coupled:
    """Return the exact rank profile of a coupling.

    Modulo a prime at first, which can only miss independence; that nothing was missed is certain where the rank has
    reached the number of places or of cycles, and proved by relations in whole numbers where it has not.
    """
    closing = np.flatnonzero(~coupling.forest.in_forest)
    highest = min(len(coupling.rows), len(closing))
    residues: list[IntArray] = []
    moduli: list[int] = []
    best: Echelon | None = None
    for prime in primes():
        echelon = _span(coupling, closing, prime, highest)
        if best is None or _is_better(echelon, best):
            best, residues, moduli = echelon, [], []
        elif _is_better(best, echelon):
            continue  # the prime divides a minor that matters
        dependent = best.dependent()
        if best.rank == highest and not (explain and len(dependent)):
            return Coupled(best.leads, dependent, None)
        residues.append(echelon.coefficients(dependent))
        moduli.append(prime)
        relations = _prove(coupling, best.leads, dependent, residues, moduli)
        if relations is not None:
            return Coupled(best.leads, dependent, relations)
    raise ArithmeticError("the relations between the rows are beyond what 2^21 primes can tell")  # pragma: no cover


def _is_better(one: Echelon, other: Echelon) -> bool:
    """Tell whether a prime lost less: more rank, or the same rank on earlier rows."""
    return (-one.rank, one.leads.tolist()) < (-other.rank, other.leads.tolist())


def _span(coupling: Coupling, closing: IntArray, prime: int, highest: int) -> Echelon:
    """Return the span of all cycles modulo a prime: of a sample, then of those that the sample missed."""
    size = len(coupling.rows)
    rng = np.random.default_rng(prime)
    echelon = Echelon(size, prime)
    _insert(echelon, coupling, _sample(closing, 4 * size + 64, rng), highest)
    while echelon.rank < highest:
        missed = _missed(echelon, coupling, rng)
        if not len(missed):
            break
        _insert(echelon, coupling, _sample(missed, size + 64, rng), highest)
    return echelon


def _sample(profiles: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    if len(profiles) <= count:
        return profiles
    return profiles[np.unique(rng.integers(0, len(profiles), count))]


def _insert(echelon: Echelon, coupling: Coupling, profiles: IntArray, highest: int) -> None:
    for begin in range(0, len(profiles), _CHUNK):
        if echelon.rank >= highest:
            return
        echelon.insert(coupling.cycles(profiles[begin : begin + _CHUNK]))


def _missed(echelon: Echelon, coupling: Coupling, rng: np.random.Generator) -> IntArray:
    """Return profiles whose cycles lie outside of the span: where random relations of the span do not hold."""
    dependent = echelon.dependent()
    implied = echelon.coefficients(dependent)
    for _ in range(2):
        factors = rng.integers(1, echelon.prime, len(dependent))
        weights = np.zeros(echelon.size, dtype=np.int64)
        weights[dependent] = factors
        weights[echelon.leads] = -(factors @ implied) % echelon.prime
        broken, _ = coupling.broken(weights, echelon.prime)
        if broken.any():
            return np.flatnonzero(broken)
    return np.empty(0, dtype=np.int64)


def _prove(
    coupling: Coupling, leads: IntArray, dependent: IntArray, residues: list[IntArray], moduli: list[int]
) -> list[list[int]] | None:
    """Return the relation of every dependent place, each checked on every profile; None where one is not found."""
    relations = []
    for number in range(len(dependent)):
        found = relation([r[number] for r in residues], moduli)
        if found is None or not _holds(coupling, leads, int(dependent[number]), found):
            return None
        relations.append(found)
    return relations


def _holds(coupling: Coupling, leads: IntArray, place: int, found: list[int]) -> bool:
    """Check a relation exactly: a whole number below a bound that is 0 modulo enough primes is 0."""
    checked = 1
    for prime in primes():
        if coupling.broken(coupling.weights_of(leads, place, found, prime), prime)[0].any():
            return False
        checked *= prime
        if checked > coupling.bound(found):
            return True
    return False  # pragma: no cover
