"""Pictures of a comparison of solvers: accuracy over time, performance profiles, time ratios, and growth."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, PercentFormatter

from purtensor.errors import InvalidTableError
from purtensor.plots.style import GREY, finish, label_decades, legend_beside, looks_of, new_figure, verbatim

# residuals below are drawn here: a logarithm has no place for 0
_LEAST = 1e-17


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
        # sweeps and steps may raise the residual for a while: the curve is of the best so far
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


def plot_performance_profile(profile: pd.DataFrame, *, title: str = "") -> Axes:
    """Return axes with a staircase for each solver: the share of problems solved within a factor of the fastest.

    Parameters
    ----------
    profile
        Columns solver, factor, share: as `Comparison.performance_profile` returns them.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        No solver at all.

    Examples
    --------
    >>> import pandas as pd
    >>> profile = pd.DataFrame({"solver": "mine", "factor": [1.0, 4.0], "share": [0.5, 1.0]})
    >>> plot_performance_profile(profile).get_ylabel()
    'share of problems solved'
    """
    if not len(profile):
        raise InvalidTableError("a performance profile needs at least one solver")
    looks = looks_of(profile["solver"])
    # room behind the last step, at which all curves end
    last = max(2.0, 1.15 * float(profile["factor"].max()))
    axes = new_figure(8.6, 4.2).add_subplot()
    for number, (solver, steps) in enumerate(profile.groupby("solver", sort=False)):
        look = looks[str(solver)]
        width = max(1.4, 3.4 - 0.3 * number)  # where staircases coincide, the earlier one shows on both sides
        factors, shares = [*steps["factor"], last], [*steps["share"], steps["share"].iloc[-1]]
        axes.step(
            factors,
            shares,
            where="post",
            color=look.colour,
            linestyle=look.dashes,
            linewidth=width,
            marker=look.marker,
            markersize=5,
            markevery=[len(factors) - 1],
            clip_on=False,
            label=verbatim(solver),
        )
    axes.set(xscale="log", xlim=(1.0, last), ylim=(-0.02, 1.02))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    finish(axes, title=title, x="within this factor of the fastest time", y="share of problems solved")
    legend_beside(axes)
    return axes


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
        suffix = "" if math.isnan(power) else f" (power {power:.2f})"
        axes.plot(
            own["profiles"],
            own[measure],
            linestyle="none",
            marker=look.marker,
            color=look.colour,
            label=verbatim(f"{solver}{suffix}"),
        )
        if not math.isnan(power):
            ends = np.array([own["profiles"].min(), own["profiles"].max()], dtype=np.float64)
            # the fitted line goes through the mean of the logarithms
            middle = np.log(own[measure]).mean() - power * np.log(own["profiles"]).mean()
            axes.plot(
                ends, np.exp(middle + power * np.log(ends)), color=look.colour, linestyle=look.dashes, linewidth=1
            )
    axes.set(xscale="log", yscale="log")
    finish(axes, title=title, x="profiles", y=label or measure.replace("_", " "))
    legend_beside(axes)
    return axes
