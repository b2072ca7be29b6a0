"""`--json` and `--quiet`, before or after the command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from purtensor.cli.main import main, missing_package

WORDS = ["project", "people.csv", "--response", "hired", "--protected", "sex", "--out", "fair.csv"]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("hired,sex,team\nno,f,a\nyes,f,a\nno,m,b\nyes,m,a\nno,f,b\nyes,m,b\n")
    return tmp_path


@pytest.mark.parametrize("words", [["--json", *WORDS], [*WORDS, "--json"]])
def test_json__is_one_object_with_all_that_is_told(people, capsys, words):
    Path("fair.csv").touch()
    assert main(words) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert (told["command"], told["exit_code"]) == ("project", 0)
    assert told["projection"]["written to"] == "fair.csv"
    assert {row["projection"] for row in told["disparity ratio, p(hired | group) / p(hired | f)"]} == {"1.0000"}
    assert told["replaced"] == ["fair.csv"]
    assert err == ""


def test_json__of_an_error_is_its_facts_in_the_words_of_the_command_line(people, capsys):
    Path("people.csv").write_text("hired,sex,team\n?,f,a\nyes,m,a\n")
    assert main([*WORDS, "--json"]) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert error["code"] == "spelled-missing"
    assert error["message"].startswith("attribute 'hired' has '?' in 1 of 2 rows")
    assert "--missing-values '?'" in error["hint"]
    assert error["message"].endswith(error["hint"])
    assert err == ""


@pytest.mark.parametrize(
    ("words", "got", "hint"),
    [
        (["projct", "people.csv"], "projct", "did you mean 'project'?"),
        (["project", "people.csv", "--missing", "drp"], "drp", "did you mean 'drop'?"),
        ([*WORDS, "--respnse", "x"], "--respnse", "did you mean '--response'?"),
        (["project", "people.csv", "--missing", "omit"], "omit", "try: purtensor project --help"),
        (["project"], "other words", "try: purtensor project --help"),
    ],
)
def test_usage__asks_whether_another_word_was_meant(people, capsys, words, got, hint):
    with pytest.raises(SystemExit) as ended:
        main([*words, "--json"])
    assert ended.value.code == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["got"], error["hint"]) == ("usage", got, hint)
    assert error["where"]
    assert error["expected"]
    with pytest.raises(SystemExit):
        main(words)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"purtensor{'' if words[0] == 'projct' or got == '--respnse' else ' project'}: error: ")
    assert error["message"] in err
    assert err.endswith("--help\n")


@pytest.mark.filterwarnings("always")
def test_json__has_warnings_and_sentences(people, capsys):
    rows = "".join(f"{k},{'fm'[k % 2]},{('no', 'yes')[k // 2 % 2]}\n" for k in range(60))
    Path("people.csv").write_text("row,sex,hired\n" + rows)
    assert main([*WORDS, "--conditions", "P", "--json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning["warning"] == "SuspiciousColumnWarning"
    assert "'row' has 60 categories" in warning["message"]
    ending = main(["diagnose", *WORDS[1:-2], "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["exit_code"], told["verdict"]["verdict"]) == (ending, "interior")
    assert told["reasons"]


def test_quiet__prints_errors_only(people, capsys):
    assert main([*WORDS, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main([*WORDS[:-1], "fair.doc", "--quiet"]) == 2
    assert "fair.doc" in capsys.readouterr().err


def test_missing_packages__are_told_with_the_smallest_extra():
    assert missing_package(ModuleNotFoundError("no", name="matplotlib.axes")).endswith("'purtensor[plot]'")
    assert missing_package(ModuleNotFoundError("no", name="purtensor.nothing")) is None


def test_compare__prints_and_writes_numbers_without_matplotlib(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name == "purtensor.plots.save_figure":
                raise ImportError("figures need the package matplotlib: pip install 'purtensor[plot]'")

    monkeypatch.delitem(sys.modules, "purtensor.plots.save_figure", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    assert main(["compare", "a", "--solvers", "ipf", "--repetitions", "1", "--out", "out"]) == 0
    assert "left out: figures need the package matplotlib" in capsys.readouterr().out
    assert Path("out/runs.csv").exists()
