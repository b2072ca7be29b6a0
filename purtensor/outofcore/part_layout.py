"""From the scattered profiles of a part to its rows: numbered, compared, and laid out in slabs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.consistency import ROUNDING
from purtensor.constraints.slabs import Slabs, arrange
from purtensor.constraints.system import System, rows_of
from purtensor.kernels.reductions import group_sums
from purtensor.outofcore.coupling_rank import independent_outer_rows, structure_of
from purtensor.outofcore.part import Part, write_labels, write_part
from purtensor.outofcore.partition import NOTHING, Extent, find_keys, gather
from purtensor.outofcore.slab_store import SlabStore
from purtensor.solving.hessian.arrowhead import Arrowhead, build_arrowhead
from purtensor.solving.hessian.bipartite import Bipartite, build_bipartite
from purtensor.solving.scaling import scale_targets
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles, profile_keys, smallest_unsigned


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """What every part is made by.

    Attributes
    ----------
    store
        The problem, as far as it is known before its parts are made.
    attributes, sizes
        Of the reference.
    scattered
        For each constraint the folder of its scattered target; None where it is the reference's own marginal, or
        couples the slabs.
    prime
        The coupling's rank is searched for modulo this prime first.
    compared
        Pairs of inside constraints whose targets may disagree on what they share: too large to be compared before.
    """

    store: SlabStore
    attributes: tuple[str, ...]
    sizes: tuple[int, ...]
    scattered: tuple[Path | None, ...]
    prime: int
    compared: tuple[tuple[int, int], ...]

    def scope_sizes(self, k: int) -> list[int]:
        """Return the sizes of the attributes of constraint k."""
        return [self.sizes[self.attributes.index(name)] for name in self.store.scopes[k]]


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """The result of laying out a part.

    Attributes
    ----------
    slabs
        How many there are.
    mass, smallest
        Of the reference; its smallest mass, or a target that is smaller still.
    basis
        Of the null vectors of the slabs, summed over the outer rows, modulo the prime; None where nothing couples them.
    """

    slabs: int
    mass: float
    smallest: float
    basis: IntArray | None


def lay_out(
    path: Path, given: System, reference: FloatArray, key: tuple[str, ...], prime: int
) -> tuple[IntArray, Laid]:
    """Write the part of a system whose inside rows all have a profile; return which profile stands where, and more.

    Without a key all rows couple the parts, and there is nothing to eliminate.
    """
    form: Bipartite | Arrowhead
    if not key:
        system, order, vectors, form = given, np.arange(given.profiles), None, _without_slabs(given)
    else:
        system, slabs, order = arrange(given, key)
        independent, vectors = structure_of(system.index, system.offsets, slabs.inside, slabs.outside, slabs.slab_ptr)
        # where coupling rows depend on the cell alone the slabs have a form of their own, which is faster
        form = build_bipartite(system, slabs, independent) or build_arrowhead(system, slabs, independent)
    reference, slabs = reference[order], form.slabs
    write_part(path, Part(reference, system.index, system.offsets, system.targets, slabs.inside, slabs.outside, form))
    basis = vectors.span(prime).basis if vectors is not None else None
    smallest = min(float(reference.min(initial=np.inf)), float(system.targets[system.targets > 0].min()))
    return order, Laid(slabs.count, float(reference.sum()), smallest, basis)


def _without_slabs(system: System) -> Arrowhead:
    """Return the equations of a part in which no row is eliminated."""
    none, begin, outside = np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64), tuple(range(len(system.scopes)))
    nowhere: BoolArray = np.zeros(0, dtype=bool)
    slabs = Slabs((), (), outside, begin, begin, begin, none, none)
    rows = rows_of(system.offsets, outside)
    return Arrowhead(slabs, nowhere, none, nowhere, begin, none, begin, none, rows, system.rows, "")


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """The result of creating a part.

    Attributes
    ----------
    stored
        How many profiles the table has there.
    extent
        What the scale has to hold.
    laid
        The layout of the profiles of the problem, masses and targets as scaled; None where there are none.
    repeated
        The codes of a profile that is stored twice.
    bare
        A constraint and the codes of one of its rows that has a positive target and no profile.
    disagreement
        Two constraints, the codes of a profile of what they share, and its mass by each of them, as scaled.
    """

    stored: int = 0
    extent: Extent = NOTHING
    laid: Laid | None = None
    repeated: tuple[int, ...] | None = None
    bare: tuple[int, tuple[int, ...]] | None = None
    disagreement: tuple[tuple[int, int], tuple[int, ...], tuple[float, float]] | None = None


def gather_part(number: int, recipe: Recipe) -> Gathered:
    """Make a part out of the scattered profiles, write it and its labels, and return what was found."""
    store = recipe.store
    columns, values = gather(store.folder / "scattered", number)
    # a canonical order makes the result independent of how the table was chunked
    order, repeated = _canonical(columns, recipe)
    if repeated is not None:
        return Gathered(repeated=repeated)
    columns, values = [column[order] for column in columns], values[order]
    found = _Rows.of(recipe, number, columns, values)
    # targets too large for memory are compared here, where both sides of a slab are together
    for pair in recipe.compared:
        disagreement = found.disagreement(recipe, pair)
        if disagreement is not None:
            return Gathered(disagreement=disagreement)
    # a zero target of any constraint empties its profiles before anything is numbered
    alive = values > 0
    for k in range(len(store.scopes)):
        alive &= found.alive(k)
    for k in store.inside:
        # after zero targets of all constraints: a row may have profiles that another one empties
        row = found.find_bare(k, alive)
        if row is not None:
            return Gathered(bare=(k, tuple(int(code[row]) for code in found.codes[k])))
    profiles, extent = np.flatnonzero(alive), Extent.of(values, alive)
    laid = None
    if len(profiles):
        # by a power of two, so that no digit is lost
        reference = np.ldexp(values[profiles], -store.reference_exponent)
        system = found.system(store, profiles)
        order, laid = lay_out(store.part(number), system, reference, store.key, recipe.prime)
        profiles = profiles[order]
    # the table has all of its profiles, with mass 0 where zeros leave them out: these come last
    order = np.concatenate([profiles, np.flatnonzero(~alive)])
    codes = [column[order] for column in columns]
    write_labels(store.labels(number), codes, recipe.sizes, values[~alive], len(profiles))
    return Gathered(len(values), extent, laid)


def _canonical(columns: Sequence[IntArray], recipe: Recipe) -> tuple[IntArray, tuple[int, ...] | None]:
    """Return the profiles' order by their codes, the key's first, and one that occurs twice."""
    # the key first, so that each slab is one stretch
    first = [recipe.attributes.index(name) for name in recipe.store.key]
    rest = [k for k in range(len(columns)) if k not in first]
    keys, _ = profile_keys([columns[k] for k in (*first, *rest)], [recipe.sizes[k] for k in (*first, *rest)])
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    return order, tuple(int(column[order[again[0]]]) for column in columns) if len(again) else None


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """For each constraint the row of every profile (-1: none), the codes of the rows, and their targets as scaled."""

    index: list[IntArray]
    codes: list[tuple[IntArray, ...]]
    targets: list[FloatArray]

    @classmethod
    def of(cls, recipe: Recipe, number: int, columns: Sequence[IntArray], values: FloatArray) -> _Rows:
        rows, store = cls([], [], []), recipe.store
        for k, scope in enumerate(store.scopes):
            own = [columns[recipe.attributes.index(name)] for name in scope]
            if k in store.outside:
                codes = store.outer_codes[store.outside.index(k)]
                rows.index.append(find_keys(profile_keys(codes, recipe.scope_sizes(k))[0], own, recipe.scope_sizes(k)))
                rows.codes.append(codes)
                rows.targets.append(store.outer_targets[store.outer_blocks[k]])
                continue
            folder = recipe.scattered[k]
            given = (own, values) if folder is None else gather(folder, number)
            rows._add(own, recipe.scope_sizes(k), *given, store.target_exponent)
        return rows

    def _add(
        self,
        own: Sequence[IntArray],
        sizes: Sequence[int],
        target: Sequence[IntArray],
        masses: FloatArray,
        exponent: int,
    ) -> None:
        joint = [np.concatenate(pair) for pair in zip(own, target, strict=True)]
        group, codes = group_profiles(joint, sizes)
        count = len(own[0])
        self.index.append(group[:count])
        self.codes.append(codes)
        self.targets.append(scale_targets(group_sums(masses, group[count:], len(codes[0])), exponent))

    def disagreement(
        self, recipe: Recipe, pair: tuple[int, int]
    ) -> tuple[tuple[int, int], tuple[int, ...], tuple[float, float]] | None:
        """Return where the targets of two inside constraints disagree most on what they share, beyond rounding."""
        (one, two), scopes = pair, recipe.store.scopes
        shared = [name for name in scopes[one] if name in scopes[two]]
        joint = [
            np.concatenate([self.codes[k][scopes[k].index(name)].astype(np.int64) for k in pair]) for name in shared
        ]
        group, codes = group_profiles(joint, [recipe.sizes[recipe.attributes.index(name)] for name in shared])
        ends = len(self.targets[one])
        count = len(codes[0])
        first = group_sums(self.targets[one], group[:ends], count)
        second = group_sums(self.targets[two], group[ends:], count)
        gaps = np.abs(first - second)
        if not count or gaps.max() <= ROUNDING * recipe.store.total:
            return None
        worst = int(np.argmax(gaps))
        return pair, tuple(int(code[worst]) for code in codes), (float(first[worst]), float(second[worst]))

    def alive(self, k: int) -> BoolArray:
        """Mark the profiles whose row of constraint k has a positive target."""
        rows = self.index[k]
        # row -1 picks the 0 at the end
        return np.asarray((rows >= 0) & (np.append(self.targets[k], 0.0)[rows] > 0))

    def find_bare(self, k: int, alive: BoolArray) -> int | None:
        """Return a row of constraint k with a positive target and no profile, None where there is none."""
        has = np.zeros(len(self.targets[k]), dtype=bool)
        has[self.index[k][alive]] = True
        bare = np.flatnonzero((self.targets[k] > 0) & ~has)
        return int(bare[0]) if len(bare) else None

    def system(self, store: SlabStore, profiles: IntArray) -> System:
        """Return the constraints on these profiles, without the inside rows of target zero."""
        index, codes, targets = [], [], []
        for k in range(len(store.scopes)):
            # outside rows keep the numbers that all parts share, even where a part has none of their profiles
            stays = np.full(len(self.targets[k]), k in store.outside) | (self.targets[k] > 0)
            index.append((np.cumsum(stays) - 1)[self.index[k][profiles]])
            codes.append(tuple(code[stays] for code in self.codes[k]))
            targets.append(self.targets[k][stays])
        counts = [len(target) for target in targets]
        return System(
            np.array(index, dtype=smallest_unsigned(max(counts))),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate(targets),
            Domain((), ()),
            store.scopes,
            tuple(codes),
        )


def add_parts(store: SlabStore, laid: Mapping[int, Laid], prime: int) -> SlabStore:
    """Return a problem with its parts, which are laid out in its folder by their numbers, and what they determine."""
    note = "L-BFGS on the dual, with all rows in memory; no bound is proved"
    # the rank of rows without slabs is not asked for: no equations are solved on them
    kept = np.ones(len(store.outer_targets), dtype=bool)
    if store.key:
        kept = independent_outer_rows(store, {number: one.basis for number, one in laid.items()}, prime)
        slabs = sum(one.slabs for one in laid.values())
        note = f"arrowhead over {' x '.join(store.key)}: {slabs} slabs in {len(laid)} parts, {kept.sum()} coupling rows"
    return replace(
        store,
        parts=tuple(laid),
        kept=kept,
        smallest=min(one.smallest for one in laid.values()),
        # exactly rounded, so that the order of the parts does not matter
        mass=math.fsum(one.mass for one in laid.values()),
        note=note,
    )
