"""The one place where kernels are compiled: without the GIL, and with a cache that cannot do harm.

numba's own cache raises at import when no directory is writable, and a truncated index file makes every later
run fail. Here an unusable cache means compiling without one, and a damaged one is flushed once. Nor does numba's
cache notice that a kernel of another file has changed, whose code is compiled into its callers: here it does.

Imported when the first kernel is compiled: numba takes longer to import than most calls take.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import types
from numba.core.caching import FunctionCache, NullCache
from numba.extending import typeof_impl

from purtensor.kernels._jit import Kernel
from purtensor.kernels._sources import fingerprint
from purtensor.kernels.compiling import COMPILING, announce
from purtensor.kernels.simd_in_llvm import overload_all

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""Division follows IEEE 754, as in numpy: checks for zero divisors would keep loops from vector instructions."""

_VECTORS = Path(__file__).with_name("simd_in_llvm.py")
"""What the vector instructions are made by; no kernel imports it."""

_Cache: Any = FunctionCache
_NoCache: Any = NullCache


class _GuardedCache(_Cache):  # type: ignore[misc]
    """A function cache whose faults cost a compilation, never an error."""

    def __init__(self, function: Callable[..., Any], imported: int) -> None:
        super().__init__(function)
        self._source = Path(function.__code__.co_filename)
        self._imported = imported
        self._is_stamped = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            self._stamp()
            found = super().load_overload(sig, target_context)
        except Exception:  # any unpickling or reading fault: the file is not ours to trust
            self._heal()
            found = None
        if found is None:
            announce()
        return found

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
        # before the sources are read: where they cannot be, it is not tried at every signature
        self._is_stamped = True
        made_of, vectors = fingerprint(self._source), fingerprint(_VECTORS)
        if max(made_of.written, vectors.written) > self._imported:
            self.disable()
        self._cache_file._source_stamp = f"{made_of.digest} {vectors.digest} {sorted(_OPTIONS.items())}"

    def _heal(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()


class _Unkept(_NoCache):  # type: ignore[misc]
    """No cache: whatever is asked for is compiled."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        announce()


def dispatcher_of(function: Callable[..., Any], imported: int) -> Any:
    """Return numba's dispatcher of a function that was imported at this time, in nanoseconds since the epoch."""
    dispatcher: Any = njit(**_OPTIONS)(function)
    try:
        dispatcher._cache = _GuardedCache(function, imported)
    except (RuntimeError, OSError):
        dispatcher._cache = _Unkept()
    compile_one = dispatcher.compile

    @functools.wraps(compile_one)
    def compile_off_the_clock(signature: Any) -> Any:
        with COMPILING:
            return compile_one(signature)

    dispatcher.compile = compile_off_the_clock
    return dispatcher


overload_all()


@typeof_impl.register(Kernel)
def _as_dispatcher(kernel: Any, context: Any) -> Any:
    """Let compiled code call a kernel by its global name."""
    return types.Dispatcher(kernel.dispatcher)
