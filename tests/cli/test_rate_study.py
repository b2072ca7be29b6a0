"""What a study of convergence prints and writes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from purtensor.cli import rate_study
from purtensor.experiments.rate_studies import RateStudy


def test_write_study__the_files_have_the_printed_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = {"lambda": RateStudy("strength", (0.0, 1e-4), "lambda", "Sweeps against lambda")}
    monkeypatch.setattr(rate_study, "STUDIES", short)
    rate_study.write_study("lambda", "a", tmp_path / "out")
    printed = capsys.readouterr().out
    assert "problem a" in printed
    assert "0.0001" in printed
    numbers = pd.read_csv(tmp_path / "out" / "lambda_a.csv")
    assert numbers.query("value == 0.0001")["sweeps"].tolist() == [8, 19, 25]
    assert (tmp_path / "out" / "lambda_a.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "out" / "lambda_a.svg").read_text()
