"""Stored tables copied to another store."""

from __future__ import annotations

import os

from purtensor.tables.store.open_store import TableWriter, read_profiles
from purtensor.tables.store.table import StoredTable


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
