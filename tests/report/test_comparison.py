"""The report of a comparison: every run and every ending is in it."""

from __future__ import annotations

from pathlib import Path

import purtensor as pt
from purtensor.report.comparison import comparison_report, ratio_table
from purtensor.report.page import render


def test_comparison_report__tells_every_ending() -> None:
    compared = pt.compare(["staircase", "haberman"], ["newton", "ipf"], max_iterations=200, repetitions=2)
    page = render(comparison_report(compared, {}, baseline="newton"))
    for text in (
        "Performance profile",
        "staircase",
        "haberman",
        "iteration limit",
        "converged",
        "in turns",
        "<dt>processor",
    ):
        assert text in page
    assert "paper's claims" not in page
    table = ratio_table(compared, "newton").set_index("solver")
    assert table.loc["newton"].tolist() == ["1", "1"]
    assert table.loc["ipf", "staircase"] == "iteration limit"
    assert float(table.loc["ipf", "haberman"]) > 0
    assert "no ratio" in ratio_table(compared, "ipf").set_index("solver").loc["newton", "staircase"]


def test_comparison_report__carries_its_pictures(tmp_path: Path) -> None:
    compared = pt.compare("haberman", "newton", repetitions=1)
    picture = tmp_path / "haberman.svg"
    picture.write_text("<svg/>")
    page = render(comparison_report(compared, {"haberman": picture}, baseline="newton"))
    assert page.count("data:image/svg+xml;base64,") == 1
