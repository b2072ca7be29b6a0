"""Growth with the size, as a picture."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.comparison.statistics import growth
from purtensor.plots import plot_growth


def runs() -> pd.DataFrame:
    sizes = [10, 100, 1000]
    rows = [("one", size, True, size**1.5) for size in sizes] + [("few", 10, True, 1.0), ("none", 10, False, 2.0)]
    table = pd.DataFrame(rows, columns=["solver", "profiles", "converged", "seconds"])
    return table.assign(problem=[f"p{size}" for size in table["profiles"]])


def test_plot_growth__lines_have_the_power_and_go_through_the_runs() -> None:
    axes = plot_growth(runs(), growth(runs(), "seconds"))
    points, line, few = axes.lines
    assert np.asarray(points.get_xdata()).tolist() == [10, 100, 1000]
    assert np.asarray(line.get_ydata()) == pytest.approx([10**1.5, 1000**1.5])
    assert [points.get_label(), few.get_label()] == ["one (power 1.50)", "few"]


def test_plot_growth__refuses_nothing_to_draw() -> None:
    failed = runs().assign(converged=False)
    with pytest.raises(pt.InvalidTableError, match="no run to draw"):
        plot_growth(failed, growth(failed, "seconds"))
