"""What a long command shows while it computes: a bar on a terminal, nothing where there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


@contextmanager
def bar(text: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many of `total` are done."""
    if Console is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=total)

        def show(done: int) -> None:
            progress.update(task, completed=done)

        yield show
