"""Stored tables written of pieces, or copied to another store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.tables.coded import encode
from purtensor.tables.domain import Domain
from purtensor.tables.store.open_store import TableWriter, read_profiles
from purtensor.tables.store.table import StoredTable

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
