"""The progress line of a projection on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol

from purtensor.kernels.compiling import wall_clock
from purtensor.solving.convergence.trend import SweepsToGo
from purtensor.solving.loop import Callback, Progress
from purtensor.solving.spaces.space import P


@contextmanager
def progress_callback(shown: bool, callback: Callback[P] | None, tolerance: float) -> Iterator[Callback[P] | None]:
    """Give a callback that also shows the residual, and how many iterations are likely to be left, with rich.

    Only where it is requested, rich is installed, and there is a terminal.
    """
    with _status(shown, "starting") as status:
        if status is None:
            yield callback
            return
        watch = SweepsToGo(tolerance) if tolerance > 0.0 else None

        def report(progress: Progress[P]) -> Any:
            if watch is not None:
                watch(progress)
            status.update(progress_line(progress, "" if watch is None else watch.text))
            return callback(progress) if callback is not None else None

        yield report


@contextmanager
def _status(shown: bool, text: str) -> Iterator[Any]:
    """Give a line of rich that can be updated; None where it is not wanted, or there is no rich or no terminal."""
    if not shown or not sys.stderr.isatty() or find_spec("rich") is None:
        yield None
        return
    from rich.console import Console  # optional, and slow to import
    from rich.status import Status

    with Status(text, console=Console(stderr=True)) as status:
        yield status


def progress_line(progress: Progress[Any], outlook: str) -> str:
    """Return what is shown of a run after a step."""
    line = f"iteration {progress.iteration:,}  residual {progress.residual:.2e}  {progress.seconds:.1f} s"
    return f"{line}  {outlook}" if outlook else line


class Told(Protocol):
    """Is called whenever one member of many has ended."""

    def __call__(self, *, failed: int) -> None:
        """Take note of the end of a member; `failed` of all that ended so far have failed."""
        ...


@contextmanager
def members_progress(shown: bool, count: int) -> Iterator[Told]:
    """Give what to call at the end of each of `count` members: it shows how many are done, and the time that is left.

    Shown with rich, when asked for, installed and on a terminal.
    """
    done, started = 0, wall_clock()

    def line(failed: int) -> str:
        nonlocal done
        done += 1
        return members_line(done, count, failed, wall_clock() - started)

    with _status(shown, f"0 of {count:,}") as status:
        yield (lambda *, failed: None) if status is None else (lambda *, failed: status.update(line(failed)))


def members_line(done: int, count: int, failed: int, seconds: float) -> str:
    """Return how far a run of `count` members is: done, failed, and the time left at the mean pace so far."""
    failures = f", {failed:,} failed" if failed else ""
    left = seconds / done * (count - done)
    return f"{done:,} of {count:,} done{failures}, about {left:,.0f} s left"
