"""A line on the terminal while a projection runs; quiet where there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from purtensor.solving.loop import Progress


@contextmanager
def progress_callback(
    shown: bool, callback: Callable[[Progress], Any] | None
) -> Iterator[Callable[[Progress], Any] | None]:
    """Give a callback that also shows the residual with rich, when asked for, installed and on a terminal."""
    if not shown or not sys.stderr.isatty():
        yield callback
        return
    try:
        from rich.console import Console  # optional, and slow to import
        from rich.status import Status
    except ImportError:
        yield callback
        return
    with Status("starting", console=Console(stderr=True)) as status:

        def told(progress: Progress) -> Any:
            status.update(
                f"iteration {progress.iteration:,}  residual {progress.residual:.2e}  {progress.seconds:.1f} s"
            )
            return callback(progress) if callback is not None else None

        yield told
