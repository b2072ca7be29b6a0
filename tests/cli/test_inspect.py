"""`purtensor inspect`, and the warnings of `project`."""

from __future__ import annotations

from pathlib import Path

import pytest

import purtensor as pt
from purtensor.cli.main import main

ROWS = "".join(f"{k},{'fm'[k % 2]},{17 + k % 70},{['no', 'yes'][k // 3 % 2]},{1 + k % 5}\n" for k in range(400))


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("row,sex,age,hired,Freq\n" + ROWS)
    return tmp_path


def test_inspect__prints_columns_what_to_decide_and_the_next_command(people, capsys):
    assert main(["inspect", "people.csv", "--response", "hired"]) == 0
    printed = capsys.readouterr().out
    for part in ("identifier", "number to bin", "give --weights Freq", "--bins age=quantiles:4"):
        assert part in printed
    next_line = printed.strip().splitlines()[-1]
    assert next_line.strip() == (
        "purtensor project people.csv --response hired --protected sex --unprotected age --weights Freq "
        "--bins age=quantiles:4 --out fair.csv"
    )
    assert main(next_line.split()[1:]) == 0
    assert pt.load("fair.csv").sum() == pytest.approx(1)


@pytest.mark.filterwarnings("always")
def test_project__warns_in_the_words_of_the_command_line(people, capsys):
    words = ["project", "people.csv", "--response", "hired", "--protected", "sex", "--conditions", "P"]
    assert main([*words, "--out", "fair.csv"]) == 0
    told = capsys.readouterr().err
    assert "purtensor: warning: column 'Freq' has the name of a weight or a count" in told
    assert "give --weights Freq if" in told
    assert main([*words, "--unprotected", "age", "--weights", "Freq", "--out", "other.csv"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_inspect__refuses_by_name(people, capsys):
    assert main(["inspect", "people.csv", "--response", "wage"]) == 2
    assert "no attribute 'wage'" in capsys.readouterr().err
