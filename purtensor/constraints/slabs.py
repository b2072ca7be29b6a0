"""Slabs: the parts of the support that only a few rows couple.

A slab key is a set of attributes that some constraints share; a slab is the profiles with one value of the key.
Constraints that contain the key (inside) have rows of one slab only; the others (outside) couple the slabs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import IntArray
from purtensor.constraints.indexing import count_codes, order_by_rank, put, take
from purtensor.constraints.system import System, group_rows
from purtensor.kernels.codes import counting_order
from purtensor.tables.grouping import places


@dataclass(frozen=True, slots=True, eq=False)
class Slabs:
    """A system whose profiles lie slab by slab, within a slab in groups of one primary row.

    Attributes
    ----------
    key
        The attributes that the inside constraints share.
    inside, outside
        Constraint numbers; `inside[0]` is the primary one, whose rows are eliminated first.
    slab_ptr, slab_group_ptr
        Shape (slabs + 1,): where the profiles and the groups of each slab begin.
    group_ptr, primary
        Where the profiles of each group begin, shape (groups + 1,); its row among all rows, shape (groups,).
    slab_of_primary
        The slab of each row of the primary constraint.
    """

    key: tuple[str, ...]
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    slab_ptr: IntArray
    slab_group_ptr: IntArray
    group_ptr: IntArray
    primary: IntArray
    slab_of_primary: IntArray

    @property
    def count(self) -> int:
        """The number of slabs."""
        return len(self.slab_ptr) - 1


def choose_key(system: System) -> tuple[str, ...] | None:
    """Return the slab key that leaves the fewest rows outside; among equals the one with the most slabs.

    Candidates are the intersections of scopes. None where no two scopes share an attribute or there is one slab.
    """
    rows = np.diff(system.offsets)
    scopes = [frozenset(scope) for scope in system.scopes]
    # sorted, as sets have another order in every process, and the first of equals is taken
    candidates = sorted({one & other for one in scopes for other in scopes} - {frozenset()}, key=sorted)
    if not candidates:
        return None
    # rows outside end in the dense coupling matrix (notes/newton.md, equation 5)
    outside = [int(rows[[not key <= scope for scope in scopes]].sum()) for key in candidates]
    fewest = [key for key, count in zip(candidates, outside, strict=True) if count == min(outside)]
    best = fewest[0] if len(fewest) == 1 else max(fewest, key=lambda key: _slab_bound(system, key))
    key_scope = next(scope for scope in system.scopes if best <= set(scope))
    return tuple(name for name in key_scope if name in best)


def _slab_bound(system: System, key: frozenset[str]) -> int:
    """Return the number of slabs that a key gives, by the rows of one constraint that contains it."""
    k = next(k for k, scope in enumerate(system.scopes) if key <= set(scope))
    _, distinct = group_rows(system, [k], [name for name in system.scopes[k] if name in key])
    return len(distinct[0])


def in_slab_order(system: System, *, in_place: bool = False) -> tuple[System, Slabs | None, IntArray]:
    """Return the system arranged by the slab key that is best, the slabs, and the order in which the profiles now lie.

    Where there is no key the system is returned as it is, with None for slabs. `in_place` overwrites its index.
    """
    key = choose_key(system)
    return (system, None, places(system.profiles)) if key is None else arrange(system, key, in_place=in_place)


def arrange(system: System, key: tuple[str, ...], *, in_place: bool = False) -> tuple[System, Slabs, IntArray]:
    """Return the system with its profiles in slab order, the slabs, and the order in which the profiles now lie."""
    rows = np.diff(system.offsets)
    inside = [k for k, scope in enumerate(system.scopes) if set(key) <= set(scope)]
    outside = tuple(k for k in range(len(rows)) if k not in inside)
    # the primary rows are eliminated by a diagonal (notes/newton.md, equation 3): best the most
    inside.sort(key=lambda k: -int(rows[k]))
    main = inside[0]
    slab_of_row, distinct = group_rows(system, [main], [name for name in system.scopes[main] if name in key])
    slabs = len(distinct[0])
    by_slab = counting_order(slab_of_row, slabs)
    rank = np.empty(len(by_slab), dtype=np.int64)
    # the inverse permutation: where a row stands in slab order
    rank[by_slab] = np.arange(len(by_slab))
    sizes = count_codes(system.index[main], len(by_slab))[by_slab]
    arranged, order = _in_rank(system, main, rank, sizes, in_place=in_place)
    # rows without a profile make no group
    filled = np.flatnonzero(sizes)
    group_slab = slab_of_row[by_slab[filled]]
    slab_group_ptr = np.concatenate([[0], np.cumsum(np.bincount(group_slab, minlength=slabs))]).astype(np.int64)
    group_ptr = np.concatenate([[0], np.cumsum(sizes[filled])]).astype(np.int64)
    return (
        arranged,
        Slabs(
            key=key,
            inside=tuple(inside),
            outside=outside,
            slab_ptr=group_ptr[slab_group_ptr],
            slab_group_ptr=slab_group_ptr,
            group_ptr=group_ptr,
            primary=int(system.offsets[main]) + by_slab[filled],
            slab_of_primary=slab_of_row,
        ),
        order,
    )


def _in_rank(system: System, k: int, rank: IntArray, sizes: IntArray, *, in_place: bool) -> tuple[System, IntArray]:
    """Return the system with its profiles in the order of their rows of constraint k, and that order.

    `sizes` says how many profiles there are of each rank.
    """
    order = order_by_rank(system.index[k], rank, sizes)
    if order is None:
        return system, places(system.profiles)
    index = system.index if in_place else np.empty_like(system.index)
    for row, moved in zip(system.index, index, strict=True):
        take(row.copy() if in_place else row, order, moved)
    return replace(system, index=index), order


def slab_of_rows(system: System, slabs: Slabs, k: int) -> IntArray:
    """Return the slab of each row of an inside constraint."""
    main = slabs.inside[0]
    if k == main:
        return slabs.slab_of_primary
    found = np.zeros(int(system.offsets[k + 1] - system.offsets[k]), dtype=np.int64)
    # all profiles of the row are in one slab, since its scope contains the key: the last one says which
    put(found, system.index[k], np.repeat(np.arange(slabs.count), np.diff(slabs.slab_ptr)))
    return found


def local_codes(system: System, slabs: Slabs, k: int) -> tuple[IntArray, int]:
    """Return for each row of an inside constraint the number of its categories outside of the key, and how many."""
    code, distinct = group_rows(system, [k], [name for name in system.scopes[k] if name not in slabs.key])
    return code, len(distinct[0]) if distinct else 1
