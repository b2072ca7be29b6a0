"""Which of the rows that couple the parts are independent: the rank of null vectors that lie in many parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.rank.echelon import Echelon, primes
from purtensor.constraints.rank.exact_rank import Explicit, Vectors, rank_profile
from purtensor.constraints.rank.graph import couple, grow_forest
from purtensor.constraints.rank.slab_elimination import NullVectors
from purtensor.constraints.system import System, rows_of
from purtensor.outofcore.array_file import read_packed
from purtensor.outofcore.engine import map_each
from purtensor.outofcore.slab_store import SlabStore
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles


@dataclass(frozen=True, slots=True, eq=False)
class SpreadVectors(Vectors):
    """The null vectors of the slabs of all parts, summed over the outer rows.

    Attributes
    ----------
    parts
        The files of the parts.
    bases
        For each part a basis of its vectors modulo `prime`.
    size
        How many outer rows the vectors are summed over.
    highest
        What the rank cannot pass.
    """

    parts: tuple[Path, ...]
    bases: tuple[IntArray, ...]
    prime: int
    size: int
    highest: int

    def span(self, prime: int) -> Echelon:
        """Return the span of all vectors modulo a prime."""
        # the first prime's bases were found when the parts were laid out; another prime takes a pass
        bases = self.bases if prime == self.prime else map_each(_basis, self.parts, prime)
        echelon = Echelon(self.size, prime)
        for basis in bases:
            # no more can be independent: the parts that are left need not be inserted
            if echelon.rank >= self.highest:
                break
            echelon.insert(basis)
        return echelon

    def satisfy(self, weights: IntArray) -> bool:
        """Return, exactly, whether the weighted sum of every vector is 0."""
        return all(map_each(_check_weights, self.parts, weights))


def independent_outer_rows(
    scopes: Sequence[tuple[str, ...]],
    inside: Sequence[int],
    outside: Sequence[int],
    outer_codes: Sequence[Sequence[IntArray]],
    parts: Mapping[Path, IntArray | None],
    prime: int,
) -> BoolArray:
    """Mark the outer rows that the inside rows and the outer rows before them do not imply.

    Parameters
    ----------
    parts
        The files of the parts, and a basis of the null vectors of each modulo `prime`; None where it has none.
    """
    rows = sum(len(codes[0]) for codes in outer_codes)
    kept = np.zeros(rows, dtype=bool)
    if rows:
        highest = highest_rank(scopes, inside, outside, outer_codes)
        bases = tuple(basis for basis in parts.values() if basis is not None)
        kept[rank_profile(SpreadVectors(tuple(parts), bases, prime, rows, highest)).independent] = True
    return kept


def relations_of(store: SlabStore) -> list[IntArray]:
    """Return what implies outer rows beyond the marginals that constraints share: whole numbers, one an outer row.

    For each of them there are whole numbers on the inside rows that make C^T t vanish on every profile.
    """
    rows = len(store.outer_targets)
    highest = highest_rank(store.scopes, store.inside, store.outside, store.outer_codes) if rows else 0
    # the shared marginals explain every dependence: there are no other relations to look for
    if int(store.kept.sum()) == highest:
        return []
    paths = tuple(store.part(number) for number in store.parts)
    prime = next(primes())
    bases = tuple(map_each(_basis, paths, prime))
    return rank_profile(SpreadVectors(paths, bases, prime, rows, highest)).relations or []


def highest_rank(
    scopes: Sequence[tuple[str, ...]],
    inside: Sequence[int],
    outside: Sequence[int],
    outer_codes: Sequence[Sequence[IntArray]],
) -> int:
    """Return what the rank of the outer rows cannot pass: their number, less the rank of the marginals that they share.

    Null vectors sum to 0 over every marginal that an outside constraint shares with an inside one, and have the same
    sums over what two outside constraints share.
    """
    counts = [len(codes[0]) for codes in outer_codes]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(int)
    blocks = []
    for a, k in enumerate(outside):
        # inside rows imply the marginal that an outside constraint shares with them
        for j in inside:
            shared = [name for name in scopes[k] if name in scopes[j]]
            group = _groups(scopes[k], outer_codes[a], shared)
            block = np.zeros((int(group.max()) + 1, starts[-1]), dtype=np.int64)
            block[group, starts[a] + np.arange(counts[a])] = 1
            blocks.append(block)
        for b, other in enumerate(outside[:a]):
            blocks.append(
                _compare_shared(scopes, (k, other), (outer_codes[a], outer_codes[b]), starts[[a, b]], starts[-1])
            )
    constraints = np.concatenate(blocks) if blocks else np.zeros((0, int(starts[-1])), dtype=np.int64)
    # the null vectors lie in the space that these sums vanish on: its dimension bounds their rank
    return int(starts[-1]) - len(rank_profile(Explicit(constraints)).independent)


def _groups(scope: Sequence[str], codes: Sequence[IntArray], shared: Sequence[str]) -> IntArray:
    if not shared:
        return np.zeros(len(codes[0]), dtype=np.int64)
    own = [codes[scope.index(name)] for name in shared]
    return group_profiles(own, [int(code.max()) + 1 for code in own])[0]


def _compare_shared(
    scopes: Sequence[tuple[str, ...]],
    pair: tuple[int, int],
    codes: tuple[Sequence[IntArray], Sequence[IntArray]],
    starts: IntArray,
    width: int,
) -> IntArray:
    """Return, over all outer rows, the sums of one constraint less those of another over what they share."""
    shared = [name for name in scopes[pair[0]] if name in scopes[pair[1]]]
    counts = [len(own[0]) for own in codes]
    joint = [
        np.concatenate([own[scopes[k].index(name)] for k, own in zip(pair, codes, strict=True)]) for name in shared
    ]
    group = _groups(shared, joint, shared) if shared else np.zeros(sum(counts), dtype=np.int64)
    block = np.zeros((int(group.max()) + 1, width), dtype=np.int64)
    block[group[: counts[0]], starts[0] + np.arange(counts[0])] = 1
    # null vectors sum alike on both sides: their difference vanishes
    block[group[counts[0] :], starts[1] + np.arange(counts[1])] = -1
    return block


def structure_of(
    index: IntArray, offsets: IntArray, inside: Sequence[int], outside: Sequence[int], slab_ptr: IntArray
) -> tuple[BoolArray, Vectors | None]:
    """Return independent rows, all outside ones among them, and the null vectors of the slabs summed over those.

    Every row has a profile but, perhaps, outside ones. None where nothing couples the slabs.
    """
    rows = int(offsets[-1])
    count = len(offsets) - 1
    # ranks depend on the pattern alone: targets and labels may be anything
    system = System(index, offsets, np.ones(rows), Domain((), ()), ((),) * count, ((),) * count)
    outer_rows = rows_of(offsets, outside)
    independent = np.ones(rows, dtype=bool)
    if len(inside) == 2:
        main, second = inside
        forest = grow_forest(system, main, second, independent)
        # each tree of the graph makes one row depend on the others: that of its root
        independent[int(offsets[second]) + forest.roots - forest.first_rows] = False
        return independent, couple(system, forest, outside, outer_rows) if outside else None
    inner = independent.copy()
    inner[outer_rows] = False
    vectors = NullVectors.of(slab_ptr, index, offsets, inside, outside, inner, outer_rows)
    marked = np.zeros(rows, dtype=bool)
    # run for what it marks: the independent rows inside the slabs
    for _ in vectors.passes(marked):
        pass
    marked[outer_rows] = True
    return marked, vectors if outside else None


def _structure(path: Path) -> Vectors:
    packed = read_packed(path)
    a, facts = packed.arrays, packed.facts
    _, vectors = structure_of(a["index"], a["offsets"], facts["inside"], facts["outside"], a["slab_ptr"])
    if vectors is None:
        raise ValueError(f"{path} has no outside constraint")
    return vectors


def _basis(path: Path, prime: int) -> IntArray:
    return _structure(path).span(prime).basis


def _check_weights(path: Path, weights: IntArray) -> bool:
    return _structure(path).satisfy(weights)
