"""Runs that share a process: its memory, and the processor's clock, are not theirs alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock

from purtensor.comparison.rule import Rule

_TURN = Lock()
_CHANGING = Lock()
_PRESENT: list[Stay] = []


@dataclass(slots=True, eq=False)
class Stay:
    """A run's time in this process; `shared` where another one was there for a part of it."""

    shared: bool = False


@contextmanager
def staying(rule: Rule) -> Iterator[Stay]:
    """Yield a stay in this process; what is timed by the processor waits until it is there alone."""
    with _TURN if rule.clock == "processor" else nullcontext():
        own = Stay()
        with _CHANGING:
            _PRESENT.append(own)
            if len(_PRESENT) > 1:
                for stay in _PRESENT:
                    stay.shared = True
        try:
            yield own
        finally:
            with _CHANGING:
                _PRESENT.remove(own)
