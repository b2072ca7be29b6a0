"""Text tables, files that are whole, and the bar of long commands: on a terminal only, and gone at the end."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli import output
from purtensor.cli.main import main
from purtensor.cli.output import bar, write_frame, write_text

COLUMNS = ("group", "data", "fair")
ROWS = [("female", "0.3", "1.000"), ("m", "0.75", "0.9")]


def test_plain_table__aligns_words_left_and_numbers_right() -> None:
    assert output.plain_table("ratios", COLUMNS, ROWS) == (
        "ratios\ngroup   data   fair\n-------------------\nfemale   0.3  1.000\nm       0.75    0.9"
    )


def test_show_table__is_plain_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_table("ratios", COLUMNS, ROWS)
    assert capsys.readouterr().out.strip() == output.plain_table("ratios", COLUMNS, ROWS)


def test_show_facts__leaves_out_what_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_facts("data", {"file": "a.csv", "dropped rows": "", "total": "5"})
    assert capsys.readouterr().out == "\ndata\n  file   a.csv\n  total  5\n"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_write_frame__is_whole_or_not_at_all(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"numbers.{ending}"
    first, second = pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [3]})
    write_frame(first, path)
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    pd.testing.assert_frame_equal(read(path), first)

    def half(frame: pd.DataFrame, where: Path, **options: object) -> None:
        where.write_bytes(b"a\n")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, f"to_{ending}", half)
    with pytest.raises(KeyboardInterrupt):
        write_frame(second, path)
    pd.testing.assert_frame_equal(read(path), first)
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def test_write_text__is_whole(tmp_path: Path) -> None:
    write_text("ä\n", tmp_path / "a.md")
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "ä\n"


def test_commands__let_no_control_character_of_the_data_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a\x1b[31m.csv"
    sex, rows = "s\x1b]0;x\x07ex", ["0,0,a\x1b[2J", "1,0,a\x1b[2J", "0,1,b", "1,1,b"]
    file.write_text("\n".join([f"y,{sex},x", *rows]) + "\n")
    out = tmp_path / "o\x1b[1m.csv"
    for protected, ending in ((sex, 0), (sex, 0), (f"{sex}\x9b", 2)):  # new, replaced, and refused
        words = ["project", str(file), "--response", "y", "--protected", protected, "--out", str(out)]
        assert main(words) == ending
    assert main(["diagnose", str(file), "--response", "y", "--protected", sex]) == 0
    shown = capsys.readouterr()
    assert not set(shown.out + shown.err) & set("\x1b\x07\x9b")
    assert r"o\x1b[1m.csv" in shown.out
    assert r"\x9b" in shown.err


def test_errors__and_warnings_show_control_characters_as_their_escapes() -> None:
    counts = pt.tabulate({"a\x1b[2J": [0, 1], "b": [0, 1]})
    with pytest.raises(pt.UnknownAttributeError) as refused:
        pt.marginal(counts, ["c\u202e"])
    assert "\x1b" not in str(refused.value)
    assert r"a\x1b[2J" in str(refused.value)
    assert str(pt.errors.StoreError("x\x07")) == r"x\x07"
    assert str(pt.errors.PurtensorWarning("x\x1b")) == r"x\x1b"


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


@pytest.mark.skipif(output.Console is None, reason="needs rich")
def test_bar__shows_the_step_and_how_many_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown_on(Terminal(), monkeypatch)
    assert "drawing tables" in text
    assert "7/7" in text


def test_bar__is_silent_without_a_terminal_or_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_on(io.StringIO(), monkeypatch) == ""
    monkeypatch.setattr(output, "Console", None)
    assert shown_on(Terminal(), monkeypatch) == ""
