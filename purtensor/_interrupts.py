"""Ctrl-C and other libraries: some do not hear it while they compute, some leave their locks taken when they do."""

from __future__ import annotations

import contextvars
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

_Result = TypeVar("_Result")

_SECONDS = 0.1
"""How long the main thread waits before it looks for signals, on systems where they do not wake it."""

MANY = 1 << 20
"""Numbers whose sorting takes about 0.1 s: long against a thread."""


def run_apart(call: Callable[[], _Result]) -> _Result:
    """Return the result of a call, made on a separate thread so that Ctrl-C can interrupt the wait.

    The call itself cannot be stopped and must have its own limit: after Ctrl-C it continues to its end, and what it
    gives is lost. Threads other than the main one, which alone hears Ctrl-C, make the call themselves.

    Examples
    --------
    >>> run_apart(lambda: 1 + 1)
    2
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    context, given, raised = contextvars.copy_context(), list[_Result](), list[BaseException]()
    of_errors: Any = np.geterr()  # what numpy 1 does not keep in the context

    def work() -> None:
        try:
            with np.errstate(**of_errors):
                given.append(context.run(call))
        except BaseException as error:  # raised in the calling thread
            raised.append(error)

    thread = threading.Thread(target=work, name="purtensor-apart", daemon=True)  # the process may end before it does
    try:
        thread.start()
    except RuntimeError:  # no memory for one more thread
        return call()
    while thread.is_alive():
        thread.join(_SECONDS)
    if raised:
        raise raised.pop()
    return given.pop()


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Let a Ctrl-C that comes within the block be heard at its end.

    xarray takes the locks of NetCDF by Python code: an interrupt between taking them and the block that gives them back
    would leave them taken, and every later use of NetCDF in this process would wait without end.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    heard: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            before(*heard[0])
