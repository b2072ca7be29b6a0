"""Map and reduce on whatever runs dask: threads, processes, or the workers of a dask.distributed Client."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from purtensor.errors import StoreError

PART_OPTION = "purtensor.part-profiles"

_FAN_IN = 8
_MOST_ATTEMPTS = 20
"""A pass whose workers died so often in a row, without an end, is not tried again."""

T = TypeVar("T")


def require_dask() -> None:
    """Refuse to begin where dask is not installed.

    Raises
    ------
    ImportError
        It is not; the message says what to install.
    """
    if importlib.util.find_spec("dask") is None:
        raise ImportError("tables larger than memory need dask: pip install 'purtensor[distributed]'")


def profiles_per_part() -> int:
    """Return how many profiles a part has at most: dask's option `purtensor.part-profiles`, else 2^19."""
    return int(_dask().config.get(PART_OPTION, 1 << 19))


def _dask() -> Any:
    return importlib.import_module("dask")  # optional, and slow to import


def map_each(task: Callable[..., T], numbers: Sequence[Any], *arguments: Any) -> list[T]:
    """Return `task(number, *arguments)` for every number, in their order."""
    dask = _dask()
    calls = [dask.delayed(task, pure=False)(number, *arguments) for number in numbers]
    return list(_computed(lambda: dask.compute(*calls)))


def map_reduce(task: Callable[..., T], add: Callable[[list[T]], T], numbers: Sequence[Any], *arguments: Any) -> T:
    """Return the sum of `task(number, *arguments)` over all numbers.

    The sums are taken in a tree that the count alone decides, so that the result has the same bits whoever computes
    what, and nobody holds more than a few terms.
    """
    dask = _dask()
    level: list[Any] = [dask.delayed(task, pure=False)(number, *arguments) for number in numbers]
    while len(level) > 1:
        level = [dask.delayed(add, pure=False)(level[at : at + _FAN_IN]) for at in range(0, len(level), _FAN_IN)]
    result: T = _computed(lambda: dask.compute(level[0]))[0]
    return result


def _computed(compute: Callable[[], Any]) -> Any:
    """Return what dask computes; tasks lost with a worker that died are computed again."""
    for attempt in range(_MOST_ATTEMPTS):
        try:
            return compute()
        except Exception as error:
            if not _is_loss(error):
                raise
            if attempt == _MOST_ATTEMPTS - 1:
                raise StoreError(f"workers died {_MOST_ATTEMPTS} times within one pass, last: {error}") from error
    raise AssertionError("unreachable")


def _is_loss(error: Exception) -> bool:
    """Tell whether an error means that a worker was lost: tasks leave whole files or none, and may run again."""
    distributed = sys.modules.get("distributed")
    kinds: list[Any] = []
    if distributed is not None:
        kinds = [distributed.KilledWorker, distributed.comm.CommClosedError]
    return isinstance(error, tuple(kinds))


@dataclass(frozen=True, slots=True)
class Workers:
    """Who computes: how many tasks at once in one memory, and how much memory that is (None: this machine's)."""

    at_once: int
    memory: int | None


def workers() -> Workers:
    """Return what dask would compute with now."""
    dask = _dask()
    distributed = sys.modules.get("distributed")
    client = None
    if distributed is not None:
        try:
            client = distributed.get_client()
        except ValueError:  # there is none
            client = None
    if client is not None:
        known = client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [int(one["memory_limit"]) // max(1, int(one["nthreads"])) for one in known if one["memory_limit"]]
        threads = max((int(one["nthreads"]) for one in known), default=1)
        return Workers(threads, threads * min(limits) if limits else None)
    scheduler = dask.config.get("scheduler", None)
    if scheduler in ("sync", "synchronous", "single-threaded"):
        return Workers(1, None)
    return Workers(int(dask.config.get("num_workers", None) or dask.system.CPU_COUNT), None)
