"""Map and reduce with the current dask scheduler: threads, processes, or the workers of a dask.distributed Client."""

from __future__ import annotations

import importlib
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import numpy as np

from purtensor._optional import require_package
from purtensor._typing import FloatArray
from purtensor.errors import StoreError

WAIT_OPTION = "purtensor.worker-seconds"
"""How long a pass waits without a worker; 300 by default."""

_LOOK = 2.0
"""Seconds after which a pass that goes nowhere looks whether there still are workers."""


def import_dask() -> Any:
    """Return dask."""
    return importlib.import_module("dask")  # optional, and slow to import


def active_client() -> Any | None:
    """Return the active Client of dask; None if dask uses its own threads or processes."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    # a Client registers its own method as dask's scheduler: its owner is the Client
    owner = getattr(import_dask().base.get_scheduler(), "__self__", None)
    return owner if isinstance(owner, distributed.Client) else None


def compute_by(client: Any, calls: Sequence[Any]) -> list[Any]:
    """Return what the workers of a Client compute of these calls.

    Raises
    ------
    StoreError
        There has been no worker for too long, or the scheduler has forgotten the calls.
    """
    futures = client.compute(list(calls))
    ended: SimpleQueue[Any] = SimpleQueue()
    try:
        for future in futures:
            # results are awaited by a queue with a timeout, as `gather` alone would wait for ever without workers
            future.add_done_callback(ended.put)
        with _place_given_up():
            _wait(client, len(futures), ended)
            return list(client.gather(futures))
    finally:
        for future in futures:
            # or the workers would keep the results as long as the Client lives
            future.release()


def _wait(client: Any, count: int, ended: SimpleQueue[Any]) -> None:
    """Return when all futures have ended, or one with an error; raise an error if there are no workers."""
    alone_since: float | None = None
    while count:
        try:
            future = ended.get(timeout=_LOOK)
        except Empty:
            alone_since = _since_when_alone(client, alone_since)
            continue
        # the first error ends the wait: `gather` raises it
        if future.status != "finished":
            return
        count -= 1


def _since_when_alone(client: Any, before: float | None) -> float | None:
    """Return the time since which there is no worker, else None; request workers that the cluster gave up."""
    _call_back(client.cluster)
    if client.scheduler_info(n_workers=-1).get("workers"):
        return None
    now = time.monotonic()
    since, patience = now if before is None else before, float(import_dask().config.get(WAIT_OPTION, 300.0))
    # workers may be restarting: a pass waits for some before it gives up
    if now - since > patience:
        raise StoreError(
            f"the scheduler at {client.scheduler.address} has had no worker for {patience:g} seconds: the workers "
            "died, and "
            f"were not replaced; start workers, then resume, or increase dask's option {WAIT_OPTION}"
        )
    return since


def _call_back(cluster: Any) -> None:
    """Let a cluster restart workers that it has given up.

    A LocalCluster drops for good who is away when it looks, 15 seconds after each death: a worker that starts slowly
    on a busy machine, or died again meanwhile. Where none is missing, nothing happens.
    """
    wanted = getattr(cluster, "worker_spec", None)
    if wanted:
        cluster.scale(len(wanted))


@contextmanager
def _place_given_up() -> Iterator[None]:
    """Free the place that this thread takes on a worker while it waits for others, where it is a task itself."""
    distributed = importlib.import_module("distributed")
    left = getattr(distributed.worker.thread_state, "key", None) is not None
    if left:
        # a task that waits for other tasks must not hold the thread that they need
        distributed.secede()
    try:
        yield
    finally:
        if left:
            distributed.rejoin()


def name_lost_call(error: Exception) -> str | None:
    """Return the call that was lost with a worker according to an error and may be repeated, or None.

    Raises
    ------
    StoreError
        The error says that all calls are lost: their scheduler is gone, or was asked to forget them.
    """
    if isinstance(error, BrokenProcessPool):
        return "a call"
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    scheduler = distributed.scheduler
    if isinstance(error, scheduler.KilledWorker):
        return f"the call {str(error.task).rpartition('-')[0]}"
    if isinstance(error, distributed.comm.CommClosedError):
        return "a message"
    gone = (CancelledError, scheduler.NoWorkerError, scheduler.NoValidWorkerError, distributed.client.ClosedClientError)
    if isinstance(error, gone):
        first = str(error).strip().partition("\n")[0]
        raise StoreError(
            f"the scheduler of the workers is gone, or failed: {first}; start it again, then resume"
        ) from error
    return None


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
    return _compute(lambda: [_call_apart(task, number, arguments) for number in numbers])


def map_reduce(task: Callable[..., T], add: Callable[[list[T]], T], numbers: Sequence[Any], *arguments: Any) -> T:
    """Return the sum of `task(number, *arguments)` over all numbers.

    The sums are taken in a tree that depends on the count alone: the result has the same bits whichever worker computes
    what, and no worker holds more than a few terms.
    """

    def tree() -> list[Any]:
        level = [_call_apart(task, number, arguments) for number in numbers]
        while len(level) > 1:
            level = [_call(add, at, level[at : at + _FAN_IN]) for at in range(0, len(level), _FAN_IN)]
        return level

    result: T = _compute(tree)[0]
    return result


def _call(function: Callable[..., Any], which: Any, *arguments: Any) -> Any:
    """Return a call for dask to make later; errors of lost workers name it by the function and which one it is."""
    # a unique key: dask must not take a pass for an earlier one with equal arguments
    name = f"{getattr(function, 'func', function).__name__}({which})-{uuid.uuid4().hex}"
    return import_dask().delayed(function, pure=False, traverse=False)(*arguments, dask_key_name=name)


def _call_apart(task: Callable[..., Any], number: Any, arguments: tuple[Any, ...]) -> Any:
    """Return the call `task(number, *arguments)`, in whose arguments dask does not look for results of other calls."""
    return _call(partial(task, number, *arguments), number)


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
