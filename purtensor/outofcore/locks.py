"""One process at a time per question in a workspace: a second one waits, and then joins the run of the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from filelock import FileLock, Timeout

from purtensor.errors import StoreError
from purtensor.outofcore.array_file import make_folder
from purtensor.outofcore.names import problem_name
from purtensor.outofcore.targets import Constraint
from purtensor.tables.store.open_store import StoredTable

LOCKS = ".locks"
"""The folder of a workspace in which the locks of its questions lie; they are empty files, and may stay."""

_POLL = 0.05
"""Seconds between two tries, so that Ctrl-C is heard while waiting."""


@contextmanager
def locked(reference: StoredTable, constraints: Sequence[Constraint]) -> Iterator[bool]:
    """Hold the lock of a question for the block; yield whether another process or thread held it before.

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
