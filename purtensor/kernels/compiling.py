"""Clocks that stand still while kernels are being compiled, and what a terminal shows meanwhile.

A kernel is compiled, or read from the cache, when it is first called: seconds that say nothing of the work itself, and
that no later run takes. So they are no part of a measurement, nor of a limit of time.
"""

from __future__ import annotations

import sys
import threading
import time
from functools import cache

ANNOUNCEMENT = "compiling kernels once; later runs load them from the cache (`purtensor warmup` compiles all)"


class _Stopwatch:
    """The seconds that all threads of this process have spent inside, where it is a context: compiling.

    numba lets one thread compile at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._began = (0.0, 0.0)
        self._wall = self._processor = 0.0

    def __enter__(self) -> None:
        with self._lock:
            # kernels compile the kernels that they call: only the outermost is timed
            if self._depth == 0:
                self._began = time.perf_counter(), time.thread_time()
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                wall, processor = self._began
                self._wall += time.perf_counter() - wall
                self._processor += time.thread_time() - processor

    def wall(self) -> float:
        with self._lock:
            now = self._began[0] if self._depth else time.perf_counter()
            return now - self._wall

    def processor(self) -> float:
        # another thread's processor time cannot be read: what it has spent so far counts once it has ended
        with self._lock:
            return time.process_time() - self._processor


COMPILING = _Stopwatch()
"""Inside of this context the clocks of this module stand still; in the thread that compiles only."""


def wall_clock() -> float:
    """Return seconds as `time.perf_counter` does, without those spent compiling."""
    return COMPILING.wall()


def processor_clock() -> float:
    """Return seconds as `time.process_time` does, without those spent compiling."""
    return COMPILING.processor()


@cache
def announce() -> None:
    """Say, once in this process, that kernels are being compiled; on a terminal only."""
    # bars of rich pass on what is written to sys.stderr, and stay below it
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"{ANNOUNCEMENT}\n")
