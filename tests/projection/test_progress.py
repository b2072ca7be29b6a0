"""What a terminal shows while something runs, and that nothing else is shown anything."""

from __future__ import annotations

import io
import re
import sys

import pytest

import purtensor as pt
from purtensor.projection.progress import progress_line
from purtensor.solving.loop import Progress

pytest.importorskip("rich")

COUNTS = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[1, 2, 3, 5])
TARGETS = pt.marginals_of(pt.tabulate({"a": [0, 1, 1], "b": [0, 0, 1]}), ["a", "b"])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def opened(monkeypatch) -> Terminal:
    """A terminal in place of stderr; within a test, as pytest's own capture comes after the fixtures."""
    shown = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def test_project__shows_the_last_residual_and_still_calls_back(monkeypatch) -> None:
    terminal = opened(monkeypatch)
    told = []
    pt.project(COUNTS, TARGETS, solver=pt.IPF(), progress=True, callback=told.append)
    last = told[-1]
    assert f"iteration {last.iteration:,}  residual {last.residual:.2e}" in terminal.getvalue()


def test_project__without_a_callback_shows_the_same(monkeypatch) -> None:
    terminal = opened(monkeypatch)
    pt.project(COUNTS, TARGETS, solver=pt.IPF(), progress=True)
    assert re.search(r"iteration [1-9]\d*  residual \d\.\d\de-\d\d  \d\.\d s", terminal.getvalue())


def test_project__a_callback_may_still_end_the_run(monkeypatch) -> None:
    opened(monkeypatch)
    result = pt.project(COUNTS, TARGETS, solver=pt.IPF(), progress=True, callback=lambda _: True, on_failure="return")
    assert result.termination is pt.results.Termination.INTERRUPTED


def test_project_many__shows_how_many_are_done(monkeypatch) -> None:
    terminal = opened(monkeypatch)
    pt.project_many([COUNTS, COUNTS, COUNTS], TARGETS, progress=True)
    assert "3 of 3" in terminal.getvalue()


@pytest.mark.parametrize("asked", [True, False])
def test_progress__nothing_is_shown_where_there_is_no_terminal_or_nobody_asks(asked, monkeypatch) -> None:
    stream = io.StringIO() if asked else Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    pt.project(COUNTS, TARGETS, progress=asked)
    pt.project_many([COUNTS], TARGETS, progress=asked)
    assert stream.getvalue() == ""


def test_progress_line__ends_with_what_is_likely_to_be_left():
    progress = Progress(64, 1.25, 3e-6, 1e-5, None)
    assert progress_line(progress, "") == "iteration 64  residual 3.00e-06  1.2 s"
    assert progress_line(progress, "some 110 to 120 more").endswith("1.2 s  some 110 to 120 more")
