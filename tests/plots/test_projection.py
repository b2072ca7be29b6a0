"""What a projection changed, as a picture."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

import purtensor as pt
from purtensor.plots.style import new_figure


def test_plot_projection__bars_hold_all_mass_and_the_line_all_misses() -> None:
    problem = pt.problems.load("a")
    result = pt.project(problem.reference, problem.constraints, solver=pt.IPF())
    axes = result.plot(title="what changed")
    assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(1.0)
    (line,) = axes.get_figure().axes[1].lines
    assert np.allclose(line.get_ydata(), result.trace["residual"].values)


def test_plot_projection__what_vanished_is_drawn_at_the_end() -> None:
    reference = pt.tabulate({"a": ["x", "y", "z"]}, weights=[1, 1, 2])
    result = pt.project(reference, pt.Marginal(reference.copy(data=[1.0, 1.0, 0.0])))
    axes = result.plot()
    assert axes.patches[0].get_height() == pytest.approx(0.5)
    assert axes.get_xlim()[0] < np.log2(1 / 16)


def test_plot_projection__without_a_trace_is_one_panel() -> None:
    reference = pt.tabulate({"a": ["x", "y"], "b": ["u", "v"]})
    result = pt.project(reference, pt.Marginal(pt.tabulate({"a": ["x", "y"]})), ratio_bounds=(0.5, 2))
    assert len(result.plot().get_figure().axes) == 1


def test_plot_projection__refuses_negative_entries() -> None:
    reference = pt.tabulate({"a": ["x", "y", "z"]}).copy(data=[1.0, -0.5, 2.0])
    result = pt.project(reference, pt.Marginal(reference * 1.1), signed=True)
    with pytest.raises(pt.InvalidTableError, match="without negative entries"):
        result.plot()


def test_new_figure__a_notebook_gets_one_of_pyplot(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    assert type(new_figure(2, 1)) is Figure
    assert plt.get_fignums() == before
    events = SimpleNamespace(register=lambda event, called: None)
    shell = SimpleNamespace(kernel=object(), events=events, enable_gui=lambda gui: None)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, version_info=(8, 24)))
    figure = new_figure(2, 1)
    assert [number for number in plt.get_fignums() if number not in before] == [figure.number]
    plt.close(figure)


def test_plot_projection__draws_the_way_that_is_left() -> None:
    problem = pt.problems.load("b")
    run = pt.project(problem.reference, problem.constraints, solver=pt.IPF(), max_iterations=50, on_failure="return")
    told = pt.convergence.forecast(run)
    figure = run.plot(forecast=told).figure
    misses, way, ends = figure.axes[1].lines
    assert np.asarray(way.get_xdata())[0] == np.asarray(misses.get_xdata())[-1] == 50
    assert np.asarray(way.get_xdata())[1] == 50 + told.sweeps
    assert np.asarray(way.get_ydata()).tolist() == [run.trace.residual.values[-1], told.tolerance]
    assert np.asarray(ends.get_xdata()).tolist() == [50 + told.lower, 50 + told.upper]
