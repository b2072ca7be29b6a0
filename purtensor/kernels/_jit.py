"""Kernels: functions over arrays that are compiled when they are first called, and not before."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from purtensor.kernels.compiling import COMPILING
from purtensor.kernels.engine import CHOSEN, prefers_numpy

Function = TypeVar("Function", bound=Callable[..., Any])


_ONE_OF_FOLDER: dict[str, Kernel] = {}
"""A kernel of every folder of sources: those of one folder are kept together."""


class Kernel:
    """A function whose calls run compiled; `py_func` is the function itself, as plain Python.

    Everything else that is asked of it, such as its statistics, is answered by numba's dispatcher.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        # sources written later are not what this process runs: see `_numba`
        self._imported = time.time_ns()
        _ONE_OF_FOLDER[os.path.dirname(function.__code__.co_filename)] = self

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What compiles the function, a form for every signature."""
        with COMPILING:
            from purtensor.kernels._numba import dispatcher_of

            return dispatcher_of(self.py_func, self._imported)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # by name, as functions are pickled

    def __call__(self, *arguments: Any) -> Any:
        # None outside of any problem: then the size of the first array decides
        plain = CHOSEN.get()
        if plain is not False:
            form = self.numpy_form
            if form is not None and (plain or self._is_short(arguments[0])):
                with np.errstate(all="ignore"):  # as compiled code divides
                    return form(*arguments)
        return self.dispatcher(*arguments)

    @functools.cached_property
    def numpy_form(self) -> Callable[..., Any] | None:
        """The same in numpy, if it was written: what the compiled form is a copy of."""
        from purtensor.kernels.numpy_forms import FORMS

        return FORMS.get(self)

    @functools.cached_property
    def _is_alone(self) -> bool:
        from purtensor.kernels.numpy_forms import ALONE

        return self in ALONE

    def _is_short(self, array: Any) -> bool:
        """Tell whether numpy serves a call outside of any problem, whose own array has to decide."""
        return self._is_alone and prefers_numpy(array.size)

    def __getattr__(self, name: str) -> Any:
        # looked up by copy, pickle and inspect, none of which should compile anything
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


def compiled(function: Function) -> Function:
    """Return `function` compiled by numba on first use, holding no GIL, cached where a directory is writable.

    With NUMBA_DISABLE_JIT set it is returned as it is: so its lines count in coverage.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return function
    return cast(Function, Kernel(function))


def cache_folders() -> tuple[str, ...]:
    """Return the folders in which the kernels imported so far are kept compiled; none where none is writable."""
    kept = {kernel.stats.cache_path for kernel in _ONE_OF_FOLDER.values()}
    return tuple(sorted(folder for folder in kept if folder))
