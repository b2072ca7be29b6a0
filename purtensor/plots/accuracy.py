"""How accurate solvers are after how many seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from purtensor.errors import InvalidTableError
from purtensor.plots.line_styles import looks_of
from purtensor.plots.style import GREY, finish, label_decades, legend_beside, new_figure, verbatim

_LEAST = 1e-17
"""Residuals below are drawn here: a logarithm has no place for 0."""


def plot_time_to_accuracy(
    trace: pd.DataFrame, *, tolerance: float | None = None, title: str = "", solvers: list[str] | None = None
) -> Axes:
    """Return axes with the smallest residual so far of each solver over the seconds, both as logarithms.

    The end of a run is marked where it is: filled where it met the tolerance, hollow where it did not. Solvers that
    cannot be looked into have their end only.

    Parameters
    ----------
    trace
        Columns solver, iteration, seconds, residual, of one problem: as in `Comparison.trace`; the start of a run is
        left out.
    tolerance
        Drawn as a line across.
    solvers
        All solvers of a comparison, so that each looks the same in every picture; those of the trace when None.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        No line of a trace with a time and a residual.

    Examples
    --------
    >>> import pandas as pd
    >>> lines = [("mine", 0, 0.0, 0.1), ("mine", 4, 0.1, 1e-4), ("mine", 8, 0.2, 1e-9)]
    >>> trace = pd.DataFrame(lines, columns=["solver", "iteration", "seconds", "residual"])
    >>> plot_time_to_accuracy(trace, tolerance=1e-8).get_xscale()
    'log'
    """
    drawable = trace[trace["residual"].notna() & (trace["seconds"] > 0) & (trace["iteration"] > 0)]
    if not len(drawable):
        raise InvalidTableError("the trace must have at least one record with a time and a residual, got none")
    looks = looks_of(solvers or trace["solver"])
    axes = new_figure(8.6, 4.6).add_subplot()
    for solver, lines in drawable.groupby("solver", sort=False):
        look = looks[str(solver)]
        seconds, residual = lines["seconds"].to_numpy(), lines["residual"].clip(lower=_LEAST).to_numpy()
        best = np.minimum.accumulate(residual)
        axes.plot(seconds, best, color=look.colour, linestyle=look.dashes, linewidth=1.6)
        met = tolerance is None or residual[-1] <= tolerance
        axes.plot(
            seconds[-1:],
            residual[-1:],
            linestyle=look.dashes,
            marker=look.marker,
            markersize=7,
            color=look.colour,
            markerfacecolor=look.colour if met else "white",
            markeredgewidth=1.5,
            label=verbatim(solver),
            zorder=3,
        )
    axes.set(xscale="log", yscale="log")
    label_decades(axes)
    if tolerance is not None:
        axes.axhline(tolerance, color=GREY, linewidth=1, linestyle=(0, (1, 2)), zorder=0)
        axes.annotate(
            "tolerance",
            (0, tolerance),
            xycoords=("axes fraction", "data"),
            xytext=(3, 3),
            textcoords="offset points",
            ha="left",
            fontsize="small",
            color=GREY,
        )
    finish(
        axes,
        title=title,
        x="seconds (filled: met the tolerance; hollow: did not)",
        y="largest miss of a target so far, total mass 1",
    )
    legend_beside(axes)
    return axes
