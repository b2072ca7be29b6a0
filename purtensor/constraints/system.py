"""Constraints in integer codes: which row of each constraint every profile of the support belongs to.

This is the coefficient matrix C in its most compact form: column i of C has a one in row
`offsets[k] + index[k, i]` for each constraint k, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.indexing import append_codes, mark, take
from purtensor.constraints.marginals import Marginal
from purtensor.errors import UnknownCategoryError
from purtensor.tables.coded import CodedTable
from purtensor.tables.domain import Domain, describe_profile
from purtensor.tables.grouping import code_type, codes_of_keys, group_profiles, places, profile_keys, smallest_unsigned
from purtensor.tables.translate import category_map

V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """The constraints C p = b on a support of M profiles, K constraints, D rows in all.

    Attributes
    ----------
    index
        Shape (K, M): the row of each profile within each constraint, in the smallest unsigned type that serves.
    offsets
        Shape (K + 1,): where the rows of each constraint begin among all rows.
    targets
        Shape (D,): b, in the units in which the targets came.
    domain
        The domain of the reference, in whose categories `row_codes` are written.
    scopes, row_codes
        For each constraint its attributes, and for each of them the category code of every row.
    kept
        What was worked out for these constraints, by what it is: see `remember`.
    """

    index: IntArray
    offsets: IntArray
    targets: FloatArray
    domain: Domain
    scopes: tuple[tuple[str, ...], ...]
    row_codes: tuple[tuple[IntArray, ...], ...]
    kept: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def profiles(self) -> int:
        """The number of profiles of the support."""
        return int(self.index.shape[1])

    @property
    def rows(self) -> int:
        """The number of rows of all constraints."""
        return int(self.offsets[-1])

    def block(self, k: int) -> slice:
        """Return where the rows of constraint k stand among all rows."""
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    def remember(self, key: Hashable, build: Callable[[], V]) -> V:
        """Return what `build` makes, made once for each key and kept as long as the system lives."""
        if key not in self.kept:
            self.kept[key] = build()
        found: V = self.kept[key]
        return found

    def without_profiles(self) -> System:
        """Return the rows alone, on no profile: what labels need, without what is large."""
        return replace(self, index=self.index[:, :0].copy())

    def of_constraints(self, chosen: Sequence[int]) -> tuple[System, IntArray]:
        """Return some of the constraints on all profiles, and their rows among all."""
        blocks = [self.block(k) for k in chosen]
        rows = np.concatenate([np.arange(block.start, block.stop) for block in blocks])
        system = System(
            index=np.ascontiguousarray(self.index[list(chosen)]),
            offsets=np.cumsum([0, *(block.stop - block.start for block in blocks)]).astype(np.int64),
            targets=self.targets[rows],
            domain=self.domain,
            scopes=tuple(self.scopes[k] for k in chosen),
            row_codes=tuple(self.row_codes[k] for k in chosen),
        )
        return system, rows

    def with_targets(self, targets: FloatArray) -> System:
        """Return the same rows with other targets."""
        return replace(self, targets=targets)

    def row_label(self, row: int) -> str:
        """Return a row as text, such as 'sex=male, age=young'."""
        k = int(np.searchsorted(self.offsets, row, side="right")) - 1
        local = row - int(self.offsets[k])
        return describe_profile(self.domain.select(self.scopes[k]), [code[local] for code in self.row_codes[k]])

    def find_supported(self) -> BoolArray:
        """Return for each row whether a profile of the support belongs to it."""
        found = np.zeros(self.rows, dtype=bool)
        for k in range(len(self.scopes)):
            mark(self.index[k], found[self.block(k)])
        return found


def rows_of(offsets: IntArray, constraints: Iterable[int]) -> IntArray:
    """Return the numbers of all rows of some constraints, one constraint after the other."""
    blocks = (np.arange(offsets[k], offsets[k + 1]) for k in constraints)
    return np.concatenate([np.empty(0, dtype=np.int64), *blocks])


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A system without its zero targets: `profiles` and `rows` are the positions in the full system."""

    system: System
    profiles: IntArray
    rows: IntArray


def align(reference: CodedTable, constraints: Sequence[Marginal]) -> System:
    """Return the constraints on the support of the reference, aligned by attribute name and category label.

    The rows of a constraint are the profiles of its scope with mass in the reference or in the target, in the
    category order of the reference.

    Raises
    ------
    UnknownAttributeError
        A target is over an attribute that the reference lacks.
    UnknownCategoryError
        A target gives mass to a category that the reference does not know, or the reference has mass in one that
        the target does not know.
    """
    aligned = [_target_codes(reference, constraint) for constraint in constraints]
    profiles = len(reference.values)
    bounds = []
    for constraint in constraints:
        size = reference.domain.select(constraint.scope).size
        listed_all = size <= _most_combinations(profiles)  # then the index holds combinations before it holds rows
        bounds.append(size if listed_all else min(size, profiles + len(constraint.coded.values)))
    # the largest array of all: one byte a row number where that does
    index = np.empty((len(constraints), profiles), dtype=smallest_unsigned(max(bounds)))
    targets, row_codes = [], []
    for constraint, own, out in zip(constraints, aligned, index, strict=True):
        sizes = reference.domain.select(constraint.scope).sizes
        row, codes = _number_rows(reference.columns(constraint.scope), own, sizes, out)
        values = np.zeros(len(codes[0]))
        # rows that only the reference has keep the target 0
        values[row] = constraint.coded.values
        targets.append(values)
        row_codes.append(codes)
    counts = [len(target) for target in targets]
    return System(
        index=index.astype(smallest_unsigned(max(counts)), copy=False),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        targets=np.concatenate(targets),
        domain=reference.domain,
        scopes=tuple(constraint.scope for constraint in constraints),
        row_codes=tuple(row_codes),
    )


def _target_codes(reference: CodedTable, constraint: Marginal) -> list[IntArray]:
    """Return the profiles of a target in the reference's categories, all checked to be known on both sides."""
    target = constraint.coded
    onto = reference.domain.select(constraint.scope)
    support = reference.columns(constraint.scope)
    found = []
    for name, categories, column, own, known in zip(
        constraint.scope, onto.categories, support, target.codes, target.domain.categories, strict=True
    ):
        mapping = category_map(known, categories)
        if len(own) and mapping[own].min() < 0:
            raise UnknownCategoryError.with_mass(
                known[own[np.argmin(mapping[own])]], name, categories, of="the target", lacks="the reference"
            )
        reached = np.zeros(len(categories), dtype=bool)
        reached[mapping[mapping >= 0]] = True
        # unknown is not 0: a label that is spelled otherwise would lose its mass unnoticed
        if not reached.all():
            lost = column[~reached[column]]
            if len(lost):
                raise UnknownCategoryError.with_mass(
                    categories[lost[0]], name, known, of="the reference", lacks="the target"
                )
        found.append(mapping[own])
    return found


def _most_combinations(profiles: int) -> int:
    """Return how many combinations of categories may be listed to number the rows of so many profiles."""
    # as in tables.grouping: flags beat sorting while they are about as many as the profiles
    return max(1 << 16, 4 * profiles)


def _number_rows(
    support: Sequence[IntArray], target: Sequence[IntArray], sizes: Sequence[int], out: IntArray
) -> tuple[IntArray, tuple[IntArray, ...]]:
    """Write the row of each profile of the support; return that of each target, and the codes of every row.

    Where all combinations of the scope's categories can be listed nothing is sorted, and nothing is made for every
    profile but its row.
    """
    bound = math.prod(sizes)
    if bound > _most_combinations(len(out)):
        group, row_codes = group_profiles([np.concatenate(pair) for pair in zip(support, target, strict=True)], sizes)
        out[:] = group[: len(out)]
        return group[len(out) :], row_codes
    out[:] = 0
    for code, size in zip(support, sizes, strict=True):
        append_codes(out, code, size)
    own, _ = profile_keys(target, sizes)
    present = np.zeros(bound, dtype=bool)
    mark(out, present)
    present[own] = True
    rows = np.flatnonzero(present)
    if len(rows) < bound:
        number = np.cumsum(present) - 1
        # in place: combinations become numbers of rows
        take(number, out, out)
        own = number[own]
    row_codes = codes_of_keys(rows, sizes)
    return own, tuple(code.astype(code_type(size)) for code, size in zip(row_codes, sizes, strict=True))


def reduce_system(system: System) -> Reduction:
    """Return the system without zero targets: their profiles and their rows are removed, to a fixed point.

    Removing profiles makes no new zero target, so one pass over the profiles reaches it; rows whose profiles all
    went although their target is positive stay, without support, and make the problem infeasible.
    """
    zero = system.targets == 0.0
    if not zero.any():
        return Reduction(system, places(system.profiles), places(system.rows))
    gone = np.zeros(system.profiles, dtype=bool)
    stays = [~zero[system.block(k)] for k in range(len(system.scopes))]
    for stay, rows in zip(stays, system.index, strict=True):
        if not stay.all():
            # no mass is negative: where a sum is 0, each of its terms is
            gone |= ~stay[rows]
    profiles = places(system.profiles)[~gone]
    sizes = [int(stay.sum()) for stay in stays]
    index = np.empty((len(sizes), len(profiles)), dtype=smallest_unsigned(max(sizes)))
    for stay, rows, kept in zip(stays, system.index, index, strict=True):
        take(np.cumsum(stay) - 1, rows[profiles], kept)
    reduced = System(
        index=index,
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        targets=system.targets[~zero],
        domain=system.domain,
        scopes=system.scopes,
        row_codes=tuple(
            tuple(code[stay] for code in codes) for codes, stay in zip(system.row_codes, stays, strict=True)
        ),
    )
    return Reduction(reduced, profiles, places(system.rows)[~zero])


def group_rows(
    system: System, constraints: Iterable[int], names: Sequence[str]
) -> tuple[IntArray, tuple[IntArray, ...]]:
    """Return the profile over `names` of each row of some constraints, numbered together, and the profiles' codes."""
    own = [(system.scopes[k], system.row_codes[k]) for k in constraints]
    if not names:
        return np.zeros(sum(len(codes[0]) for _, codes in own), dtype=np.int64), ()
    columns = [np.concatenate([codes[scope.index(name)] for scope, codes in own]) for name in names]
    return group_profiles(columns, [int(column.max(initial=0)) + 1 for column in columns])


def joint_groups(system: System, pair: tuple[int, int], names: Sequence[str]) -> tuple[IntArray, list[int]]:
    """Return the profile over `names` of each row of two constraints, numbered together, and their row counts."""
    sizes = [system.block(k).stop - system.block(k).start for k in pair]
    return group_rows(system, pair, names)[0], sizes


def columns_of(system: System) -> sparse.csc_array:
    """Return C by columns, shape (D, M)."""
    count, profiles = system.index.shape
    # 32 bits halve the index arrays wherever all positions fit
    kind = np.dtype(np.int32 if count * profiles < 2**31 and system.rows < 2**31 else np.int64)
    places = np.empty((profiles, count), dtype=kind)
    for k in range(count):
        np.add(system.index[k], system.offsets[k], out=places[:, k], casting="unsafe")
    begins = np.arange(profiles + 1, dtype=kind) * kind.type(count)
    # all columns have one 1 a constraint: nothing to sort
    return sparse.csc_array((np.ones(places.size), places.reshape(-1), begins), shape=(system.rows, profiles))


def submatrix(system: System, profiles: IntArray) -> System:
    """Return the system on fewer profiles, all rows kept."""
    return replace(system, index=np.ascontiguousarray(system.index[:, profiles]))
