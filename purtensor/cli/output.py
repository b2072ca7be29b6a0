"""Print tables and named facts on a terminal, or as plain text without one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from purtensor._printing import printable
from purtensor.tables.io.atomic import replace_file

try:
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table as RichTable
except ImportError:  # an optional extra
    RichTable = None  # type: ignore[assignment, misc]

if TYPE_CHECKING:
    from purtensor.studies.claims import Claim

_WIDEST = 1000
_COLLECTED: ContextVar[dict[str, Any] | None] = ContextVar("collected", default=None)


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame, whole or not at all, as CSV or as Parquet, by the ending of the path."""
    with replace_file(path) as temporary:
        if path.suffix == ".parquet":
            frame.to_parquet(temporary, index=False)
        else:
            frame.to_csv(temporary, index=False)


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


@contextmanager
def collecting() -> Iterator[dict[str, Any]]:
    """Collect what the functions below would print, by title, in place of printing it."""
    collected: dict[str, Any] = {}
    token = _COLLECTED.set(collected)
    try:
        yield collected
    finally:
        _COLLECTED.reset(token)


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], most: int | None = None) -> None:
    """Print a table, or its first rows only: the first column to the left, numbers to the right."""
    if most is not None and len(rows) > most:
        title, rows = f"{title}; the first {most} of {len(rows)} rows", rows[:most]
    collected = _COLLECTED.get()
    if collected is not None:
        names = [name or "name" for name in columns]
        collected[title] = [dict(zip(names, row, strict=True)) for row in rows]
        return
    title, columns, rows = printable(title), [*map(printable, columns)], [[*map(printable, row)] for row in rows]
    if RichTable is not None and sys.stdout.isatty():
        _show_rich(title, columns, rows)
    else:
        print(f"\n{plain_table(title, columns, rows)}")


def show_frame(title: str, frame: pd.DataFrame) -> None:
    """Print a frame whose values are text, or whole numbers, as a table."""
    show_table(title, tuple(frame.columns), [tuple(map(str, row)) for row in frame.itertuples(index=False, name=None)])


def show_facts(title: str, facts: Mapping[str, str]) -> None:
    """Print named facts, one per line; those without text are left out."""
    known = {name: text for name, text in facts.items() if text}
    collected = _COLLECTED.get()
    if collected is not None:
        collected[title] = known
        return
    if not known:
        return
    width = max(map(len, known))
    print(printable(f"\n{title}"))
    for name, text in known.items():
        print(printable(f"  {name:<{width}}  {text}"))


def show_lines(title: str, lines: Sequence[str]) -> None:
    """Print sentences, one per line."""
    collected = _COLLECTED.get()
    if collected is not None:
        collected[title] = list(lines)
        return
    print("", *(f"  {printable(line)}" for line in lines), sep="\n")


def show_claims(claims: Sequence[Claim]) -> None:
    """Print the verdict on each claim, with its evidence below."""
    collected = _COLLECTED.get()
    if collected is not None:
        collected["claims"] = [
            {"verdict": claim.verdict, "statement": claim.statement, "evidence": claim.evidence} for claim in claims
        ]
        return
    print("\nclaims of the paper")
    for claim in claims:
        print(f"  {claim.verdict}: {claim.statement}\n    {claim.evidence}")


def both(name: str) -> str:
    """Return the names of the two files that have the same numbers."""
    return f"{name}.csv, {name}.parquet"


def plain_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as aligned text."""
    lines = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    text = [_align(line, widths) for line in lines]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([title, text[0], rule, *text[1:]])


def _align(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = [
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "  ".join([first, *others]).rstrip()


def _show_rich(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console()
    # a narrow terminal may break lines, but a number cut short would be another number
    console.width = max(console.width, Measurement.get(console, console.options.update(width=_WIDEST), table).maximum)
    console.print(f"\n{title}", style="bold", markup=False, highlight=False, soft_wrap=True)
    console.print(table)
