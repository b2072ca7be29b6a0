"""The bar of long commands: on a terminal only, and gone when the work is done."""

from __future__ import annotations

import io
import sys

import pytest

from purtensor.cli import progress
from purtensor.cli.progress import bar

pytest.importorskip("rich")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_on(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", stream)
    with bar("beginning", 7) as shown:
        shown.step("drawing tables")
        shown.done(7)
    return stream.getvalue()


def test_bar__tells_the_step_and_how_many_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown_on(Terminal(), monkeypatch)
    assert "drawing tables" in text
    assert "7/7" in text


def test_bar__is_silent_without_a_terminal_or_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_on(io.StringIO(), monkeypatch) == ""
    monkeypatch.setattr(progress, "Console", None)
    assert shown_on(Terminal(), monkeypatch) == ""
