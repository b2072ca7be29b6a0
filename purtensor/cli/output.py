"""What commands print, tables and named facts, and what they write; on a terminal also how far a long one is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from purtensor._printing import printable
from purtensor.errors import InvalidOptionError
from purtensor.tables.io.atomic import replace_file
from purtensor.tables.io.files import ending, require_packages

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

if TYPE_CHECKING:
    from purtensor.studies.claims import Claim

# the kind of file that holds a complete result; as a reference it may hold a table as well
NETCDF = ".nc"

# with --json what would be printed is collected by title
_COLLECTED: ContextVar[dict[str, Any] | None] = ContextVar("collected", default=None)


def require_writable(path: Path, option: str = "--out") -> None:
    """Refuse a path to write to whose folder or whose kind's package is not there, before anything is computed."""
    if not path.parent.is_dir():
        raise InvalidOptionError(f"the folder of {option} does not exist: {path.parent}")
    require_packages(path)


def require_frame(path: Path, option: str) -> None:
    """Refuse a path to write a frame to that is of another kind, or whose folder is not there."""
    if ending(path) == NETCDF:
        raise InvalidOptionError(f"{option} must end in .csv, .csv.gz or .parquet, got {path.name}")
    require_writable(path, option)


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame, whole or not at all, as CSV or as Parquet, by the ending of the path."""
    with replace_file(path) as temporary:
        write = frame.to_parquet if path.suffix == ".parquet" else frame.to_csv
        write(temporary, index=False)


def write_frames(frames: Mapping[str, pd.DataFrame], folder: Path) -> list[Path]:
    """Write each frame as CSV and as Parquet under its name, and return the paths."""
    paths = [folder / f"{name}.{kind}" for name in frames for kind in ("csv", "parquet")]
    for path in paths:
        write_frame(frames[path.stem], path)
    return paths


def write_text(text: str, path: Path) -> None:
    """Write text, whole or not at all."""
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def name_files(name: str) -> str:
    """Return the names of the two files that have the same numbers."""
    return f"{name}.csv, {name}.parquet"


@contextmanager
def collecting() -> Iterator[dict[str, Any]]:
    """Collect what the functions below would print, by title, in place of printing it."""
    collected: dict[str, Any] = {}
    token = _COLLECTED.set(collected)
    try:
        yield collected
    finally:
        _COLLECTED.reset(token)


def _print_or_collect(title: str, data: Any, text: Callable[[], str]) -> None:
    """Print a text, or keep its data under the title."""
    collected = _COLLECTED.get()
    if collected is None:
        print(f"\n{text()}")
    else:
        collected[title] = data


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], most: int | None = None) -> None:
    """Print a table, or its first rows only: the first column to the left, numbers to the right."""
    if most is not None and len(rows) > most:
        title, rows = f"{title}; the first {most} of {len(rows)} rows", rows[:most]
    names = [name or "name" for name in columns]
    data = [dict(zip(names, row, strict=True)) for row in rows]
    _print_or_collect(title, data, lambda: plain_table(title, columns, rows))


def show_frame(title: str, frame: pd.DataFrame) -> None:
    """Print a frame whose values are text, or whole numbers, as a table."""
    show_table(title, tuple(frame.columns), [tuple(map(str, row)) for row in frame.itertuples(index=False, name=None)])


def show_facts(title: str, facts: Mapping[str, str]) -> None:
    """Print named facts, one per line; those without text are left out."""
    known = {name: text for name, text in facts.items() if text}
    width = max(map(len, known), default=0)
    lines = [title, *(f"  {name:<{width}}  {text}" for name, text in known.items())]
    if known or _COLLECTED.get() is not None:
        _print_or_collect(title, known, lambda: "\n".join(map(printable, lines)))


def show_lines(title: str, lines: Sequence[str]) -> None:
    """Print sentences, one per line."""
    _print_or_collect(title, list(lines), lambda: "\n".join(f"  {printable(line)}" for line in lines))


def show_claims(claims: Sequence[Claim]) -> None:
    """Print the verdict on each claim, with its evidence below."""
    data = [{"verdict": claim.verdict, "statement": claim.statement, "evidence": claim.evidence} for claim in claims]
    lines = [f"  {claim['verdict']}: {claim['statement']}\n    {claim['evidence']}" for claim in data]
    _print_or_collect("claims", data, lambda: "\n".join(["claims of the paper", *lines]))


def plain_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as aligned text."""
    lines = [[*map(printable, line)] for line in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([printable(title), text[0], rule, *text[1:]])


@dataclass(frozen=True, slots=True)
class Bar:
    """Updates of a progress bar: `step` sets the current work, `done` the number of finished members."""

    step: Callable[[str], object]
    done: Callable[[int], object]


@contextmanager
def bar(text: str, total: int) -> Iterator[Bar]:
    """Yield the updates of a progress bar, on a terminal only, which is removed at the end."""
    if Console is None or not sys.stderr.isatty():
        yield Bar(lambda step: None, lambda done: None)
        return
    times = MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), *times)
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield Bar(
            lambda step: progress.update(task, description=step), lambda done: progress.update(task, completed=done)
        )
