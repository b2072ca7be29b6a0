"""The picture of methods by several measures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.plots.methods import plot_methods

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
