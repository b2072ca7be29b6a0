"""The picture of numbers over the years."""

from __future__ import annotations

import pandas as pd
import pytest

import purtensor as pt
from purtensor.plots.by_year import plot_by_year

FRAME = pd.DataFrame(
    {"year": [1994, 2000], "a": [0.2, 0.1], "a error": [0.01, 0.02], "b": [3.0, 4.0], "b error": [0.1, 0.1]}
)


def test_plot_by_year__a_panel_a_number_from_zero() -> None:
    axes = plot_by_year(FRAME, {"a": "first", "b": "second"}, title="T").figure.axes
    assert [one.get_ylabel() for one in axes] == ["first", "second"]
    assert axes[1].lines[0].get_xydata().tolist() == [[1994, 3.0], [2000, 4.0]]
    assert axes[0].get_ylim()[0] == 0


def test_plot_by_year__refuses_a_frame_without_errors() -> None:
    with pytest.raises(pt.InvalidTableError, match="b error"):
        plot_by_year(FRAME.drop(columns="b error"), {"b": "second"})
