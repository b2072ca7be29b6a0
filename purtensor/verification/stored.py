"""The marginals of tables on disk, compared with targets by label: read in passes, in extended precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import IntArray, Table
from purtensor.tables.coded import encode
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.translate import category_map
from purtensor.verification.evidence import LongArray

Profiles = tuple[Sequence[IntArray], Any]
"""The codes of some profiles, one array per attribute, and their masses."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Masses on profiles that are read anew for each pass, piece by piece, and the domain of their codes."""

    domain: Domain
    profiles: Callable[[], Iterable[Profiles]]

    @classmethod
    def of(cls, table: Table) -> Source:
        """Return a table in memory."""
        coded = encode(table)
        return cls(coded.domain, lambda: [(coded.codes, coded.values)])

    def count(self) -> int:
        """Return how many profiles there are."""
        return sum(len(masses) for _, masses in self.profiles())


ROWS_AT_ONCE = 1 << 22
"""Rows of a marginal that are held at once; of more, each pass takes a share."""

# an odd multiplier with well mixed bits, as in the mixers of 64-bit hashes
_FACTOR = np.uint64(0xD6E8FEB86659FD93)


def misses(found: Source, wanted: Source, scope: Sequence[str]) -> tuple[float, float]:
    """Return the largest miss of a marginal, and the sum of all its misses, the wanted total mass being 1.

    The rows are matched by label: categories that only one side knows are rows of their own.
    """
    labels, maps = _unite(found.domain.select(scope), wanted.domain.select(scope))
    sizes = [len(index) for index in labels]
    where = [[source.domain.position(name) for name in scope] for source in (found, wanted)]
    # rows are at most the cells of the marginal, and at most the profiles of both sides
    passes = -(-min(Domain(tuple(scope), tuple(labels)).size, found.count() + wanted.count()) // ROWS_AT_ONCE)
    largest, l1, total = np.longdouble(0), np.longdouble(0), np.longdouble(0)
    for share in range(passes):
        rows = _Rows(sizes)
        for sign, source, places, onto in ((1, found, where[0], maps[0]), (-1, wanted, where[1], maps[1])):
            for codes, masses in source.profiles():
                columns = [m[np.asarray(codes[k], dtype=np.int64)] for k, m in zip(places, onto, strict=True)]
                # shares by hash, which both sides compute alike, so that each row falls into one pass whole
                taken = slice(None) if passes == 1 else hash_rows(columns) % np.uint64(passes) == share
                own = np.asarray(masses, dtype=np.longdouble)[taken]
                rows.add([column[taken] for column in columns], sign * own)
                total += own.sum() if sign < 0 else 0
        # the wanted masses were added with the sign -1
        gaps = np.abs(rows.sums)
        largest, l1 = max(largest, gaps.max(initial=0)), l1 + gaps.sum()
    return float(largest / total), float(l1 / total)


class _Rows:
    """The sums of masses by row, added to piece by piece."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.codes: list[IntArray] = [np.empty(0, dtype=np.int64) for _ in sizes]
        self.sums: LongArray = np.zeros(0, dtype=np.longdouble)

    def add(self, columns: Sequence[IntArray], masses: LongArray) -> None:
        joint = [np.concatenate(pair) for pair in zip(self.codes, columns, strict=True)]
        if not len(joint[0]):
            return
        group, codes = group_profiles(joint, self.sizes)
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        self.sums = np.add.reduceat(np.concatenate([self.sums, masses])[order], starts)
        self.codes = [np.asarray(code, dtype=np.int64) for code in codes]


def _unite(one: Domain, other: Domain) -> tuple[list[pd.Index[Any]], tuple[list[IntArray], list[IntArray]]]:
    """Return united categories of each attribute, and the maps of both domains into them."""
    labels, first, second = [], [], []
    for known, more in zip(one.categories, other.categories, strict=True):
        mapping = category_map(more, known).copy()
        new = np.flatnonzero(mapping < 0)
        mapping[new] = len(known) + np.arange(len(new))
        labels.append(pd.Index([*known, *more[new]], dtype=object) if len(new) else known)
        first.append(np.arange(len(known)))
        second.append(mapping)
    return labels, (first, second)


def hash_rows(columns: Sequence[IntArray]) -> Any:
    """Return a 64-bit hash of each row of these columns."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            mixed = (mixed ^ column.astype(np.uint64)) * _FACTOR
            mixed ^= mixed >> np.uint64(32)
    return mixed
