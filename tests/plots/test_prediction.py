from __future__ import annotations

from dataclasses import replace

import pytest

import purtensor as pt
from purtensor.plots.prediction import plot_prediction


def prediction():
    problem = pt.problems.load("b")
    return pt.convergence.predict(problem.reference, problem.constraints)


def test_plot_prediction__draws_what_is_known():
    found = prediction()
    axes = plot_prediction(found, title="b")
    places = {line.get_xdata()[0] for line in axes.lines[1:]}
    assert places == {found.sweeps_per_decade, found.slab, found.weakest.sweeps_per_decade, found.merged}
    assert found.lower == 0.0
    assert tuple(axes.lines[0].get_xdata()) == (axes.get_xlim()[0], found.upper)
    assert "are joined by" in axes.figure.get_supxlabel().replace("\n", " ")


def test_plot_prediction__leaves_out_what_is_not():
    alone = replace(prediction(), slab=float("nan"), merged=float("nan"), weakest=None, upper=float("inf"))
    axes = plot_prediction(alone)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["plain sweeps"]
    assert axes.lines[0].get_xdata()[1] == axes.get_xlim()[1]


def test_plot_prediction__refuses_what_never_ends():
    with pytest.raises(pt.InvalidTableError, match="must be finite"):
        plot_prediction(replace(prediction(), sweeps_per_decade=float("inf")))
