"""A table that stays on disk: opened without its profiles, which are read chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from purtensor._optional import require_package
from purtensor._printing import Shown
from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownAttributeError
from purtensor.kernels.reductions import group_sums
from purtensor.tables.coded import encode, read_codes, relaid, require_distinct, sparse_table
from purtensor.tables.domain import PROFILE, Domain, as_attributes, join_some
from purtensor.tables.grouping import group_profiles
from purtensor.tables.io.path_checks import path_text, require_store
from purtensor.tables.store.format import read_facts, read_labels, read_profiles
from purtensor.tables.translate import find_profiles, translate_codes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredTable(Shown):
    """A sparse table in a Zarr store: attributes and categories are known, profiles are read when they are needed.

    `project`, `pur`, `marginals_of` and `marginal` take it in place of a table.

    Attributes
    ----------
    path
        The folder of the store.
    domain
        Attributes and their categories.
    profiles, chunk
        How many profiles are stored, and how many make one chunk.
    total
        The mass of the whole table.
    workspace
        The folder where projections of this table keep their slabs and checkpoints.
    """

    path: Path
    domain: Domain
    profiles: int
    chunk: int
    total: float
    workspace: Path

    def summary(self) -> dict[str, str]:
        """Return what is known without reading the profiles."""
        return {
            "on disk": str(self.path),
            "attributes": join_some(
                f"{name} ({size})" for name, size in zip(self.domain.attributes, self.domain.sizes, strict=True)
            ),
            "profiles": f"{self.profiles:,} in {len(self.bounds):,} chunks",
            "total": f"{self.total:.10g}",
        }

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """Where each chunk begins and ends."""
        return [(at, min(at + self.chunk, self.profiles)) for at in range(0, self.profiles, self.chunk)]

    def chunks(self) -> Iterator[Table]:
        """Yield the table chunk by chunk, as sparse tables that share one domain."""
        for begin, end in self.bounds:
            codes, values = read_profiles(self.path, begin, end)
            yield sparse_table(self.domain, codes, values)

    def to_table(self) -> Table:
        """Return the whole table in memory.

        Raises
        ------
        InvalidTableError
            A profile is stored twice, or a value is not a mass.
        TooLargeError
            It does not fit.
        StoreError
            The store is damaged.
        """
        codes, values = read_profiles(self.path, 0, self.profiles)
        self._require_distinct(codes)
        return sparse_table(self.domain, codes, values)

    def to_xarray(self) -> Table:
        """Return the table with its values on disk: sparse, with labels in memory and values as chunks of dask.

        Every chunk is read when it is computed. xarray and dask work with it, and so do the functions that take tables
        on disk. The codes of the labels take a few bytes per profile.

        Raises
        ------
        ImportError
            dask is not installed; the message says how to get it.
        InvalidTableError
            A profile is stored twice.
        StoreError
            The store is damaged.
        """
        require_package("dask", "distributed", "lazy tables need")
        array, delayed = import_module("dask.array"), import_module("dask").delayed
        # the values stay on disk, the labels cannot: xarray's indexes live in memory
        codes = [read_profiles(self.path, *bounds)[0] for bounds in self.bounds]
        joined = tuple(np.concatenate(parts) for parts in zip(*codes, strict=True))
        self._require_distinct(joined)
        parts = [
            array.from_delayed(delayed(_values_of)(self.path, begin, end), (end - begin,), np.float64)
            for begin, end in self.bounds
        ]
        return sparse_table(self.domain, joined, array.concatenate(parts))

    def _require_distinct(self, codes: Sequence[IntArray]) -> None:
        """Refuse a profile that is stored twice: only all together show it, as chunks are checked one by one."""
        require_distinct(
            self.domain,
            codes,
            lambda _, profile: InvalidTableError(f"{self.path}: profile ({profile}) is stored twice; sum its values"),
        )

    def laid_like(self, template: Table, *, name: str) -> Table:
        """Return the stored values in the layout, order and chunks of a table of dask over the same attributes.

        What the template lists and the store does not is 0. Values are read when they are computed.
        """
        lazy = self.to_xarray()
        codes = [np.asarray(code) for code in lazy.indexes[PROFILE].codes]
        where = find_profiles(codes, read_codes(template, self.domain))
        zero = import_module("dask.array").zeros(1, chunks=1)
        padded = import_module("dask.array").concatenate([lazy.data, zero])
        return relaid(template, padded[np.where(where < 0, self.profiles, where)], name=name)


def _values_of(path: Path, begin: int, end: int) -> FloatArray:
    return read_profiles(path, begin, end)[1]


def is_chunked(table: object) -> bool:
    """Return whether a table is of chunks of dask, which may not fit in memory."""
    return isinstance(table, Table) and table.chunks is not None


def open_table(path: str | os.PathLike[str], *, workspace: str | os.PathLike[str] | None = None) -> StoredTable:
    """Return the table that `store_table` wrote, without reading its profiles.

    Parameters
    ----------
    workspace
        Where projections of this table keep their slabs and checkpoints; beside the store unless given.

    Raises
    ------
    InvalidOptionError
        What is not a path.
    MissingStoreError
        Nothing is there.
    StoreError
        It is not a stored table, it is not whole, or it is encoded in a way that is not trusted.

    Examples
    --------
    >>> import purtensor as pt
    >>> stored = pt.store_table(pt.tabulate({"sex": ["f", "m", "m"]}), "counts.zarr")
    >>> pt.results.open_table("counts.zarr").to_table().values
    array([1., 2.])
    """
    require_package("zarr", "distributed", "stored tables need")
    require_store(path)
    folder = Path(path)
    facts = read_facts(folder)
    domain = Domain(facts.attributes, read_labels(folder, facts))
    place = Path(f"{folder}.work") if workspace is None else Path(path_text(workspace))
    return StoredTable(folder, domain, facts.profiles, facts.chunk, facts.total, place)


def require_mass(stored: StoredTable) -> None:
    """Refuse a stored table without mass, of which nothing can be computed.

    Raises
    ------
    InvalidTableError
        Its total is 0.
    """
    if not stored.total > 0.0:
        raise InvalidTableError(f"the table {stored.path} is empty: at least one profile must have positive mass")


def sum_stored(stored: StoredTable, attributes: Attributes) -> Table:
    """Return a marginal of a stored table as a table in memory, summed chunk by chunk."""
    require_mass(stored)
    names = as_attributes(attributes, stored.domain)
    if not names:
        raise InvalidOptionError(
            "a marginal must be over at least one attribute, got none: for the total use table.total"
        )
    domain = stored.domain.select(names)
    where = [stored.domain.position(name) for name in names]
    codes: tuple[IntArray, ...] = tuple(np.empty(0, dtype=np.int64) for _ in names)
    sums = np.empty(0)
    for begin, end in stored.bounds:
        read, values = read_profiles(stored.path, begin, end)
        # the sums so far stand first, as if they were rows of this chunk: memory for the marginal only
        joint = [np.concatenate([old, read[k].astype(np.int64)]) for old, k in zip(codes, where, strict=True)]
        group, codes = group_profiles(joint, domain.sizes)
        sums = group_sums(np.concatenate([sums, values]), group, len(codes[0]))
    positive = sums > 0
    return sparse_table(domain, [code[positive] for code in codes], sums[positive], name="marginal")


def match_stored(stored: StoredTable, table: Table, attributes: Sequence[str]) -> Table:
    """Return the profiles of a stored table that agree with one of `table` on these attributes, in memory."""
    require_mass(stored)
    coded = encode(table)
    domain = stored.domain.select(attributes)
    known = [n for n in attributes if n in coded.domain.attributes]
    if len(known) < len(attributes):
        raise UnknownAttributeError.among(
            next(n for n in attributes if n not in known), coded.domain.attributes, "the table to match"
        )
    wanted = translate_codes(coded, domain)
    # -1: a category that the stored table does not list, and so no profile of it has
    asked = np.all([code >= 0 for code in wanted], axis=0)
    wanted = tuple(code[asked] for code in wanted)
    where = [stored.domain.position(name) for name in attributes]
    found: list[tuple[tuple[IntArray, ...], FloatArray]] = []
    for begin, end in stored.bounds:
        codes, values = read_profiles(stored.path, begin, end)
        here = find_profiles(wanted, [codes[k].astype(np.int64) for k in where]) >= 0
        found.append((tuple(code[here].astype(np.int64) for code in codes), values[here]))
    columns = [np.concatenate(column) for column in zip(*(codes for codes, _ in found), strict=True)]
    return sparse_table(stored.domain, columns, np.concatenate([values for _, values in found]))
