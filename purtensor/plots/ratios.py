"""How many times as long as one solver others took, with what the rounds leave unsure."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from purtensor.errors import InvalidTableError
from purtensor.plots.line_styles import looks_of
from purtensor.plots.style import GREY, finish, label_decades, legend_beside, new_figure, verbatim


def plot_time_ratios(ratios: pd.DataFrame, *, to: str = "the first", title: str = "") -> Axes:
    """Return axes with a dot for each problem and solver, its interval over the rounds as a bar; ties are hollow.

    Parameters
    ----------
    ratios
        Columns problem, solver, ratio, low, high: as `Comparison.ratios` returns them.
    to
        The solver that they are ratios to.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        No ratio at all: at most one solver converged on each problem.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = ["problem", "solver", "ratio", "low", "high"]
    >>> rows = [("a", "mine", 1.0, 1.0, 1.0), ("a", "yours", 1.1, 0.9, 1.3)]
    >>> plot_time_ratios(pd.DataFrame(rows, columns=columns), to="mine").get_xlabel()
    'times the seconds of mine (bars: all rounds; hollow: a tie)'
    """
    if not len(ratios):
        raise InvalidTableError("there is no ratio to draw: no problem was solved by two solvers")
    looks = looks_of(ratios["solver"])
    problems = list(dict.fromkeys(ratios["problem"]))
    height = 1.3 + 0.26 * len(ratios)
    axes = new_figure(8.6, height).add_subplot()
    place = 0.0
    middles = []
    for problem in problems:
        lines = ratios[ratios["problem"] == problem]
        places = place + np.arange(len(lines))
        middles.append(float(places.mean()))
        for at, line in zip(places, lines.itertuples(), strict=True):
            look = looks[str(line.solver)]
            tied = line.low <= 1.0 <= line.high
            axes.plot([line.low, line.high], [at, at], color=look.colour, linewidth=1.6)
            axes.plot(
                line.ratio,
                at,
                marker=look.marker,
                color=look.colour,
                markerfacecolor="white" if tied else look.colour,
                label=verbatim(line.solver),
            )
        place = float(places[-1]) + 1.8
    axes.axvline(1.0, color=GREY, linewidth=1)
    axes.set(xscale="log", ylim=(place - 0.9, -0.9))
    label_decades(axes)
    axes.xaxis.set_major_formatter(FuncFormatter(_factor))
    x = f"times the seconds of {to} (bars: all rounds; hollow: a tie)"
    finish(axes, title=title, x=x, y="", grid="x")
    axes.set_yticks(middles, [verbatim(problem) for problem in problems])
    _label_once(axes)
    return axes


def _factor(value: float, _: float) -> str:
    return f"{value:.3g}"


def _label_once(axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    first = dict(zip(reversed(labels), reversed(handles), strict=True))
    for handle, label in zip(handles, labels, strict=True):
        if first[label] is not handle:
            handle.set_label("_nolegend_")
    legend_beside(axes)
