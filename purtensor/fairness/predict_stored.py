"""Predictions for a population on disk: a share of its predictor profiles at a time."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.tables.coded import encode, sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.store.open_store import TableWriter
from purtensor.tables.store.pairs import ROWS_AT_ONCE, Read, hash_rows
from purtensor.tables.store.table import StoredTable, require_mass
from purtensor.tables.translate import category_map


def shares_of(q: Table | StoredTable, test: StoredTable, predictors: Sequence[str]) -> Iterator[tuple[Table, Table]]:
    """Yield q and test on the predictor profiles of one share of them all, in memory, together all of test.

    Raises
    ------
    InvalidTableError
        One of them, on disk, has no mass.
    """
    for table in (q, test):
        if isinstance(table, StoredTable):
            require_mass(table)
    one, other = Read(q), Read(test)
    passes = max(1, -(-(one.profiles + other.profiles) // ROWS_AT_ONCE))
    for share in range(passes):
        people = _share(other, other.domain, predictors, passes, share)
        if people.size:
            yield _share(one, other.domain, predictors, passes, share), people


def _share(read: Read, onto: Domain, predictors: Sequence[str], passes: int, share: int) -> Table:
    """Return the profiles whose predictor profile, in the categories of `onto`, is of a share."""
    domain = read.domain
    maps = [category_map(domain.select([name]).categories[0], onto.select([name]).categories[0]) for name in predictors]
    where = [domain.position(name) for name in predictors]
    columns: list[Sequence[IntArray]] = []
    values: list[FloatArray] = []
    for codes, masses in read.pieces():
        # in the categories of `onto`, so that q and test put a predictor profile into the same share
        keys = hash_rows([mapping[codes[k]] for k, mapping in zip(where, maps, strict=True)])
        taken = keys % np.uint64(passes) == share
        columns.append([code[taken] for code in codes])
        values.append(masses[taken])
    joint = [np.concatenate(column) for column in zip(*columns, strict=True)]
    return sparse_table(domain, joint, np.concatenate(values))


def write_prediction(pieces: Iterator[Table], test: StoredTable) -> StoredTable:
    """Return the predictions for shares of a population as one stored table, in its workspace."""
    test.workspace.mkdir(parents=True, exist_ok=True)
    writer: TableWriter | None = None
    try:
        for piece in pieces:
            coded = encode(piece, allow_empty=True)
            if writer is None:
                path = test.workspace / f"prediction-{secrets.token_hex(8)}.zarr"
                writer = TableWriter(path, coded.domain, chunk=test.chunk)
            writer.append(coded.codes, coded.values)
        if writer is None:
            raise AssertionError("unreachable: an empty population is refused before")
        return writer.close()
    except BaseException:
        if writer is not None:
            writer.abandon()
        raise
