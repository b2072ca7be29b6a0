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


def independent_outer_rows(store: SlabStore, bases: Mapping[int, IntArray | None], prime: int) -> BoolArray:
    """Mark the outer rows that the inside rows and the outer rows before them do not imply.

    Parameters
    ----------
    bases
        For each part a basis of its null vectors modulo `prime`; None where it has none.
    """
    rows = len(store.outer_targets)
    kept = np.zeros(rows, dtype=bool)
    if rows:
        known, parts = tuple(one for one in bases.values() if one is not None), tuple(map(store.part, bases))
        kept[rank_profile(SpreadVectors(parts, known, prime, rows, highest_rank(store))).independent] = True
    return kept


def relations_of(store: SlabStore) -> list[IntArray]:
    """Return what implies outer rows beyond the marginals that constraints share: whole numbers, one an outer row.

    For each of them there are whole numbers on the inside rows that make C^T t vanish on every profile.
    """
    rows = len(store.outer_targets)
    highest = highest_rank(store) if rows else 0
    # the shared marginals explain every dependence: there are no other relations to look for
    if int(store.kept.sum()) == highest:
        return []
    paths = tuple(store.part(number) for number in store.parts)
    prime = next(primes())
    bases = tuple(map_each(_basis, paths, prime))
    return rank_profile(SpreadVectors(paths, bases, prime, rows, highest)).relations or []


def highest_rank(store: SlabStore) -> int:
    """Return what the rank of the outer rows cannot pass: their number, less the rank of the marginals that they share.

    Null vectors sum to 0 over every marginal that an outside constraint shares with an inside one, and have the same
    sums over what two outside constraints share.
    """
    rows = len(store.outer_targets)
    blocks = [np.zeros((0, rows), dtype=np.int64)]
    for n, k in enumerate(store.outside):
        # inside rows imply the marginal that an outside constraint shares with them
        blocks += [_sum_shared(store, [k], store.scopes[j]) for j in store.inside]
        blocks += [_sum_shared(store, [k, other], store.scopes[other]) for other in store.outside[:n]]
    # the null vectors lie in the space that these sums vanish on: its dimension bounds their rank
    return rows - len(rank_profile(Explicit(np.concatenate(blocks))).independent)


def _sum_shared(store: SlabStore, constraints: Sequence[int], scope: Sequence[str]) -> IntArray:
    """Return, over all outer rows, the sums over what a constraint shares with a scope, less those of a second one."""
    shared = [name for name in store.scopes[constraints[0]] if name in scope]
    codes = {k: store.outer_codes[store.outside.index(k)] for k in constraints}
    columns = [np.concatenate([codes[k][store.scopes[k].index(name)] for k in constraints]) for name in shared]
    rows = np.concatenate([np.arange(store.outer_blocks[k].start, store.outer_blocks[k].stop) for k in constraints])
    group = np.zeros(len(rows), dtype=np.int64)
    if shared:
        group = group_profiles(columns, [int(column.max()) + 1 for column in columns])[0]
    block = np.zeros((int(group.max()) + 1, len(store.outer_targets)), dtype=np.int64)
    # null vectors sum alike on both sides: their difference vanishes
    block[group, rows] = np.where(
        rows - store.outer_blocks[constraints[0]].start < len(codes[constraints[0]][0]), 1, -1
    )
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
