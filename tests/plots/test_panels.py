"""Pictures with a panel per number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.plots.panels import plot_by_year, plot_methods

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


SUMMARY = pd.DataFrame(
    {
        "method": ["f", "PUR", "thresholds"],
        "loss": [0.45, 0.49, np.nan],
        "loss_error": [0.01, 0.01, np.nan],
        "gap": [0.25, 0.01, 0.002],
        "gap_error": [0.01, 0.01, 0.001],
    }
)


def test_plot_methods__a_line_a_method_and_a_panel_a_measure() -> None:
    axes = plot_methods(SUMMARY, {"loss": "log-loss", "gap": "gap"}, title="T", error="one standard error").figure.axes
    assert [one.get_title(loc="left") for one in axes] == ["log-loss", "gap"]
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["f", "PUR", "thresholds"]
    assert axes[1].containers[0].lines[0].get_xydata().tolist() == [[0.25, 0], [0.01, 1], [0.002, 2]]
    low, high = axes[0].get_ylim()
    assert low > high  # the first method is on top


def test_plot_methods__refuses_what_lacks_an_error() -> None:
    with pytest.raises(pt.InvalidTableError, match="gap_error"):
        plot_methods(SUMMARY.drop(columns="gap_error"), {"gap": "gap"})
    with pytest.raises(pt.InvalidTableError, match="at least one method"):
        plot_methods(SUMMARY.iloc[:0], {"gap": "gap"})
