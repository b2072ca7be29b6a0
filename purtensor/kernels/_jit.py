"""The one place where kernels are compiled: without the GIL, and with a cache that cannot do harm.

numba's own cache raises at import when no directory is writable, and a truncated index file makes every later
run fail. Here an unusable cache means compiling without one, and a damaged one is flushed once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., Any])


_Cache: Any = FunctionCache


class _GuardedCache(_Cache):  # type: ignore[misc]
    """A function cache whose faults cost a compilation, never an error."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # any unpickling or reading fault: the file is not ours to trust
            self._heal()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:  # a damaged index is flushed once, a full or read-only disk means no cache
            self._heal()

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
