"""Performance profiles as staircases."""

from __future__ import annotations

import pandas as pd
import pytest

import purtensor as pt
from purtensor.plots.performance import plot_performance_profile

PROFILE = pd.DataFrame({"solver": ["ipf", "ipf", "newton"], "factor": [1.0, 8.0, 1.0], "share": [0.25, 0.75, 1.0]})


def test_plot_performance_profile__steps_go_on_to_the_edge() -> None:
    axes = plot_performance_profile(PROFILE, title="solved")
    ipf, newton = axes.lines
    last = axes.get_xlim()[1]
    assert last > 8.0
    assert ipf.get_drawstyle() == "steps-post"
    assert list(zip(ipf.get_xdata(), ipf.get_ydata())) == [(1.0, 0.25), (8.0, 0.75), (last, 0.75)]
    assert list(newton.get_ydata()) == [1.0, 1.0]
    assert ipf.get_linewidth() > newton.get_linewidth()


def test_plot_performance_profile__refuses_nothing() -> None:
    with pytest.raises(pt.InvalidTableError, match="at least one solver"):
        plot_performance_profile(PROFILE.iloc[:0])
