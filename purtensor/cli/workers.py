"""Processes that compute side by side for one command."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from purtensor._threads import VARIABLE, thread_count
from purtensor.errors import InvalidOptionError


@contextmanager
def worker_processes(number: int) -> Iterator[ProcessPoolExecutor | None]:
    """Yield an executor of so many processes; None for one, which is this process itself.

    They share the threads that one process would use. Ctrl-C ends them at once, also where only this process hears it.

    Raises
    ------
    InvalidOptionError
        The number is less than 1.
    """
    if number < 1:
        raise InvalidOptionError(f"--workers must be at least 1, got {number}")
    if number == 1:
        yield None
        return
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")  # forked, they would have locks that threads held
    threads = max(1, thread_count() // number)
    with ProcessPoolExecutor(number, mp_context=context, initializer=_begin, initargs=(threads,)) as executor:
        try:
            yield executor
        finally:  # nothing is left to do but what was interrupted
            executor.shutdown(wait=False, cancel_futures=True)  # it forgets them before it finds its processes ended
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()


def _begin(threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an end without a traceback
    os.environ[VARIABLE] = str(threads)
