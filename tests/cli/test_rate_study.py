"""What a study of convergence prints and writes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from purtensor.cli import rate_study
from purtensor.cli.declarations import DONE, INTERRUPTED
from purtensor.cli.main import main
from purtensor.problems.named import NamedProblem
from purtensor.studies import rate_studies
from purtensor.studies.rate_studies import RateStudy


def test_write_study__the_files_have_the_printed_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = {"lambda": RateStudy("strength", (0.0, 1e-4), "lambda", "Sweeps against lambda")}
    monkeypatch.setattr(rate_study, "STUDIES", short)
    assert rate_study.write_study("lambda", "a", tmp_path / "out") == DONE
    printed = capsys.readouterr().out
    assert "problem a" in printed
    assert "0.0001" in printed
    numbers = pd.read_csv(tmp_path / "out" / "lambda_a.csv")
    assert numbers.query("value == 0.0001")["sweeps"].tolist() == [8, 19, 25]
    assert (tmp_path / "out" / "lambda_a.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "out" / "lambda_a.svg").read_text()


@pytest.mark.slow
def test_write_study__after_ctrl_c_writes_what_was_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = {"lambda": RateStudy("strength", (1.0, 1e-2, 1e-4), "lambda", "Sweeps against lambda")}
    plain = rate_studies.variant

    def interrupting(problem: str, **options: float) -> NamedProblem:
        if options["strength"] == 1e-4:
            raise KeyboardInterrupt
        return plain(problem, **options)

    monkeypatch.setattr(rate_study, "STUDIES", short)
    monkeypatch.setattr(rate_studies, "variant", interrupting)
    assert rate_study.write_study("lambda", "a", tmp_path) == INTERRUPTED
    assert "by the user; not done: 0.0001" in capsys.readouterr().out
    assert sorted(set(pd.read_csv(tmp_path / "lambda_a.csv")["value"])) == [1e-2, 1.0]
    assert main(["compare", "a", "b", "--study", "lambda", "--out", str(tmp_path / "both")]) == INTERRUPTED
    assert not list((tmp_path / "both").glob("lambda_b*"))


def test_atlas__is_written_and_drawn(tmp_path, monkeypatch):
    out = tmp_path / "atlas"
    drawn = []

    def without_drawing(axes, path, *, title):  # that is for the tests of the picture
        drawn.append((len(axes.lines), path.name))
        return path.with_suffix(".svg"), path.with_suffix(".png")

    monkeypatch.setattr(rate_study, "save_figure", without_drawing)
    assert main(["compare", "--study", "atlas", "--out", str(out)]) == 0
    assert len(pd.read_csv(out / "atlas.csv")) == 12_096
    assert pd.read_csv(out / "atlas_laws.csv")["strength"].tolist() == [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0]
    assert drawn[0][0] > 300
    assert drawn[0][1] == "atlas"
