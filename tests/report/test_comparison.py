"""The report of a comparison: every run and every ending is in it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import purtensor as pt
from purtensor.report.comparison import PROFILE, comparison_report, ratio_table
from purtensor.report.page import render


def test_comparison_report__tells_every_ending() -> None:
    compared = pt.compare(["staircase", "haberman"], ["newton", "ipf"], max_iterations=200, repetitions=2)
    page = render(comparison_report(compared, {}, baseline="newton"))
    for text in (
        "both sides of 1",
        "staircase",
        "haberman",
        "iteration limit",
        "converged",
        "in turns",
        "<dt>processor",
    ):
        assert text in page
    assert "paper's claims" not in page
    assert "Performance profile" not in page
    table = ratio_table(compared, "newton").set_index("solver")
    assert table.loc["newton"].tolist() == ["1", "1"]
    assert table.loc["ipf", "staircase"] == "iteration limit"
    assert float(table.loc["ipf", "haberman"].split(" (")[0]) > 0
    assert "no ratio" in ratio_table(compared, "ipf").set_index("solver").loc["newton", "staircase"]


def test_comparison_report__carries_its_pictures(tmp_path: Path) -> None:
    compared = pt.compare("haberman", "newton", repetitions=1)
    picture = tmp_path / "haberman.svg"
    picture.write_text("<svg/>")
    page = render(comparison_report(compared, {"haberman": picture}, baseline="newton"))
    assert page.count("data:image/svg+xml;base64,") == 1


def test_comparison_report__has_a_profile_where_problems_are_many(tmp_path: Path) -> None:
    compared = pt.compare("haberman", "newton", repetitions=1)
    picture = tmp_path / "performance_profile.svg"
    picture.write_text("<svg/>")
    assert "Performance profile" in render(comparison_report(compared, {PROFILE: picture}, baseline="newton"))


@pytest.mark.parametrize(("low", "shown"), [(0.9, "1.1 (0.9 to 1.3), a tie"), (1.05, "1.1 (1.05 to 1.3)")])
def test_ratio_table__ties_are_told(low: float, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = pt.compare("haberman", ["newton", "ipf"], repetitions=1)
    lines = [("haberman", "newton", 1.0, 1.0, 1.0), ("haberman", "ipf", 1.1, low, 1.3)]
    ratios = pd.DataFrame(lines, columns=["problem", "solver", "ratio", "low", "high"])
    monkeypatch.setattr(type(compared), "ratios", lambda self, to: ratios)
    assert ratio_table(compared, "newton")["haberman"].tolist() == ["1", shown]
