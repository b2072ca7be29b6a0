"""`purtensor compare`: files, pictures, report, and whoever takes part."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli import rate_study
from purtensor.cli.declarations import BAD_INPUT, INTERRUPTED
from purtensor.cli.main import main
from purtensor.cli.study_commands import PEERS, STUDIES
from purtensor.comparison import peers

OWN = """
class Nothing:
    name = "nothing"

    def step(self, problem, iterate, budget):
        return iterate
"""


def test_compare__writes_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_solvers.py").write_text(OWN)
    records = "hired,sex,degree\n" + "no,f,no\nyes,f,yes\nno,m,no\nyes,m,no\nyes,m,yes\nno,f,yes\n" * 3
    (tmp_path / "people.csv").write_text(records)
    monkeypatch.chdir(tmp_path)
    words = [
        "compare",
        "haberman",
        "people.csv",
        "--solvers",
        "newton",
        "my_solvers:Nothing",
        "--response",
        "hired",
        "--protected",
        "sex",
        "--repetitions",
        "2",
        "--max-iterations",
        "40",
        "--out",
        "out",
    ]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "iteration limit" in printed
    assert "processor" in printed
    out = tmp_path / "out"
    runs = pd.read_csv(out / "runs.csv")
    assert runs[["problem", "solver", "ending"]].values.tolist() == [
        ["haberman", "newton", "converged"],
        ["haberman", "nothing", "iteration limit"],
        ["people", "newton", "converged"],
        ["people", "nothing", "iteration limit"],
    ]
    assert len(pd.read_csv(out / "times.csv")) == 4
    assert set(pd.read_csv(out / "ratios.csv")["problem"]) == {"haberman", "people"}
    page = (out / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 2
    for name in ("haberman", "people"):
        assert (out / f"{name}.png").stat().st_size > 10_000
    assert (out / "runs.md").read_text().count("\n") == 6
    assert r"\midrule" in (out / "runs.tex").read_text()


@pytest.mark.parametrize("ending", ["feather", "txt"])
def test_compare__reads_records_of_any_kind(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"hired": ["no", "yes", "no", "yes"] * 2, "sex": list("ffmmfmfm"), "degree": list("abababba")})
    path = tmp_path / f"people.{ending}"
    if ending == "feather":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep=";")
    words = ["--response", "hired", "--protected", "sex", "--repetitions", "1", "--out", str(tmp_path / "out")]
    assert main(["compare", str(path), "--solvers", "ipf", *words]) == 0
    assert pd.read_csv(tmp_path / "out" / "runs.csv")["problem"].tolist() == ["people"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no problem was given"),
        (["nobody"], "no problem 'nobody'"),
        (["a", "--solvers", "nobody"], "no solver 'nobody'"),
        (["a", "--solvers", "no_module:Nothing"], "no solver at no_module:Nothing"),
        (["people.csv"], "--response and --protected"),
        (["a", "--baseline", "nobody"], "--baseline must be one of the solvers, auto, ipf, newton"),
        (["a", "--budget", "0"], "budget must be the seconds"),
        (["a", "--workers", "0"], "--workers must be at least 1, got 0"),
    ],
)
def test_compare__bad_input(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *words]) == BAD_INPUT
    assert message in capsys.readouterr().err


class Interrupting:
    name = "interrupting"

    def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
        if problem.index.shape[1] > 100:
            raise KeyboardInterrupt
        return pt.Newton().step(problem, iterate, budget)


def test_compare__an_interruption_writes_what_was_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "compare",
        "haberman",
        "a",
        "--solvers",
        "newton",
        f"{__name__}:Interrupting",
        "ipf",
        "--out",
        str(tmp_path),
    ]
    assert main(words) == INTERRUPTED
    assert "not run" in capsys.readouterr().out
    runs = pd.read_csv(tmp_path / "runs.csv")
    assert runs["problem"].tolist() == ["haberman"] * 3 + ["a"] * 2
    assert runs["ending"].tolist() == ["converged"] * 4 + ["interrupted"]
    assert "by the user, at problem a" in (tmp_path / "report.html").read_text()


def test_compare__studies_are_those_that_there_are() -> None:
    assert (*rate_study.STUDIES, "atlas") == STUDIES  # the atlas is read, not solved anew


def test_compare__peers_are_those_that_there_are() -> None:
    assert tuple(peers.PEERS) == PEERS


def test_compare__takes_solvers_with_options(tmp_path: Path) -> None:
    words = ["compare", "haberman", "--solvers", "ipf(relaxation=1.2)", "ipf-anderson", "--repetitions", "1"]
    assert main([*words, "--clock", "processor", "--out", str(tmp_path)]) == 0
    runs = pd.read_csv(tmp_path / "runs.csv")
    assert runs["solver"].tolist() == ["ipf(relaxation=1.2)", "ipf-anderson"]
    assert runs["ending"].tolist() == ["converged", "converged"]


def test_compare__a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    short = dataclasses.replace(rate_study.STUDIES["lambda"], values=(1e-4, 1e-2))
    monkeypatch.setattr(rate_study, "STUDIES", {"lambda": short})
    assert main(["compare", "a", "--study", "lambda", "--out", str(tmp_path)]) == 0
    assert "sweeps of IPF, problem a" in capsys.readouterr().out
    found = pd.read_csv(tmp_path / "lambda_a.csv")
    assert found.query("value == 1e-4")["sweeps"].tolist() == [8, 19, 25]
    assert (tmp_path / "lambda_a.png").is_file()


COUNTS = ["problem", "solver", "ending", "residual", "residual_l1", "kl", "dual_gap", "iterations", "cell_touches"]


@pytest.mark.slow
def test_compare__workers_change_no_count_and_the_report_says_that_there_were_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "their_solvers.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    words = ["compare", "haberman", "a", "--solvers", "ipf", "their_solvers:Nothing", "--max-iterations", "40"]
    assert main([*words, "--out", "one"]) == 0
    assert "side by side" not in capsys.readouterr().out
    assert main([*words, "--workers", "2", "--out", "two"]) == 0
    assert "taken side by side" in capsys.readouterr().out
    one, two = (pd.read_csv(tmp_path / out / "runs.csv") for out in ("one", "two"))
    pd.testing.assert_frame_equal(one[COUNTS], two[COUNTS], check_exact=True)
    assert len(pd.read_csv(tmp_path / "two" / "times.csv")) == 10
    assert two["peak_bytes"].notna().all()  # each process has a memory of its own
    for name in ("runs.md", "report.html"):
        assert "time (side by side)" in (tmp_path / "two" / name).read_text()
        assert "side by side" not in (tmp_path / "one" / name).read_text()


@pytest.mark.slow
def test_compare__a_study_by_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = dataclasses.replace(rate_study.STUDIES["lambda"], values=(1e-4, 1e-2))
    monkeypatch.setattr(rate_study, "STUDIES", {"lambda": short})
    for workers in ("1", "2"):
        words = ["compare", "a", "--study", "lambda", "--workers", workers, "--out", str(tmp_path / workers)]
        assert main(words) == 0
    one, two = (pd.read_csv(tmp_path / workers / "lambda_a.csv") for workers in ("1", "2"))
    pd.testing.assert_frame_equal(one, two, check_exact=True)


@pytest.mark.slow
def test_compare_fair__of_records_writes_numbers_and_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ["no,f,no", "yes,f,yes", "no,m,no", "yes,m,no", "yes,m,yes", "no,f,yes"]
    (tmp_path / "people.csv").write_text("hired,sex,degree\n" + "\n".join(rows * 20) + "\n")
    monkeypatch.chdir(tmp_path)
    methods = ["f, natural", "PUR of smoothed f, fair decisions", "equipy MultiWasserstein"]
    words = ["compare", "--fair", "people.csv", "--methods", *methods, "--splits", "2", "--out", "out"]
    assert main([*words, "--response", "hired", "--protected", "sex"]) == 0
    printed = capsys.readouterr().out
    assert "people.csv, 120 people" in printed
    assert "gap of decisions" in printed
    runs = pd.read_csv(tmp_path / "out" / "fair_runs.csv")
    assert runs["method"].tolist()[:2] == methods[:2]
    summary = pd.read_csv(tmp_path / "out" / "fair_summary.csv").set_index("method")
    assert summary.loc[methods[1], "gap_train"] < 1e-9
    assert "<svg" in (tmp_path / "out" / "fair.svg").read_text()
    page = (tmp_path / "out" / "fair.html").read_text()
    assert "PUR of smoothed f, fair decisions" in page
    if "equipy" not in summary.index[-1]:
        assert "equipy MultiWasserstein: no equipy" in page
    assert main(words) == BAD_INPUT
    assert "name the response and the protected attributes" in capsys.readouterr().err
