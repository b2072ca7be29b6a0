"""The one place where kernels are compiled: without the GIL, and with a cache that cannot do harm.

numba's own cache raises at import when no directory is writable, and a truncated index file makes every later
run fail. Here an unusable cache means compiling without one, and a damaged one is flushed once. Nor does numba's
cache notice that a kernel of another file has changed, whose code is compiled into its callers: here it does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache

from purtensor.kernels._sources import fingerprint

Function = TypeVar("Function", bound=Callable[..., Any])


_Cache: Any = FunctionCache


class _GuardedCache(_Cache):  # type: ignore[misc]
    """A function cache whose faults cost a compilation, never an error."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._source = Path(function.__code__.co_filename)
        self._loaded = time.time_ns()
        self._is_stamped = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            self._stamp()
            return super().load_overload(sig, target_context)
        except Exception:  # any unpickling or reading fault: the file is not ours to trust
            self._heal()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            self._stamp()
            super().save_overload(sig, data)
        except Exception:  # a damaged index is flushed once, a full or read-only disk means no cache
            self._heal()

    def _stamp(self) -> None:
        """Let what is kept depend on all sources that the function is made of; they are read at its first call.

        A source that was written since says nothing of the code that this process runs.
        """
        if self._is_stamped:
            return
        self._is_stamped = True
        made_of = fingerprint(self._source)
        if made_of.written > self._loaded:
            self.disable()
        self._cache_file._source_stamp = made_of.digest

    def _heal(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()


def compiled(function: Function) -> Function:
    """Return `function` compiled by numba on first use, holding no GIL, cached where a directory is writable.

    Division follows IEEE 754, as in numpy: checks for zero divisors would keep loops from vector instructions.
    """
    dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
    try:
        dispatcher._cache = _GuardedCache(function)
    except (RuntimeError, OSError):
        return cast(Function, dispatcher)
    return cast(Function, dispatcher)
