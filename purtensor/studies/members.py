"""Many members of a simulation: seeded one by one, computed in any order, kept on disk, combined in theirs."""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor.errors import FileFormatError, InvalidOptionError
from purtensor.projection.executing import Failure, outcomes
from purtensor.tables.io.atomic import replace_file
from purtensor.tables.io.read_errors import reading

# what one member found: arrays of the same names, types and shapes for all
Member = Mapping[str, npt.NDArray[Any]]

_SECONDS_BETWEEN_WRITES = 2.0


def run_members(
    simulate: Callable[[np.random.Generator], Member],
    number: int,
    *,
    seed: int,
    workers: int = 1,
    executor: Any = None,
    store: Path | None = None,
    on_member: Callable[[int], object] = lambda done: None,
    on_failure: Callable[[Failure], object] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return the findings of `number` members, stacked in member order.

    Member k draws from child k of the seed, so its numbers depend neither on the other members nor on the workers.

    Parameters
    ----------
    simulate
        Computes one member; called from several threads at once.
    workers
        How many threads compute.
    executor
        What computes in place of threads, as in `purtensor.project_many`; other processes must be able to unpickle
        `simulate`.
    store
        Where finished members are kept, and taken from when an earlier run left some; the file must belong to the
        same question (name it by `identity`). None keeps nothing.
    on_member
        Called with the number of members that have ended.
    on_failure
        Told of each member that raised an error: it is left out, and not kept, so that another run tries it again.
        Without, and where no member is left, the error is raised, when all that was finished is kept.

    Raises
    ------
    InvalidOptionError
        `number` or `workers` is less than 1; something that is not an executor.
    FileFormatError
        `store` is there, but damaged.

    Examples
    --------
    >>> run_members(lambda rng: {"value": rng.integers(9, size=1)}, 3, seed=1)["value"].shape
    (3, 1)
    """
    for name, count in (("the number of members", number), ("workers", workers)):
        if count < 1:
            raise InvalidOptionError(f"{name} must be at least 1, got {count}")
    found = _read(store, number)
    children = np.random.SeedSequence(seed).spawn(number)
    missing = [k for k in range(number) if k not in found]
    stored = next(iter(found.values()), None)
    on_member(len(found))
    failures: list[Failure] = []
    written = time.monotonic()
    with ExitStack() as stack:
        # after an error or Ctrl-C, too: what was finished is kept
        stack.callback(lambda: _write(store, found) if missing else None)
        runner = stack.enter_context(ThreadPoolExecutor(workers)) if executor is None else executor
        ended = outcomes(partial(_simulate, simulate), [children[k] for k in missing], runner)
        for n, outcome in stack.enter_context(closing(ended)):
            if isinstance(outcome, Failure):
                failures.append(replace(outcome, member=missing[n]))
                if on_failure is None:
                    raise outcome.error
                on_failure(failures[-1])
            else:
                if stored is not None and set(stored) != set(outcome):
                    raise FileFormatError(
                        f"{store} is damaged, or belongs to another run: its results differ from those "
                        "computed now; delete it to compute them again"
                    )
                found[missing[n]] = outcome
            on_member(len(found) + len(failures))
            if time.monotonic() - written > _SECONDS_BETWEEN_WRITES:
                _write(store, found)
                written = time.monotonic()
    if not found:
        raise failures[0].error
    members = sorted(found)
    return {name: np.stack([found[k][name] for k in members]) for name in found[members[0]]}


def _simulate(simulate: Callable[[np.random.Generator], Member], child: np.random.SeedSequence) -> Member:
    return simulate(np.random.default_rng(child))


def describe_failures(failures: Sequence[Failure]) -> dict[str, str]:
    """Return a summary of the members that ended in an error; empty if there is none.

    Examples
    --------
    >>> describe_failures([Failure(7, MemoryError("no room"), ""), Failure(9, MemoryError("none"), "")])
    {'failed': '2 members, left out: number 7 by MemoryError: no room, ...'}
    """
    if not failures:
        return {}
    first = failures[0]
    reason = f"number {first.member} by {type(first.error).__name__}: {first.error}"
    more = ", ..." if len(failures) > 1 else ""
    return {"failed": f"{len(failures)} member{'s' if more else ''}, left out: {reason}{more}"}


def identity(settings: Mapping[str, Any], *arrays: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of what the members depend on, in hexadecimal: settings that JSON can hold, and arrays."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _read(store: Path | None, number: int) -> dict[int, Member]:
    if store is None or not store.exists():
        return {}
    with reading(store, "members of a run (delete it, and they are computed again)"):
        with store.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}  # the archive checks each array's CRC
        members = arrays.pop("member").tolist()
        return {k: {name: array[i] for name, array in arrays.items()} for i, k in enumerate(members) if k < number}


def _write(store: Path | None, found: Mapping[int, Member]) -> None:
    if store is None or not found:
        return
    members = sorted(found)
    arrays: dict[str, Any] = {name: np.stack([found[k][name] for k in members]) for name in found[members[0]]}
    archive = io.BytesIO()  # numpy 1 leaves an archive open where writing fails, which raises a warning later
    np.savez(archive, member=np.array(members), **arrays)
    with replace_file(store) as path:
        path.write_bytes(archive.getbuffer())
