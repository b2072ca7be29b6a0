"""Pictures of a comparison of solvers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.comparison.statistics import growth
from purtensor.plots import plot_growth, plot_time_ratios
from purtensor.plots.comparison import plot_performance_profile, plot_time_to_accuracy
from purtensor.plots.style import looks_of

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
