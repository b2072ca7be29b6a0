"""How solvers grow with the size of problems."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from purtensor.errors import InvalidTableError
from purtensor.plots.line_styles import looks_of
from purtensor.plots.style import finish, legend_beside, new_figure, verbatim


def plot_growth(
    runs: pd.DataFrame, growth: pd.DataFrame, *, measure: str = "seconds", label: str = "", title: str = ""
) -> Axes:
    """Return axes with a measure of every run that converged against the number of profiles, both as logarithms.

    The legend has the power of the number of profiles by which each solver grows.

    Parameters
    ----------
    runs
        As in `Comparison.runs`: columns solver, profiles, converged, and the measure.
    growth
        What `Comparison.growth(measure)` returned.
    measure
        A column of `runs`.
    label
        What it is, on the axis; its name when empty.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        No run that converged with a measure above 0.

    Examples
    --------
    >>> import purtensor as pt
    >>> compared = pt.compare([f"trips(zones={zones})" for zones in (10, 20, 40)], "ipf", repetitions=0)
    >>> axes = plot_growth(compared.runs, compared.growth("cell_touches"), measure="cell_touches")
    >>> axes.get_xlabel(), axes.get_xscale()
    ('profiles', 'log')
    """
    shown = runs[runs["converged"] & (runs[measure] > 0)]
    if not len(shown):
        raise InvalidTableError(f"there is no run to draw that converged and has {measure}")
    powers = dict(zip(growth["solver"], growth["power"], strict=True))
    looks = looks_of(runs["solver"])
    axes = new_figure(8.2, 4.2).add_subplot()
    for solver, own in shown.groupby("solver", sort=False):
        look, power = looks[str(solver)], powers.get(solver, math.nan)
        told = "" if math.isnan(power) else f" (power {power:.2f})"
        axes.plot(
            own["profiles"],
            own[measure],
            linestyle="none",
            marker=look.marker,
            color=look.colour,
            label=verbatim(f"{solver}{told}"),
        )
        if not math.isnan(power):
            ends = np.array([own["profiles"].min(), own["profiles"].max()], dtype=np.float64)
            middle = np.log(own[measure]).mean() - power * np.log(own["profiles"]).mean()
            axes.plot(
                ends, np.exp(middle + power * np.log(ends)), color=look.colour, linestyle=look.dashes, linewidth=1
            )
    axes.set(xscale="log", yscale="log")
    finish(axes, title=title, x="profiles", y=label or measure.replace("_", " "))
    legend_beside(axes)
    return axes
