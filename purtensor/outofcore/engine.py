"""Map and reduce with the current dask scheduler: threads, processes, or the workers of a dask.distributed Client."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from purtensor._optional import require_package
from purtensor._typing import FloatArray
from purtensor.errors import StoreError
from purtensor.outofcore.cluster import active_client, compute_by, import_dask, name_lost_call

PART_OPTION = "purtensor.part-profiles"

# wide enough for few levels, small enough that a worker holds few matrices at once
_FAN_IN = 8
_MOST_LOSSES = 3
"""A call that is lost so often in one pass is not made again; dask's allowed-failures is how often it tries itself."""

T = TypeVar("T")


def require_dask() -> None:
    """Refuse to begin where dask is not installed.

    Raises
    ------
    ImportError
        It is not; the message says what to install.
    """
    require_package("dask", "distributed", "tables larger than memory need")


def profiles_per_part() -> int:
    """Return how many profiles a part has at most: dask's option `purtensor.part-profiles`, else 2^19."""
    return int(import_dask().config.get(PART_OPTION, 1 << 19))


def map_each(task: Callable[..., T], numbers: Sequence[Any], *arguments: Any) -> list[T]:
    """Return `task(number, *arguments)` for every number, in their order."""
    return _compute(lambda: [_call(task, number, number, *arguments) for number in numbers])


def map_reduce(task: Callable[..., T], add: Callable[[list[T]], T], numbers: Sequence[Any], *arguments: Any) -> T:
    """Return the sum of `task(number, *arguments)` over all numbers.

    The sums are taken in a tree that depends on the count alone: the result has the same bits whichever worker computes
    what, and no worker holds more than a few terms.
    """

    def tree() -> list[Any]:
        level = [_call(task, number, number, *arguments) for number in numbers]
        while len(level) > 1:
            level = [_call(add, at, level[at : at + _FAN_IN]) for at in range(0, len(level), _FAN_IN)]
        return level

    result: T = _compute(tree)[0]
    return result


def _call(function: Callable[..., Any], which: Any, *arguments: Any) -> Any:
    """Return a call for dask to make later; errors of lost workers name it by the function and which one it is."""
    # a unique key: dask must not take a pass for an earlier one with equal arguments
    name = f"{function.__name__}({which})-{uuid.uuid4().hex}"
    return import_dask().delayed(function, pure=False)(*arguments, dask_key_name=name)


def _compute(calls: Callable[[], list[Any]]) -> list[Any]:
    """Return what dask computes of calls; those lost with a worker that died are made again, all of the pass.

    Raises
    ------
    StoreError
        The same call was lost repeatedly, or there is no worker left.
    """
    losses: Counter[str] = Counter()
    while True:
        client = active_client()
        try:
            # the calls are made anew for each attempt: keys of a failed graph must not be reused
            return list(import_dask().compute(*calls())) if client is None else compute_by(client, calls())
        except Exception as error:
            lost = name_lost_call(error)
            if lost is None:
                raise
            # the whole pass is made again, and a call that is lost each time ends it
            losses[lost] += 1
            if losses[lost] == _MOST_LOSSES:
                raise StoreError(
                    f"{lost} was lost {_MOST_LOSSES} times in one pass, because every worker that computed it died, "
                    "possibly "
                    "for lack of memory (see their logs); resume with workers that have more memory, or start again "
                    "with "
                    f"fewer profiles per part (dask's option {PART_OPTION})"
                ) from error


@dataclass(frozen=True, slots=True)
class Workers:
    """Who computes: how many tasks at once in one memory, and how much memory that is (None: this machine's)."""

    at_once: int
    memory: int | None


def workers() -> Workers:
    """Return what dask would compute with now."""
    client = active_client()
    if client is not None:
        known = client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [int(one["memory_limit"]) // max(1, int(one["nthreads"])) for one in known if one["memory_limit"]]
        # a worker's limit is for all of its threads: what it holds at once counts for each of them
        threads = max((int(one["nthreads"]) for one in known), default=1)
        return Workers(threads, threads * min(limits) if limits else None)
    dask = import_dask()
    scheduler = dask.config.get("scheduler", None)
    if scheduler in ("sync", "synchronous", "single-threaded"):
        return Workers(1, None)
    return Workers(int(dask.config.get("num_workers", None) or dask.system.CPU_COUNT), None)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What passes over parts found.

    Attributes
    ----------
    sums
        Numbers and arrays that are added up.
    largest
        Numbers of which the largest counts.
    logs
        Logarithms of what is added up, for sums that may be as small as no float64 is.
    """

    sums: dict[str, Any] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    logs: dict[str, FloatArray] = field(default_factory=dict)


def add_tallies(parts: list[Tally]) -> Tally:
    """Return the tally of several: added from the left, NaN passing on."""
    sums, largest, logs = dict(parts[0].sums), dict(parts[0].largest), dict(parts[0].logs)
    for part in parts[1:]:
        for name, terms in part.logs.items():
            # a sum of numbers below float64 is the logaddexp of their logarithms
            logs[name] = np.logaddexp(logs[name], terms)
        for name, value in part.sums.items():
            sums[name] = sums[name] + value
        for name, value in part.largest.items():
            # np.maximum passes on NaN, which Python's max may lose
            largest[name] = float(np.maximum(largest[name], value))
    return Tally(sums, largest, logs)
