"""Tables written to disk, into a Zarr store: chunk by chunk, never held whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from purtensor._optional import require_package
from purtensor._options import is_count
from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError, StoreError
from purtensor.tables.coded import domain_of, encode, is_sparse, read_codes
from purtensor.tables.domain import PROFILE, Domain, describe_profile
from purtensor.tables.io.atomic import begun_beside, give_up, is_there, move_into, move_over
from purtensor.tables.io.path_checks import path_text
from purtensor.tables.labels import encode_labels
from purtensor.tables.masses import as_masses
from purtensor.tables.store.format import Facts, code_dtype, labels_hash, read_profiles
from purtensor.tables.store.table import StoredTable

CHUNK = 1 << 20
"""Profiles of one chunk, unless asked otherwise."""

_WHOLE: Any = {"write_empty_chunks": True}
"""Every chunk has a file, also where it holds nothing but zeros: one that is missing is damage."""


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
        A value that is not a mass, pieces of different domains, or no piece at all.
    InvalidOptionError
        A chunk of no profile.
    StoreError
        The folder exists already, or the disk is full.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> stored = pt.store_table(counts, "counts.zarr")
    >>> stored.profiles, stored.total
    (3, 3.0)
    """
    pieces = _pieces(table) if isinstance(table, Table) else _encode(table)
    first = next(pieces, None)
    if first is None:
        raise InvalidTableError("there must be at least one table to store, got none")
    with TableWriter(path, first[0], chunk=chunk) as writer:
        writer.append(*first[1:])
        for domain, codes, values in pieces:
            if not _is_same(domain, writer.domain):
                raise InvalidTableError(
                    "the parts of one table must have the same attributes and categories; these differ"
                )
            writer.append(codes, values)
        return writer.close()


class TableWriter:
    """Writes a stored table piece by piece; nothing is at its path before `close`, or what was there with `replaces`.

    Until then it is written beside its path under a unique name, so that two writers do not conflict. A `with` block
    that ends by an error removes what was written.
    """

    def __init__(
        self, path: str | os.PathLike[str], domain: Domain, *, chunk: int = CHUNK, replaces: bool = False
    ) -> None:
        require_package("zarr", "distributed", "stored tables need")
        import zarr  # optional, and slow to import

        if not (is_count(chunk) and chunk >= 1):
            raise InvalidOptionError(f"chunk must be a number of profiles, 1 or more, got {chunk!r}")
        self.path, self.domain, self.chunk = Path(path_text(path)), domain, int(chunk)
        if is_there(self.path) and not replaces:
            raise StoreError(f"{self.path} already exists: give a new folder, or remove it first")
        self._move = move_over if replaces else move_into
        self._partial = begun_beside(self.path)
        self._written, self._total = 0, 0.0
        self._waiting: list[tuple[tuple[IntArray, ...], FloatArray]] = []
        self._kinds: list[str] = []
        self._labels: list[str] = []
        try:
            with _writing(self.path):
                self._group = zarr.open_group(self._partial, mode="w", zarr_format=3)
                for k in range(len(domain.attributes)):
                    self._store_labels(k)
                self._values, *self._codes = self._create_arrays()
        except BaseException:
            self.abandon()
            raise

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abandon()

    def _store_labels(self, k: int) -> None:
        labels, kind = encode_labels(self.domain.categories[k])
        dtype = str if labels.dtype == object else labels.dtype
        name = self.domain.attributes[k]
        array = self._group.create_array(
            f"categories_{k}",
            shape=labels.shape,
            dtype=dtype,
            attributes={"table": "", "role": "categories", "attribute": name, "position": k, "kind": kind},
            chunks=(max(1, len(labels)),),
            dimension_names=[name],
            config=_WHOLE,
        )
        array[:] = labels
        self._kinds.append(kind)
        self._labels.append(labels_hash(labels))

    def _create_arrays(self) -> list[Any]:
        """Return empty arrays in the store: of values, and of the codes of each attribute."""
        from zarr.codecs import Crc32cCodec  # optional, and slow to import

        settings: Any = {
            "shape": (0,),
            "chunks": (self.chunk,),
            "dimension_names": [PROFILE],
            # no compression, but a checksum that zarr compares whenever it reads a chunk
            "compressors": [Crc32cCodec()],
            "config": _WHOLE,
        }
        facts: dict[str, Any] = {
            "table": "",
            "role": "values",
            "layout": "sparse",
            "table_name": "null",
            "table_attrs": "{}",
        }
        create = self._group.create_array
        arrays = [create("values", dtype="f8", fill_value=np.nan, attributes=facts, **settings)]
        for k, (name, size) in enumerate(zip(self.domain.attributes, self.domain.sizes, strict=True)):
            kind = code_dtype(size)
            # filled in where nothing was written, and no code (see code_dtype), as NaN is no mass
            fill = int(np.iinfo(kind).max)
            marks: dict[str, Any] = {"table": "", "role": "codes", "attribute": name}
            arrays.append(create(f"codes_{k}", dtype=kind, fill_value=fill, attributes=marks, **settings))
        return arrays

    def append(self, codes: Sequence[IntArray], values: FloatArray) -> None:
        """Add profiles; they are written as soon as they make a chunk."""
        self._waiting.append((tuple(codes), values))
        while sum(len(values) for _, values in self._waiting) >= self.chunk:
            self._write(self.chunk)

    def _write(self, most: int) -> None:
        values = np.concatenate([values for _, values in self._waiting])
        codes = [np.concatenate(column) for column in zip(*(codes for codes, _ in self._waiting), strict=True)]

        def fail(position: int, what: str) -> NoReturn:
            raise InvalidTableError(f"profile ({describe_profile(self.domain, [c[position] for c in codes])}) {what}")

        values = as_masses(values, fail)
        self._check_codes(codes)
        begin, end = self._written, self._written + min(most, len(values))
        with _writing(self.path):
            for array, column in zip([self._values, *self._codes], [values, *codes], strict=True):
                array.resize((end,))
                array[begin:end] = column[: end - begin]
        self._total += float(values[: end - begin].sum())
        rest = end - begin
        self._waiting = [(tuple(column[rest:] for column in codes), values[rest:])] if rest < len(values) else []
        self._written = end

    def _check_codes(self, codes: Sequence[IntArray]) -> None:
        for name, size, code in zip(self.domain.attributes, self.domain.sizes, codes, strict=True):
            if len(code) and not (int(code.min()) >= 0 and int(code.max()) < size):
                raise InvalidTableError(
                    f"a profile has a category of {name!r} that is missing or not one of its {size} categories"
                )

    def close(self) -> StoredTable:
        """Write the remaining profiles, move the store to its path, and return it.

        Raises
        ------
        StoreError
            Another writer was the first to put something there, or the disk is full.
        """
        if self._waiting:
            self._write(self.chunk)
        if not np.isfinite(self._total):
            raise InvalidTableError("the total mass is beyond what float64 can hold; divide the table by a constant")
        facts = Facts(
            self.domain.attributes,
            tuple(self.domain.sizes),
            tuple(self._kinds),
            tuple(self._labels),
            self._written,
            self.chunk,
            self._total,
        )
        with _writing(self.path):
            self._group.attrs.update(facts.as_json())
            self._move(self._partial, self.path)
        return StoredTable(self.path, self.domain, self._written, self.chunk, self._total, Path(f"{self.path}.work"))

    def abandon(self) -> None:
        """Remove what was written."""
        give_up(self._partial)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn errors of the disk into StoreError."""
    try:
        yield
    except StoreError:
        raise
    except (OSError, RuntimeError) as error:  # the latter of zarr, where there is no memory for one more thread
        raise StoreError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from error


def _pieces(table: Table) -> Iterator[tuple[Domain, tuple[IntArray, ...], FloatArray]]:
    """Yield a table's domain, codes and values; chunk by chunk where its values are a dask array."""
    if not (is_sparse(table) and table.chunks):
        yield from _encode([table])
        return
    domain = domain_of(table)
    columns = read_codes(table, domain)
    for begin, end in pairwise(np.cumsum([0, *table.chunks[0]]).tolist()):
        yield domain, tuple(c[begin:end] for c in columns), np.asarray(table.data[begin:end])


def _encode(tables: Iterable[Table]) -> Iterator[tuple[Domain, tuple[IntArray, ...], FloatArray]]:
    # an array without dimensions has __iter__, but cannot be iterated over
    if not isinstance(tables, Iterable) or getattr(tables, "shape", None) == ():
        raise InvalidTableError(f"what is stored must be a table, or several, got {type(tables).__qualname__}")
    for table in tables:
        coded = encode(table, allow_empty=True)
        yield coded.domain, coded.codes, coded.values


def _is_same(one: Domain, other: Domain) -> bool:
    return one.attributes == other.attributes and all(
        a is b or (a.dtype == b.dtype and a.equals(b)) for a, b in zip(one.categories, other.categories, strict=True)
    )


Piece = tuple[Sequence[IntArray], FloatArray]
"""The codes and the values of some profiles."""


def write_pieces(path: Path, domain: Domain, pieces: Iterable[Piece]) -> StoredTable:
    """Return a stored table of these pieces; what was at its path before is replaced, once all is written."""
    with TableWriter(path, domain, replaces=True) as writer:
        for codes, values in pieces:
            writer.append(codes, values)
        return writer.close()


def replace_table(path: Path, table: Table) -> StoredTable:
    """Return a table in memory as a stored one; what was at its path before is replaced, once all is written."""
    coded = encode(table, allow_empty=True)
    return write_pieces(path, coded.domain, [(coded.codes, coded.values)])


def copy_store(table: StoredTable, path: str | os.PathLike[str]) -> StoredTable:
    """Write a stored table to a new store, chunk by chunk, whole or not at all, and return that.

    Raises
    ------
    StoreError
        The folder exists already, the disk is full, or a chunk is damaged.
    """
    with TableWriter(path, table.domain, chunk=table.chunk) as writer:
        for begin, end in table.bounds:
            writer.append(*read_profiles(table.path, begin, end))
        return writer.close()
