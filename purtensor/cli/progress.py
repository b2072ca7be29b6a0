"""What a long command shows while it computes: a bar on a terminal, nothing where there is none."""

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
    """What a bar is told: by `step` what is being done, by `done` how many members are finished."""

    step: Callable[[str], object]
    done: Callable[[int], object]


@contextmanager
def bar(text: str, total: int) -> Iterator[Shown]:
    """Yield what tells a bar how far the work has come; it is gone when the work is done."""
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
