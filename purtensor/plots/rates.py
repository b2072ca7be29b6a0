"""Pictures of the rate of sweeps: of a study, of the atlas, and as predicted for one problem."""

from __future__ import annotations

import math
import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from purtensor._typing import FloatArray
from purtensor.convergence.prediction import Prediction
from purtensor.errors import InvalidTableError
from purtensor.plots.style import COLOURS, FAINT, GREY, INK, OTHER_COLOURS, finish, new_figure, verbatim
from purtensor.studies.atlas import GRID

_LINE_COLOURS = ("#0072B2", "#E69F00", "#009E73", *OTHER_COLOURS)
_LINE_MARKERS = ("o", "s", "D", "^", "v", "x")

# of rates, by the power of 1 / lambda from which on they belong to it
_KINDS = (
    ("stays", FAINT, -1.0),
    ("like a root", COLOURS["P"], 0.25),
    ("like 1 / lambda or more", COLOURS["PUR"], 0.75),
)

# where a few sweeps leave nothing, a point stands at the left end of the axis
_LEAST = 0.1


def plot_rates(study: pd.DataFrame, *, axis: str = "", title: str = "", most: float | None = None) -> Axes:
    """Return axes with a line of sweeps for each tolerance over the values, both logarithmic, and the predicted rate.

    Parameters
    ----------
    study
        Columns `value`, `tolerance`, `sweeps` (missing where they were too many) and `sweeps_per_decade`. A value of 0
        stands left of the others, behind a gap.
    axis, title
        What the value is, and the heading.
    most
        Of how many sweeps a missing number is known to be more: it is then marked there by a hollow arrow up.

    Raises
    ------
    InvalidTableError
        No line, or a value below 0.

    Examples
    --------
    >>> import pandas as pd
    >>> found = pd.DataFrame({"value": [0.0, 1.0], "tolerance": 1e-6, "sweeps": [9, 8], "sweeps_per_decade": [2, 1]})
    >>> plot_rates(found).get_ylabel()
    'sweeps'
    """
    if not len(study) or study["value"].min() < 0:
        raise InvalidTableError("a study must have at least one row, and no negative value")
    places = _places(study["value"])
    axes = new_figure(7.2, 4.4).add_subplot()
    rates = study.drop_duplicates("value")
    axes.plot(
        *_line(rates, "sweeps_per_decade", places),
        color=INK,
        linestyle=":",
        marker=".",
        linewidth=1.2,
        label="predicted sweeps per decade",
    )
    for n, (tolerance, lines) in enumerate(study.groupby("tolerance", sort=True)):
        axes.plot(
            *_line(lines, "sweeps", places),
            color=_LINE_COLOURS[n % len(_LINE_COLOURS)],
            marker=_LINE_MARKERS[n % len(_LINE_MARKERS)],
            markersize=4,
            linewidth=1.4,
            label=f"to a residual of {tolerance:g}",
        )
    beyond = study[study["sweeps"].isna()]
    if most is not None and len(beyond):
        axes.plot(
            beyond["value"].map(places).to_numpy(dtype=np.float64),
            np.full(len(beyond), float(most)),
            linestyle="none",
            marker="^",
            markersize=7,
            color=INK,
            markerfacecolor="white",
            label=f"more than {most:,.0f} sweeps",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    if places[study["value"].min()] != study["value"].min():
        axes.set_xticks([places[0.0], *_decades(study["value"])], ["0", *(f"{x:g}" for x in _decades(study["value"]))])
        axes.minorticks_off()
    finish(axes, title=title, x=axis, y="sweeps")
    axes.legend(frameon=False, fontsize="small")
    return axes


def _line(lines: pd.DataFrame, column: str, places: dict[float, float]) -> tuple[FloatArray, FloatArray]:
    """Return the points of one line in ascending order, with a gap between 0 and the others."""
    ordered = lines.sort_values("value")
    x: FloatArray = np.asarray(ordered["value"].map(places), dtype=np.float64)
    y: FloatArray = np.asarray(ordered[column].astype("Float64").to_numpy(na_value=np.nan), dtype=np.float64)
    if len(x) and ordered["value"].iloc[0] == 0.0:
        return np.insert(x, 1, np.nan), np.insert(y, 1, np.nan)
    return x, y


def _places(values: pd.Series) -> dict[float, float]:
    """Return where each value stands on a logarithmic axis: 0 a decade and a half left of the smallest other."""
    positive = values[values > 0]
    left = float(positive.min()) / 10**1.5 if len(positive) else 1.0
    return {float(value): float(value) if value > 0 else left for value in values}


def _decades(values: pd.Series) -> list[float]:
    """Return the powers of ten that the positive values span."""
    exponents = np.log10(values[values > 0].to_numpy(dtype=float))
    if not len(exponents):
        return []
    return [10.0**e for e in range(int(np.floor(exponents.min())), int(np.ceil(exponents.max())) + 1)]


def plot_atlas(problems: pd.DataFrame, powers: pd.DataFrame, *, title: str = "") -> Axes:
    """Return axes with the rate of every problem against lambda, beside the share in which grouping pays.

    Parameters
    ----------
    problems
        As `purtensor.studies.atlas.atlas` returns it.
    powers
        As `purtensor.studies.atlas.powers` does: lines are coloured by it.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        No problem with a rate.

    Examples
    --------
    >>> from purtensor.studies.atlas import atlas, powers
    >>> problems = atlas()
    >>> plot_atlas(problems, powers(problems)).get_xscale()
    'log'
    """
    if not problems["rate"].notna().any():
        raise InvalidTableError("there is no rate to draw: no problem has a projection inside")
    figure = new_figure(9.4, 3.8)
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    made_of = [name for name in powers.columns if name != "power"]
    joined = problems.merge(powers, on=made_of)
    for place, (label, colour, begin) in enumerate(_KINDS):
        end = _KINDS[place + 1][2] if place + 1 < len(_KINDS) else float("inf")
        own = joined[(joined["power"] >= begin) & (joined["power"] < end) & (joined["rate"] > 0)]
        wide = own.pivot_table(index="strength", columns=made_of, values="rate")
        # thousands of lines would be one patch of ink
        shown = wide.iloc[:, :: max(1, wide.shape[1] // 150)]
        for column in shown:
            left.plot(shown.index, shown[column], color=colour, linewidth=0.6, alpha=0.7)
        left.plot([], [], color=colour, label=f"{label} ({wide.shape[1]:,} problems)")
    left.set(xscale="log", yscale="log")
    finish(left, title=title, x="lambda", y="sweeps for a factor of ten")
    left.legend(frameon=False, fontsize="small")
    known = problems[problems["rate"].notna()]
    pays = (known["rate"] > 2.0 * known["merged"]).groupby([known["records"], known["strength"]]).mean().unstack(0)
    for records, colour in zip(GRID["records"], (COLOURS["PUR"], COLOURS["P"], OTHER_COLOURS[0], GREY), strict=True):
        right.plot(pays.index, pays[records], color=colour, marker="o", markersize=3, label=f"{records:,.0f} records")
    right.set(xscale="log")
    right.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    finish(right, title="", x="lambda", y="grouping halves the sweeps or better")
    right.legend(frameon=False, fontsize="small")
    return left


def plot_prediction(found: Prediction, *, title: str = "") -> Axes:
    """Return axes with the sweeps per decade of plain sweeps between their bounds, and of what they are explained by.

    Parameters
    ----------
    found
        As `purtensor.convergence.predict` returns it.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        A rate that is not finite: there is nothing to draw.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("b")
    >>> axes = plot_prediction(pt.convergence.predict(problem.reference, problem.constraints))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['plain sweeps', 'the closest two alone', 'the weak link alone', 'the two as one block']
    """
    if not math.isfinite(found.sweeps_per_decade):
        raise InvalidTableError(f"the rate must be finite to be drawn, got {found.sweeps_per_decade} sweeps per decade")
    link = math.nan if found.weakest is None else found.weakest.sweeps_per_decade
    values = {
        "plain sweeps": found.sweeps_per_decade,
        "the closest two alone": found.slab,
        "the weak link alone": link,
        "the two as one block": found.merged,
    }
    shown = {name: max(value, _LEAST) for name, value in values.items() if math.isfinite(value)}
    figure = new_figure(7.6, 2.3 + 0.42 * len(shown))
    axes = figure.add_subplot()
    ends = [end for end in (found.lower, found.upper) if 0.0 < end < math.inf]
    left, right = 0.6 * min([*shown.values(), *ends]), 1.7 * max([*shown.values(), *ends])
    low, high = max(found.lower, left), min(found.upper, right)
    axes.plot([low, high], [0, 0], color=FAINT, linewidth=9, solid_capstyle="butt", zorder=1, label="bounds")
    for place, value in enumerate(shown.values()):
        axes.plot(value, place, marker="o" if place == 0 else "D", color=INK if place == 0 else GREY, zorder=2)
        axes.annotate(
            _number(value), (value, place), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8
        )
    axes.set(xscale="log", xlim=(left, right), ylim=(len(shown) - 0.5, -0.7))
    finish(axes, title=title, x="sweeps for a factor of ten", y="", grid="x")
    axes.set_yticks(range(len(shown)), list(shown))
    figure.supxlabel(verbatim(textwrap.fill(found.explanation, 115)), x=0.01, ha="left", fontsize="x-small", color=GREY)
    return axes


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
