"""What a projection changed, and how its solver got there."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from purtensor._typing import FloatArray
from purtensor.convergence.forecasting import Forecast
from purtensor.convergence.prediction import number_text
from purtensor.errors import InvalidTableError
from purtensor.plots.style import COLOURS, GREY, finish, new_figure
from purtensor.projection.log_reference import require_masses
from purtensor.projection.result import Projection

# factors beyond it, and vanished masses, are drawn at the ends
_LARGEST_FACTOR = 16.0

_BINS = 33
_LEAST = 1e-17


def plot_projection(result: Projection, *, title: str = "", forecast: Forecast | None = None) -> Axes:
    """Return axes with the factors by which masses were changed, beside the largest miss of a target by iteration.

    Parameters
    ----------
    result
        What `project` returned.
    forecast
        Of `purtensor.convergence.forecast(result)`: the way that is left is drawn, and where it ends.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        A reference with negative entries has no factors.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("a")
    >>> axes = plot_projection(pt.project(problem.reference, problem.constraints, solver=pt.IPF()))
    >>> axes.get_xlabel()
    'mass after / mass before'
    """
    before, after = _masses(result)
    is_traced = result.trace.sizes["record"] > 0  # runs with rows of other kinds leave no lines
    figure = new_figure(9.2 if is_traced else 5.2, 3.4)
    left: Axes = figure.add_subplot(1, 1 + is_traced, 1)
    _draw_factors(left, before, after)
    if is_traced:
        _draw_misses(figure.add_subplot(1, 2, 2), result, forecast)
    if title:
        figure.suptitle(title.replace("$", r"\$"), x=0.01, ha="left", fontweight="bold")
    return left


def _masses(result: Projection) -> tuple[FloatArray, FloatArray]:
    """Return the reference's and the projection's shares of their totals, profile by profile of the reference."""
    require_masses(result, "plot")
    before, after = (
        np.asarray(table.values, dtype=np.float64).reshape(-1) for table in (result.reference, result.table)
    )
    if before.min() < 0:
        raise InvalidTableError("factors of change can only be drawn for a reference without negative entries")
    return before / before.sum(), after / after.sum()


def _draw_factors(axes: Axes, before: FloatArray, after: FloatArray) -> None:
    """Draw how much of the mass was multiplied by what, in steps that are equal factors."""
    held = before > 0
    with np.errstate(divide="ignore"):
        factors = np.log2(after[held] / before[held])
    end = np.log2(_LARGEST_FACTOR)
    shown = np.clip(factors, -end, end)
    reach = max(0.25, min(end, float(np.abs(shown).max()) * 1.05))
    axes.hist(
        shown,
        bins=np.linspace(-reach, reach, _BINS).tolist(),
        weights=before[held],
        color=COLOURS["PU"],
        edgecolor="white",
    )
    axes.axvline(0.0, color=GREY, linewidth=1)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda power, _: f"{2.0**power:.3g}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    finish(axes, title="", x="mass after / mass before", y="share of the mass", grid="y")


def _draw_misses(axes: Axes, result: Projection, forecast: Forecast | None) -> None:
    trace = result.trace
    residual = np.maximum(np.asarray(trace["residual"].values, dtype=np.float64), _LEAST)
    axes.plot(trace["iteration"].values, residual, color=COLOURS["PUR"], marker="o", markersize=3, linewidth=1.4)
    if forecast is not None:
        _draw_forecast(axes, result.iterations, float(residual[-1]), forecast)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    finish(axes, title="", x="iteration", y="largest miss of a target, total mass 1")


def _draw_forecast(axes: Axes, made: int, residual: float, forecast: Forecast) -> None:
    """Draw the way from the last miss to the tolerance, and between which sweeps it is expected to end."""
    if not math.isfinite(forecast.sweeps):
        return
    tolerance = forecast.tolerance
    axes.plot([made, made + forecast.sweeps], [residual, tolerance], color=GREY, linewidth=1, linestyle=(0, (2, 2)))
    most = forecast.upper if math.isfinite(forecast.upper) else forecast.sweeps
    axes.plot([made + forecast.lower, made + most], [tolerance] * 2, color=GREY, linewidth=4, solid_capstyle="butt")
    axes.annotate(
        f"{number_text(forecast.sweeps)} more",
        (made + forecast.sweeps, tolerance),
        xytext=(0, 14),
        textcoords="offset points",
        ha="right",
        fontsize="small",
        color=GREY,
    )
