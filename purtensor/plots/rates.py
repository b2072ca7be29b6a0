"""Sweeps to a tolerance, and the predicted sweeps per decade, against what a study varies."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from purtensor._typing import FloatArray
from purtensor.errors import InvalidTableError
from purtensor.plots.style import INK, OTHER_COLOURS, finish, new_figure

_LINE_COLOURS = ("#0072B2", "#E69F00", "#009E73", *OTHER_COLOURS)
_LINE_MARKERS = ("o", "s", "D", "^", "v", "x")


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
