"""Boxes: their edges are the quantiles of the values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.plots.boxes import plot_boxes

VALUES = pd.DataFrame({"model": ["f"] * 101 + ["PUR"] * 101, "value": [*range(101), *range(50, 151)]})


def test_plot_boxes__quartiles_and_whiskers() -> None:
    axes = plot_boxes(VALUES, names={"f": "data"}, title="Error", scale="KL (nats)")
    for patch, low in zip(axes.patches, (0, 50)):
        edges = np.unique(patch.get_path().vertices[:, 0])
        assert edges.tolist() == [low + 25, low + 75]
    reach = [line.get_xdata() for line in axes.lines]
    assert {5.0, 95.0, 55.0, 145.0} <= {float(value) for values in reach for value in np.ravel(values)}
    assert [label.get_text() for label in axes.get_yticklabels()] == ["data (n = 101)", "PUR (n = 101)"]
    assert axes.get_xlabel().startswith("KL (nats)")
    assert axes.get_title(loc="left") == "Error"
    bottom, top = axes.get_ylim()
    assert bottom > top


@pytest.mark.parametrize("wrong", [VALUES.iloc[:0], VALUES.assign(value=np.inf)])
def test_plot_boxes__refuses_what_has_no_box(wrong: pd.DataFrame) -> None:
    with pytest.raises(pt.InvalidTableError, match="finite"):
        plot_boxes(wrong)
