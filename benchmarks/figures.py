"""Ratios of this machine, in one run, as a Markdown table: `python -m benchmarks.figures [NAME ...]`.

Contenders take turns and each round gives a ratio; the table shows the median and the range of the ratios. A ratio is
the time of ours over the time of theirs, each divided by its amount of work.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import sys
import time
from collections.abc import Sequence
from statistics import median

import numba
import numpy as np

import purtensor as pt
from benchmarks.contests import FIGURES, Figure
from benchmarks.interleaved import Clock, interleaved_seconds
from purtensor.comparison.machine import processor
from purtensor.comparison.shown import duration


def measured(figure: Figure, rounds: int, clock: Clock = time.perf_counter) -> list[str]:
    """Return the cells of one line of the table."""
    contest = figure.prepare()
    contenders = {"ours": contest.ours.call, "other": contest.other.call}
    seconds = interleaved_seconds(contenders, rounds=rounds, clock=clock)
    ours = [time / contest.ours.work for time in seconds["ours"]]
    other = [time / contest.other.work for time in seconds["other"]]
    ratios = [mine / theirs for mine, theirs in zip(ours, other, strict=True)]
    goal = "" if figure.goal is None else f"at most {figure.goal:.3g}"
    times = f"{duration(median(ours))} : {duration(median(other))}"
    spread = f"{min(ratios):.3g} - {max(ratios):.3g}"
    return [figure.what, figure.against, f"{median(ratios):.3g}", spread, goal, times, contest.remark]


def machine() -> str:
    """Return one line about the processor and the versions."""
    versions = f"purtensor {pt.__version__}, numpy {np.__version__}, numba {numba.__version__}"
    return f"{processor()}, {os.cpu_count()} cores seen, Python {platform.python_version()}, {versions}"


def chosen(patterns: Sequence[str], heavy: bool) -> list[Figure]:
    """Return the figures whose names match a pattern; all light ones without patterns, all with `heavy`."""
    if patterns:
        return [figure for name, figure in FIGURES.items() if any(fnmatch.fnmatch(name, p) for p in patterns)]
    return [figure for figure in FIGURES.values() if heavy or not figure.heavy]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print, a line as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description="Print ratios as Markdown.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures, or patterns such as 'sweep-*'")
    parser.add_argument("--rounds", type=int, default=9, help="ratios a figure, of which the median is shown")
    parser.add_argument("--heavy", action="store_true", help="also those of 2 * 10^7 cells and more")
    parser.add_argument("--cpu", action="store_true", help="processor time, for a machine that others use")
    parser.add_argument("--list", action="store_true", help="print the names and leave")
    options = parser.parse_args(arguments)
    figures = chosen(options.names, options.heavy)
    if options.list:
        print_lines(*(f"{figure.name}: {figure.what} / {figure.against}" for figure in figures))
        return 0
    if options.rounds < 1:
        parser.error(f"a median takes at least 1 round, not {options.rounds}")
    if not figures:
        parser.error(f"no figure matches; there are {', '.join(FIGURES)}")
    clock = time.process_time if options.cpu else time.perf_counter
    kind = "processor" if options.cpu else "wall"
    print_lines(
        f"{machine()}.", f"Ratios of ours to theirs, {kind} time: median and range of {options.rounds} rounds.", ""
    )
    print_lines(table_row(_HEAD), table_row(["---"] * len(_HEAD)))
    for figure in figures:
        print_lines(table_row(measured(figure, options.rounds, clock)))
    return 0


_HEAD = ["ours", "theirs", "ratio", "range", "goal", "times", "remark"]


def table_row(cells: Sequence[str]) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def print_lines(*lines: str) -> None:
    """Print lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
