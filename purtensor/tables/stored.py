"""Tables that stay on disk, in a Zarr store: read and written chunk by chunk, never held whole."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError, StoreError, UnknownAttributeError
from purtensor.kernels.sums import group_sums
from purtensor.tables.coded import as_masses, described, domain_of, encode, is_sparse, sparse_table
from purtensor.tables.domain import PROFILE, Domain, named_attributes
from purtensor.tables.grouping import group_profiles, smallest_unsigned
from purtensor.tables.labels import decode_labels, encode_labels
from purtensor.tables.translate import translated

CHUNK = 1 << 20
"""Profiles of one chunk, unless asked otherwise."""

_FORMAT = "purtensor stored table 1"
_CODECS = {"bytes", "crc32c", "zstd", "gzip", "blosc", "transpose", "vlen-utf8"}
"""What a store may be encoded with: these decode numbers and text, and run no code of the store's own."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredTable:
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
    domain: Domain = field(repr=False)
    profiles: int
    chunk: int
    total: float
    workspace: Path = field(repr=False)

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
        """Return the whole table in memory."""
        codes, values = read_profiles(self.path, 0, self.profiles)
        return sparse_table(self.domain, codes, values)


def store_table(table: Table | Iterable[Table], path: str | os.PathLike[str], *, chunk: int = CHUNK) -> StoredTable:
    """Write a table into a Zarr store, chunk by chunk, and return it as it lies there.

    Parameters
    ----------
    table
        A table, also a sparse one whose values are a dask array; or an iterable of sparse tables, its pieces, which
        share their categories and no profile.
    path
        A new folder; xarray's `open_zarr` reads it too.
    chunk
        How many profiles make one chunk of the store.

    Raises
    ------
    InvalidTableError
        A value that is no mass, pieces of different domains, or no piece at all.
    StoreError
        The folder exists already, or the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> stored = pt.store_table(counts, tempfile.mkdtemp() + "/counts.zarr")
    >>> stored.profiles, stored.total
    (3, 3.0)
    """
    pieces = _pieces(table) if isinstance(table, Table) else _encoded(table)
    first = next(pieces, None)
    if first is None:
        raise InvalidTableError("there is no piece to store")
    writer = TableWriter(path, first[0], chunk=chunk)
    try:
        writer.append(*first[1:])
        for domain, codes, values in pieces:
            if not _is_same(domain, writer.domain):
                raise InvalidTableError("the pieces of one table have the same attributes and categories; these differ")
            writer.append(codes, values)
        return writer.close()
    except BaseException:
        writer.abandon()
        raise


def open_table(path: str | os.PathLike[str], *, workspace: str | os.PathLike[str] | None = None) -> StoredTable:
    """Return the table that `store_table` wrote, without reading its profiles.

    Parameters
    ----------
    workspace
        Where projections of this table keep their slabs and checkpoints; beside the store unless given.

    Raises
    ------
    StoreError
        There is no such store, it is not whole, or it is encoded in a way that is not trusted.

    Examples
    --------
    >>> import tempfile
    >>> import purtensor as pt
    >>> path = tempfile.mkdtemp() + "/counts.zarr"
    >>> stored = pt.store_table(pt.tabulate({"sex": ["f", "m", "m"]}), path)
    >>> pt.open_table(path).to_table().values
    array([1., 2.])
    """
    folder = Path(path)
    facts = _facts(folder)
    names = tuple(str(name) for name in facts["attributes"])
    labels = [decode_labels(_array(folder, f"categories_{k}")[:], str(kind)) for k, kind in enumerate(facts["kinds"])]
    domain = Domain(names, tuple(labels))
    if list(domain.sizes) != list(facts["sizes"]):
        raise StoreError(f"{folder} is damaged: its categories are not those that it was written with")
    place = Path(f"{folder}.work") if workspace is None else Path(workspace)
    return StoredTable(folder, domain, int(facts["profiles"]), int(facts["chunk"]), float(facts["total"]), place)


def read_profiles(path: Path, begin: int, end: int) -> tuple[tuple[IntArray, ...], FloatArray]:
    """Return codes and values of the profiles begin .. end - 1 of a store, without its labels.

    Raises
    ------
    StoreError
        A chunk is missing or damaged.
    """
    sizes = _facts(path)["sizes"]
    try:
        values = np.asarray(_array(path, "values")[begin:end])
        codes = tuple(np.asarray(_array(path, f"codes_{k}")[begin:end]) for k in range(len(sizes)))
    except (ValueError, OSError, RuntimeError) as error:
        raise StoreError(f"{path} is damaged in profiles {begin} to {end}: {error}") from error
    if np.isnan(values).any() or any(len(c) and int(c.max()) >= size for c, size in zip(codes, sizes, strict=True)):
        raise StoreError(f"{path} lacks a chunk within profiles {begin} to {end}")
    return codes, values


def stored_marginal(stored: StoredTable, attributes: Attributes) -> Table:
    """Return a marginal of a stored table as a table in memory, summed chunk by chunk."""
    names = named_attributes(attributes, stored.domain)
    if not names:
        raise InvalidOptionError("a marginal over no attribute is the total, which a stored table tells: table.total")
    domain = stored.domain.select(names)
    where = [stored.domain.position(name) for name in names]
    codes: tuple[IntArray, ...] = tuple(np.empty(0, dtype=np.int64) for _ in names)
    sums = np.empty(0)
    for begin, end in stored.bounds:
        read, values = read_profiles(stored.path, begin, end)
        joint = [np.concatenate([old, read[k].astype(np.int64)]) for old, k in zip(codes, where, strict=True)]
        group, codes = group_profiles(joint, domain.sizes)
        sums = group_sums(np.concatenate([sums, values]), group, len(codes[0]))
    positive = sums > 0
    return sparse_table(domain, [code[positive] for code in codes], sums[positive], name="marginal")


def stored_matches(stored: StoredTable, table: Table, attributes: Sequence[str]) -> Table:
    """Return the profiles of a stored table that agree with one of `table` on these attributes, in memory."""
    coded = encode(table)
    domain = stored.domain.select(attributes)
    known = [n for n in attributes if n in coded.domain.attributes]
    if len(known) < len(attributes):
        raise UnknownAttributeError.among(
            next(n for n in attributes if n not in known), coded.domain.attributes, "the table to match"
        )
    wanted = translated(coded, domain)
    asked = np.all([code >= 0 for code in wanted], axis=0)
    wanted = tuple(code[asked] for code in wanted)
    where = [stored.domain.position(name) for name in attributes]
    found: list[tuple[tuple[IntArray, ...], FloatArray]] = []
    for begin, end in stored.bounds:
        codes, values = read_profiles(stored.path, begin, end)
        joint = [np.concatenate([own, codes[k].astype(np.int64)]) for own, k in zip(wanted, where, strict=True)]
        group, distinct = group_profiles(joint, domain.sizes)
        is_wanted = np.zeros(len(distinct[0]) if distinct else 1, dtype=bool)
        is_wanted[group[: len(wanted[0])]] = True
        here = is_wanted[group[len(wanted[0]) :]]
        found.append((tuple(code[here].astype(np.int64) for code in codes), values[here]))
    columns = [np.concatenate(column) for column in zip(*(codes for codes, _ in found), strict=True)]
    return sparse_table(stored.domain, columns, np.concatenate([values for _, values in found]))


class TableWriter:
    """Writes a stored table piece by piece; nothing is at its path before `close`."""

    def __init__(self, path: str | os.PathLike[str], domain: Domain, *, chunk: int = CHUNK) -> None:
        if importlib.util.find_spec("zarr") is None:
            raise ImportError("stored tables need the package zarr: pip install 'purtensor[distributed]'")
        import zarr  # optional, and slow to import
        from zarr.codecs import Crc32cCodec

        self.path, self.domain, self.chunk = Path(path), domain, chunk
        if self.path.exists():
            raise StoreError(f"{self.path} exists already: give a new folder, or remove it first")
        self._partial = Path(f"{self.path}.partial")
        shutil.rmtree(self._partial, ignore_errors=True)
        self._written, self._total = 0, 0.0
        self._waiting: list[tuple[tuple[IntArray, ...], FloatArray]] = []
        with _writing(self.path):
            self._group = zarr.open_group(self._partial, mode="w")
            self._kinds = [self._store_labels(k) for k in range(len(domain.attributes))]
            settings: Any = {
                "shape": (0,), "chunks": (chunk,), "dimension_names": [PROFILE], "compressors": [Crc32cCodec()],
            }  # fmt: skip
            told: dict[str, Any] = {
                "table": "",
                "role": "values",
                "layout": "sparse",
                "table_name": "null",
                "table_attrs": "{}",
            }
            self._values = self._group.create_array(
                "values", dtype="f8", fill_value=np.nan, attributes=told, **settings
            )
            self._codes = []
            for k, (name, size) in enumerate(zip(domain.attributes, domain.sizes, strict=True)):
                kind = smallest_unsigned(size + 1)
                told = {"table": "", "role": "codes", "attribute": name}
                fill = int(np.iinfo(kind).max)
                self._codes.append(
                    self._group.create_array(f"codes_{k}", dtype=kind, fill_value=fill, attributes=told, **settings)
                )

    def _store_labels(self, k: int) -> str:
        labels, kind = encode_labels(self.domain.categories[k])
        dtype = str if labels.dtype == object else labels.dtype
        name = self.domain.attributes[k]
        told: dict[str, Any] = {"table": "", "role": "categories", "attribute": name, "position": k, "kind": kind}
        array = self._group.create_array(f"categories_{k}", shape=labels.shape, dtype=dtype, attributes=told,
                                         chunks=(max(1, len(labels)),), dimension_names=[name])  # fmt: skip
        array[:] = labels
        return kind

    def append(self, codes: Sequence[IntArray], values: FloatArray) -> None:
        """Add profiles; they are written as soon as they make a chunk."""
        self._waiting.append((tuple(codes), values))
        while sum(len(values) for _, values in self._waiting) >= self.chunk:
            self._write(self.chunk)

    def _write(self, most: int) -> None:
        values = np.concatenate([values for _, values in self._waiting])
        codes = [np.concatenate(column) for column in zip(*(codes for codes, _ in self._waiting), strict=True)]

        def fail(position: int, what: str) -> NoReturn:
            raise InvalidTableError(f"profile ({described(self.domain, [c[position] for c in codes])}) {what}")

        values = as_masses(values, fail)
        begin, end = self._written, self._written + min(most, len(values))
        with _writing(self.path):
            for array, column in zip([self._values, *self._codes], [values, *codes], strict=True):
                array.resize((end,))
                array[begin:end] = column[: end - begin]
        self._total += float(values[: end - begin].sum())
        rest = end - begin
        self._waiting = [(tuple(column[rest:] for column in codes), values[rest:])] if rest < len(values) else []
        self._written = end

    def close(self) -> StoredTable:
        """Write what is left, bring the store to its place, and return it."""
        if self._waiting:
            self._write(self.chunk)
        facts: dict[str, Any] = {
            "format": _FORMAT, "attributes": list(self.domain.attributes), "sizes": list(self.domain.sizes),
            "kinds": self._kinds, "profiles": self._written, "chunk": self.chunk, "total": self._total,
        }  # fmt: skip
        with _writing(self.path):
            self._group.attrs.update(facts)
            os.replace(self._partial, self.path)
        return StoredTable(self.path, self.domain, self._written, self.chunk, self._total, Path(f"{self.path}.work"))

    def abandon(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self._partial, ignore_errors=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn errors of the disk into StoreError."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


def _pieces(table: Table) -> Iterator[tuple[Domain, tuple[IntArray, ...], FloatArray]]:
    """Yield a table's domain, codes and values; chunk by chunk where its values are a dask array."""
    if not (is_sparse(table) and table.chunks):
        coded = encode(table, allow_empty=True)
        yield coded.domain, coded.codes, coded.values
        return
    domain = domain_of(table)
    columns = [np.asarray(code) for code in table.indexes[PROFILE].codes]
    begin = 0
    for length in table.chunks[0]:
        end = begin + length
        yield domain, tuple(c[begin:end] for c in columns), np.asarray(table.data[begin:end])
        begin = end


def _encoded(tables: Iterable[Table]) -> Iterator[tuple[Domain, tuple[IntArray, ...], FloatArray]]:
    for table in tables:
        coded = encode(table, allow_empty=True)
        yield coded.domain, coded.codes, coded.values


def _is_same(one: Domain, other: Domain) -> bool:
    return one.attributes == other.attributes and all(
        a is b or (a.dtype == b.dtype and a.equals(b)) for a, b in zip(one.categories, other.categories, strict=True)
    )


def _facts(folder: Path) -> dict[str, Any]:
    """Return the attributes of a store, checked to be one of ours."""
    try:
        told = json.loads((folder / "zarr.json").read_text())
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder} is no stored table: {error}") from error
    facts: dict[str, Any] = told.get("attributes", {})
    if facts.get("format") != _FORMAT:
        raise StoreError(f"{folder} is a Zarr store, but no table that purtensor stored")
    return facts


def _array(folder: Path, name: str) -> Any:
    """Return an array of a store, its codecs compared with those that are trusted before it is opened."""
    import zarr  # optional, and slow to import

    try:
        told = json.loads((folder / name / "zarr.json").read_text())
        unknown = {codec["name"] for codec in told["codecs"]} - _CODECS
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder} lacks its array {name}: {error}") from error
    if unknown:
        raise StoreError(f"{folder}: array {name} is encoded with {', '.join(sorted(unknown))}, which is not trusted")
    return zarr.open_array(folder / name, mode="r")
