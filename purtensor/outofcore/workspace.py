"""Folders of a workspace: named by what they are made of, and locked by one process at a time."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.errors import StoreError
from purtensor.outofcore.array_file import make_folder
from purtensor.outofcore.targets import Constraint
from purtensor.tables.store.table import StoredTable

LOCKS = ".locks"
"""The folder of a workspace in which the locks of its questions lie; they are empty files, and may stay."""

_POLL = 0.05
"""Seconds between two tries, so that Ctrl-C is heard while waiting."""


def identity_of(table: StoredTable) -> str:
    """Return an identifier of a stored table that differs from all others and from a later table at the same path.

    Raises
    ------
    StoreError
        It is not there any more.
    """
    try:
        # the time of writing, since reading a whole table for a hash would be a pass
        written = (table.path / "zarr.json").stat().st_mtime_ns
    except OSError as error:
        raise StoreError(f"{table.path} cannot be read: {error.strerror or error}") from error
    return f"{table.path.resolve()} {written}"


def problem_name(reference: StoredTable, constraints: Sequence[Constraint], option: object) -> str:
    """Return the name of a problem's folder: a hash of its tables, its targets, and of how it is laid out.

    Raises
    ------
    StoreError
        A table is not there any more.
    """
    digest = hashlib.sha256(f"{option}".encode())
    for table in [reference, *(c.table for c in constraints if isinstance(c, StoredMarginal))]:
        digest.update(identity_of(table).encode())
    for constraint in constraints:
        digest.update(f"{constraint.scope}".encode())
        if isinstance(constraint, Marginal):
            for array in (*constraint.coded.codes, constraint.coded.values):
                digest.update(np.ascontiguousarray(array).tobytes())
            # codes alone mean nothing: equal codes may stand for other labels
            for categories in constraint.coded.domain.categories:
                digest.update(pd.util.hash_array(categories.to_numpy()).tobytes())
    return digest.hexdigest()[:16]


@contextmanager
def lock_question(reference: StoredTable, constraints: Sequence[Constraint]) -> Iterator[bool]:
    """Hold the lock of a question for the block; yield whether another process or thread held it before.

    A second process with the same question waits, and then joins the run of the first.

    The lock is the system's own, so it ends with the process that holds it, even where that is killed.

    Raises
    ------
    StoreError
        No lock can be written there.
    """
    make_folder(reference.workspace / LOCKS)
    place = reference.workspace / LOCKS / problem_name(reference, constraints, "lock")
    # one lock object per path: a thread that holds it asks again in its own verdicts, other threads wait
    lock, waited = FileLock(place, is_singleton=True), False
    try:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            waited = True
            lock.acquire(poll_interval=_POLL)
    except OSError as error:
        raise StoreError(f"{place} cannot be locked: {error.strerror or error}") from error
    try:
        yield waited
    finally:
        lock.release()


@contextmanager
def remove_on_error(folder: Path) -> Iterator[None]:
    """Remove a folder before the block, where something broke off before, and where the block ends with an error."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
