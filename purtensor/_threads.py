"""Work in chunks on several threads, with the same bits for any number of threads.

The chunks depend only on the problem, each writes separate results, and these are summed in the order of the chunks.
Kernels hold no GIL, so plain threads are enough (notes/decisions.md).
"""

from __future__ import annotations

import contextvars
import itertools
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError

VARIABLE = "PURTENSOR_THREADS"
"""The environment variable that says how many threads to use; the processors of this process when it is not set."""

_MOST_THREADS = 64

Chunk: TypeAlias = tuple[int, int]
"""Where a chunk begins and ends."""


def thread_count() -> int:
    """Return how many threads to use.

    Raises
    ------
    InvalidOptionError
        The environment variable is not a positive whole number.
    """
    asked = os.environ.get(VARIABLE, "").strip()
    if not asked:
        affinity = getattr(os, "sched_getaffinity", None)  # not on every system
        return len(affinity(0)) if affinity else (os.cpu_count() or 1)
    if not asked.isdecimal() or int(asked) < 1:
        raise InvalidOptionError(f"{VARIABLE} must be a positive whole number, got {asked!r}")
    return int(asked)


def chunks_of(count: int, size: int) -> tuple[Chunk, ...]:
    """Return the ranges of at most `size` that make up 0 .. count - 1, of sizes as equal as can be."""
    pieces = max(1, -(-count // size))
    ends = [count * n // pieces for n in range(pieces + 1)]
    return tuple(itertools.pairwise(ends))


def for_each_chunk(work: Callable[[int, int, int], object], chunks: Sequence[Chunk]) -> None:
    """Call `work(number, begin, end)` for every chunk, on as many threads as there are to use.

    An error ends the work on further chunks, and is raised when all threads have come back.
    """
    if len(chunks) == 1:
        work(0, *chunks[0])
        return
    left = deque((number, begin, end) for number, (begin, end) in enumerate(chunks))
    others = [
        _pool().submit(contextvars.copy_context().run, _work_off, work, left)  # which engine was chosen, for one
        for _ in range(min(thread_count(), len(chunks)) - 1)
    ]
    try:
        _work_off(work, left)
    finally:
        left.clear()
        wait(others)
    for other in others:
        other.result()


def sum_chunks(parts: FloatArray) -> Any:
    """Return the sum over the first axis, the chunks added one after the other."""
    return parts[0].copy() if len(parts) == 1 else np.add.accumulate(parts, axis=0)[-1]


def _work_off(work: Callable[[int, int, int], object], left: deque[tuple[int, int, int]]) -> None:
    while left:
        try:
            chunk = left.popleft()
        except IndexError:  # another thread took the last one
            return
        work(*chunk)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=_MOST_THREADS, thread_name_prefix="purtensor")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
