"""The workers of a dask.distributed Client: errors name the call that was lost, and waiting without workers ends."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

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
