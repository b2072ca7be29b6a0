"""Tables on disk on the same profiles: matched by label, a share of the profiles at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidTableError, UnknownCategoryError
from purtensor.kernels.reductions import group_sums
from purtensor.tables.coded import CodedTable, domain_of, encode
from purtensor.tables.domain import Domain, join_some
from purtensor.tables.grouping import code_type, group_profiles
from purtensor.tables.masses import exact_sum
from purtensor.tables.paired_tables import SharedProfiles, Total, require_same_attributes
from purtensor.tables.store.format import read_profiles
from purtensor.tables.store.table import StoredTable, require_mass
from purtensor.tables.translate import category_map

ROWS_AT_ONCE = 1 << 22
"""Profiles that are matched at once; of more, each pass over the tables takes a share."""

# 2^64 over the golden ratio, odd: multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Read:
    """A table wherever it lies, its profiles with mass read piece by piece."""

    table: Table | StoredTable

    @cached_property
    def coded(self) -> StoredTable | CodedTable:
        """The table with its domain: on disk, or in codes."""
        return self.table if isinstance(self.table, StoredTable) else encode(self.table, allow_empty=True)

    @cached_property
    def domain(self) -> Domain:
        """Attributes and categories."""
        return self.table.domain if isinstance(self.table, StoredTable) else domain_of(self.table)

    @property
    def profiles(self) -> int:
        """How many there are at most."""
        return self.table.profiles if isinstance(self.table, StoredTable) else int(self.table.size)

    def pieces(self) -> Iterator[tuple[Sequence[IntArray], FloatArray]]:
        """Yield codes and masses of profiles with mass."""
        if isinstance(self.coded, CodedTable):
            yield self.coded.codes, self.coded.values
            return
        for begin, end in self.coded.bounds:
            codes, values = read_profiles(self.coded.path, begin, end)
            on = values > 0
            yield [np.asarray(code, dtype=np.int64)[on] for code in codes], values[on]

    def total(self) -> Total:
        """Return the mass to about 32 digits.

        Raises
        ------
        InvalidTableError
            There is none.
        """
        if isinstance(self.table, StoredTable):
            require_mass(self.table)
        sums: list[float] = []
        for _, values in self.pieces():
            high = exact_sum(values)
            # the second is what rounding took from the first
            sums += [high, exact_sum(np.append(values, -high))]
        whole = math.fsum(sums)
        if not whole > 0.0:
            raise InvalidTableError("the table is empty: at least one profile must have positive mass")
        # scaled by a power of two, which is exact, so that later products stay within float64
        exponent = math.frexp(whole)[1]
        low = math.fsum([*sums, -whole])
        return Total(math.ldexp(whole, -exponent), math.ldexp(low, -exponent), exponent)


def pair_batches(
    p: Table | StoredTable, q: Table | StoredTable, attributes: Sequence[str] | None = None
) -> Iterator[SharedProfiles]:
    """Yield two tables on the profiles of either, all at once where both lie in memory, else share by share.

    Parameters
    ----------
    attributes
        Over which the tables are summed; all of them when None.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        As for `match_tables`.
    InvalidTableError
        A table without mass.
    """
    reads = [Read(p), Read(q)]
    totals = [read.total() for read in reads]
    for _, (one, other) in match_tables(reads, ("p", "q"), attributes):
        yield SharedProfiles(one, other, *totals)


def match_tables(
    reads: Sequence[Read], names: Sequence[str], attributes: Sequence[str] | None = None
) -> Iterator[tuple[tuple[IntArray, ...], list[FloatArray]]]:
    """Yield the codes of profiles, in the first table's categories, and the masses of all tables on them.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        The tables are not over the same attributes, or one has mass in a category that another does not list.
    """
    domains = [read.domain for read in reads]
    if attributes is None:
        require_same_attributes(domains, names)
    scope = tuple(domains[0].attributes if attributes is None else attributes)
    domain = domains[0].select(scope)
    maps = [_maps(own, domains, names, at, scope) for at, own in enumerate(domains)]
    on_disk = any(isinstance(read.table, StoredTable) for read in reads)
    # rounded up
    passes = max(1, -(-sum(read.profiles for read in reads) // ROWS_AT_ONCE)) if on_disk else 1
    for share in range(passes):
        parts = [_read_share(read, scope, ways, share, passes) for read, ways in zip(reads, maps, strict=True)]
        listed = parts[0][0]
        # tables that list the same profiles in the same order, as a projection and its reference do, need no matching
        if attributes is None and all(_same(codes, listed) for codes, _ in parts[1:]):
            if len(listed[0]):
                yield tuple(listed), [masses for _, masses in parts]
            continue
        joint = [np.concatenate(column) for column in zip(*(codes for codes, _ in parts), strict=True)]
        if not len(joint[0]):
            continue
        group, distinct = group_profiles(joint, domain.sizes)
        # the profiles of each table stand one after the other
        groups = np.split(group, np.cumsum([len(masses) for _, masses in parts])[:-1])
        # each profile of a table is a group of its own, unless attributes are summed out
        add = _add if attributes is None else group_sums
        rows = len(distinct[0])
        sums = [add(masses, own, rows) for own, (_, masses) in zip(groups, parts, strict=True)]
        yield tuple(distinct), sums


def _same(one: Sequence[IntArray], other: Sequence[IntArray]) -> bool:
    return all(np.array_equal(own, its) for own, its in zip(one, other, strict=True))


def _add(masses: FloatArray, group: IntArray, count: int) -> FloatArray:
    """Return the plain sum of each group."""
    return np.asarray(np.bincount(group, masses, count), dtype=np.float64)


def _read_share(
    read: Read, scope: Sequence[str], ways: Sequence[_Way], share: int, passes: int
) -> tuple[list[IntArray], FloatArray]:
    """Return the codes, in the first table's categories, and the masses of one share of a table's profiles."""
    columns: list[list[IntArray]] = []
    values: list[FloatArray] = []
    for codes, masses in read.pieces():
        here = [way.of(codes[read.domain.position(name)]) for name, way in zip(scope, ways, strict=True)]
        # all tables hash the first one's codes, and so put a profile into the same share
        taken = slice(None) if passes == 1 else hash_rows(here) % np.uint64(passes) == share
        columns.append([code[taken] for code in here])
        values.append(masses[taken])
    if len(values) == 1:
        return columns[0], values[0]
    return [np.concatenate(column) for column in zip(*columns, strict=True)], np.concatenate(values)


def hash_rows(columns: Iterable[IntArray]) -> IntArray:
    """Return a 64-bit hash of each row of these columns."""
    mixed: IntArray | None = None
    with np.errstate(over="ignore"):
        for column in columns:
            own = np.asarray(column).astype(np.uint64)
            mixed = own * _FACTOR if mixed is None else (mixed ^ own) * _FACTOR
            # a product mixes its high bits best; the share is taken from the low ones
            mixed ^= mixed >> np.uint64(29)
    if mixed is None:
        raise AssertionError("unreachable: a profile has an attribute")
    return mixed


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """The codes of one attribute of one table in the first table's categories, refused where a table lacks one."""

    mapping: IntArray | None
    refused: Mapping[int, str]

    def of(self, codes: IntArray) -> IntArray:
        if self.refused:
            for code in np.unique(codes).tolist():
                if code in self.refused:
                    raise UnknownCategoryError(self.refused[code])
        return codes if self.mapping is None else self.mapping[codes]


def _maps(own: Domain, domains: Sequence[Domain], names: Sequence[str], at: int, scope: Sequence[str]) -> list[_Way]:
    ways = []
    for name in scope:
        categories = own.categories[own.position(name)]
        refused: dict[int, str] = {}
        lists = [domain.categories[domain.position(name)] for domain in domains]
        found = [category_map(categories, known) for known in lists]
        for other, known, codes in zip(names, lists, found, strict=True):
            for code in np.flatnonzero(codes < 0).tolist():
                refused[code] = (
                    f"{names[at]} has mass in {name}={categories[code]}, a category that {other} does not list (it has "
                    f"{join_some(known)}); labels are compared with their types"
                )
        # small types take the grouping a third less time
        mapping = found[0].astype(code_type(len(lists[0]))) if at else None
        ways.append(_Way(mapping, refused))
    return ways
