"""Times as ratios, with their intervals."""

from __future__ import annotations

import pandas as pd
import pytest

import purtensor as pt
from purtensor.plots import plot_time_ratios

COLUMNS = ["problem", "solver", "ratio", "low", "high"]
ROWS = [("a", "ipf", 1.0, 1.0, 1.0), ("a", "newton", 1.1, 0.9, 1.2), ("a", "gis", 3.0, 2.5, 3.2)]


def test_plot_time_ratios__ties_are_hollow_and_bars_are_the_rounds() -> None:
    axes = plot_time_ratios(pd.DataFrame(ROWS, columns=COLUMNS), to="ipf")
    bars, dots = axes.lines[0:6:2], axes.lines[1:6:2]
    assert [list(bar.get_xdata()) for bar in bars] == [[1.0, 1.0], [0.9, 1.2], [2.5, 3.2]]
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [True, True, False]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ipf", "newton", "gis"]


def test_plot_time_ratios__refuses_nothing() -> None:
    with pytest.raises(pt.InvalidTableError, match="no ratio to draw"):
        plot_time_ratios(pd.DataFrame([], columns=COLUMNS))


def test_comparison__of_one_problem_is_drawn_over_time_and_of_several_as_ratios() -> None:
    one = pt.compare("haberman", ["newton", "ipf"], repetitions=1)
    assert one.plot().get_xscale() == "log"
    several = pt.compare(["haberman", "staircase"], ["newton", "ipf"], repetitions=1, max_iterations=50)
    assert several.plot().get_xlabel().startswith("times the seconds of newton")
