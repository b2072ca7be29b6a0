"""Many members of a simulation: seeded one by one, computed in any order, kept on disk, combined in theirs."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor.errors import InvalidOptionError
from purtensor.tables.atomic import replaced_file
from purtensor.tables.reading import reading

Member = Mapping[str, npt.NDArray[Any]]
"""What one member found: arrays of the same names, types and shapes for all."""

_SECONDS_BETWEEN_WRITES = 2.0


def run_members(
    simulate: Callable[[np.random.Generator], Member],
    number: int,
    *,
    seed: int,
    workers: int = 1,
    store: Path | None = None,
    on_member: Callable[[int], object] = lambda done: None,
) -> dict[str, npt.NDArray[Any]]:
    """Return the findings of `number` members, stacked in member order.

    Member k draws from child k of the seed, so its numbers depend neither on the other members nor on the workers.

    Parameters
    ----------
    simulate
        Computes one member; called from several threads at once.
    workers
        How many threads compute.
    store
        Where finished members are kept, and taken from when an earlier run left some; the file must belong to the
        same question (name it by `identity`). None keeps nothing.
    on_member
        Called with the number of finished members.

    Raises
    ------
    InvalidOptionError
        `number` or `workers` is less than 1.
    FileFormatError
        `store` is there, but damaged.

    Examples
    --------
    >>> run_members(lambda rng: {"value": rng.integers(9, size=1)}, 3, seed=1)["value"].shape
    (3, 1)
    """
    for name, count in (("the number of members", number), ("workers", workers)):
        if count < 1:
            raise InvalidOptionError(f"{name} is at least 1, this is {count}")
    found = _stored(store, number)
    children = np.random.SeedSequence(seed).spawn(number)
    missing = [k for k in range(number) if k not in found]
    on_member(len(found))
    written = time.monotonic()
    with ThreadPoolExecutor(workers) as executor:
        pending: dict[Future[Member], int] = {
            executor.submit(simulate, np.random.default_rng(children[k])): k for k in missing
        }
        try:
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                found.update({pending.pop(future): future.result() for future in done})
                on_member(len(found))
                if time.monotonic() - written > _SECONDS_BETWEEN_WRITES:
                    _write(store, found)
                    written = time.monotonic()
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
            if missing:
                _write(store, found)
    return {name: np.stack([found[k][name] for k in range(number)]) for name in found[0]}


def identity(settings: Mapping[str, Any], *arrays: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of what the members depend on, in hexadecimal: settings that JSON can hold, and arrays."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _stored(store: Path | None, number: int) -> dict[int, Member]:
    if store is None or not store.exists():
        return {}
    with reading(store, "members of a run (delete it, and they are computed again)"):
        with store.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}  # the archive checks each array's CRC
        members = arrays.pop("member").tolist()
        return {
            k: {name: array[i] for name, array in arrays.items()} for i, k in enumerate(members) if k < number
        }  # fmt: skip


def _write(store: Path | None, found: Mapping[int, Member]) -> None:
    if store is None or not found:
        return
    members = sorted(found)
    arrays: dict[str, Any] = {name: np.stack([found[k][name] for k in members]) for name in found[members[0]]}
    with replaced_file(store) as path, path.open("wb") as file:
        np.savez(file, member=np.array(members), **arrays)
