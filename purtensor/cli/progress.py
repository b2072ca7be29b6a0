"""The progress bar of long commands, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

try:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
except ImportError:  # an optional extra
    Console = None  # type: ignore[assignment, misc]


@dataclass(frozen=True, slots=True)
class Shown:
    """Updates of a progress bar: `step` sets the current work, `done` the number of finished members."""

    step: Callable[[str], object]
    done: Callable[[int], object]


@contextmanager
def bar(text: str, total: int) -> Iterator[Shown]:
    """Yield the updates of a progress bar, which is removed at the end."""
    if Console is None or not sys.stderr.isatty():
        yield Shown(lambda step: None, lambda done: None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield Shown(
            lambda step: progress.update(task, description=step), lambda done: progress.update(task, completed=done)
        )
