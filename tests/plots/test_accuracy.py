"""Curves of accuracy over time: what is drawn is what was measured."""

from __future__ import annotations

import pandas as pd
import pytest

import purtensor as pt
from purtensor.plots.accuracy import plot_time_to_accuracy
from purtensor.plots.line_styles import looks_of

TRACE = pd.DataFrame(
    {
        "solver": ["ipf", "ipf", "ipf", "ipf", "clarabel"],
        "iteration": [0, 1, 2, 3, 7],
        "seconds": [1e-6, 0.1, 0.2, 0.3, 2.0],
        "residual": [0.5, 1e-3, 1e-2, 1e-5, 0.0],
    }
)


def test_plot_time_to_accuracy__lines_and_ends() -> None:
    axes = plot_time_to_accuracy(TRACE, tolerance=1e-4, title="b", solvers=["newton", "ipf", "clarabel"])
    curve, end, point, *_ = axes.lines
    assert curve.get_xdata().tolist() == [0.1, 0.2, 0.3]
    assert curve.get_ydata().tolist() == [1e-3, 1e-3, 1e-5]
    assert (end.get_xdata().tolist(), end.get_ydata().tolist()) == ([0.3], [1e-5])
    assert end.get_markerfacecolor() == looks_of(["newton", "ipf"])["ipf"].colour
    assert point.get_ydata().tolist() == [1e-17]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ipf", "clarabel"]
    assert axes.get_title(loc="left") == "b"
    hollow = plot_time_to_accuracy(TRACE, tolerance=1e-6).lines[1]
    assert hollow.get_markerfacecolor() == "white"


def test_plot_time_to_accuracy__refuses_an_empty_trace() -> None:
    with pytest.raises(pt.InvalidTableError, match="the trace must have"):
        plot_time_to_accuracy(TRACE.iloc[:1])


def test_looks_of__no_two_are_the_same() -> None:
    names = [f"solver {i}" for i in range(26)]
    looks = looks_of(names)
    assert len(set(looks.values())) == 26
    assert len({look.colour for look in list(looks.values())[:7]}) == 7
