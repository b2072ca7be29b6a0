"""Whether another thread wrote into the tables of a call while it was running."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from purtensor._typing import Table
from purtensor.errors import InvalidTableError

_SUMS = 512


@contextmanager
def refuse_changes(reference: Table, constraints: Sequence[Any]) -> Iterator[None]:
    """Let a call run on these tables, and raise an error where they are not what they were when it began.

    A solver works on arrays of its own, but they are read one after another: what is changed meanwhile may be read in
    part as it was and in part as it is. And a result holds the tables themselves, which must be what was projected.

    Raises
    ------
    InvalidTableError
        The reference or a target has changed.
    """
    targets = [getattr(constraint, "target", None) for constraint in constraints]
    # what is no table of numbers is refused by what reads it
    tables = [table for table in (reference, *targets) if isinstance(table, Table) and _has_numbers(table)]
    before = [_fingerprint(table.values) for table in tables]
    yield
    for table, seen in zip(tables, before, strict=True):
        if _fingerprint(table.values) != seen:
            what = "the reference" if table is reference else f"the target of ({', '.join(map(str, table.dims))})"
            raise InvalidTableError(
                f"{what} must stay as it is during the call, but its values were changed; give a copy of a table that "
                "another thread or a callback writes into"
            )


def _has_numbers(table: Table) -> bool:
    return isinstance(table.data, np.ndarray) and not table.dtype.hasobject


def _fingerprint(values: Any) -> bytes:
    """Return sums of the bits of the values: every 512th is in one sum, so that an exchange shows too."""
    # sums run at the speed of memory: a hash of the bytes takes as long as a sweep
    bits = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    words = bits[: len(bits) // 8 * 8].view(np.uint64)
    whole = len(words) // _SUMS * _SUMS
    sums = words[:whole].reshape(-1, _SUMS).sum(axis=0, dtype=np.uint64)
    return bytes(sums) + bytes(bits[8 * whole :])
