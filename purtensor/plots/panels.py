"""Pictures with a panel per number, each value with its error: over the years, and by method."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from purtensor.errors import InvalidTableError
from purtensor.plots.style import COLOURS, FAINT, finish, head_panel, list_names_on_the_left, verbatim


def plot_by_year(frame: pd.DataFrame, panels: Mapping[str, str], *, title: str = "", error: str = "error") -> Axes:
    """Return axes of a figure with a panel a number, over the years; the first panel's.

    Parameters
    ----------
    frame
        Columns `year`, and for each number NAME also `NAME error`.
    panels
        What each number is called on its panel, by the names of the columns.
    title
        The heading.
    error
        What the bars are.

    Raises
    ------
    InvalidTableError
        A column is missing, or there is no year.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"year": [1994, 1995], "gap": [0.2, 0.1], "gap error": [0.01, 0.01]})
    >>> plot_by_year(frame, {"gap": "mean gap"}).get_ylabel()
    'mean gap'
    """
    missing = {"year", *panels, *(f"{name} error" for name in panels)} - set(frame.columns)
    if missing or not len(frame):
        raise InvalidTableError(f"at least one year is needed, and the columns {', '.join(sorted(missing))}")
    figure = Figure(figsize=(4.9 * len(panels), 3.8), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    years = frame["year"].to_numpy()
    for at, (name, label) in enumerate(panels.items()):
        axes[at].errorbar(years, frame[name], yerr=frame[f"{name} error"], fmt="o-", color=COLOURS["PUR"], capsize=3)
        axes[at].set_xticks(np.unique(years))
        # from 0, so that a fall looks as large as it is
        axes[at].set_ylim(0, 1.12 * float((frame[name] + frame[f"{name} error"]).max()))
        finish(axes[at], title=title if at == 0 else "", x=f"year; bars: {error}", y=label)
    return axes[0]  # type: ignore[no-any-return]


def plot_methods(summary: pd.DataFrame, measures: Mapping[str, str], *, title: str = "", error: str = "") -> Axes:
    """Return axes of a figure with a line per method and a panel a measure; the first panel's.

    Parameters
    ----------
    summary
        A row per method: `method`, and for each measure NAME also `NAME_error`; NaN where a method has none.
    measures
        What each measure is called on its panel, by the names of the columns.
    title, error
        The heading, and what the bars are.

    Raises
    ------
    InvalidTableError
        A column is missing, or there is no method.

    Examples
    --------
    >>> import pandas as pd
    >>> summary = pd.DataFrame({"method": ["f", "PUR"], "gap": [0.25, 0.01], "gap_error": [0.01, 0.01]})
    >>> plot_methods(summary, {"gap": "gap of probabilities"}).get_title(loc="left")
    'gap of probabilities'
    """
    missing = {"method", *measures, *(f"{name}_error" for name in measures)} - set(summary.columns)
    if missing or not len(summary):
        raise InvalidTableError(f"at least one method is needed, and the columns {', '.join(sorted(missing))}")
    lines = np.arange(len(summary))
    figure = Figure(figsize=(3.2 + 2.1 * len(measures), 1.2 + 0.24 * len(lines)), layout="constrained")
    panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
    for panel, (name, label) in zip(panels, measures.items(), strict=True):
        for line in lines:
            panel.axhline(line, color=FAINT, linewidth=0.6, zorder=0)
        panel.errorbar(
            summary[name], lines, xerr=summary[f"{name}_error"], fmt="o", color=COLOURS["PUR"], markersize=4, capsize=2
        )
        head_panel(panel, label)
        panel.locator_params(axis="x", nbins=4)
        list_names_on_the_left(panel)
    panels[0].set_yticks(lines, [verbatim(method) for method in summary["method"]])
    panels[0].set_ylim(len(lines) - 0.5, -0.5)
    figure.suptitle(verbatim(title), x=0.01, ha="left", fontsize="large", fontweight="bold")
    if error:
        figure.supxlabel(verbatim(f"bars: {error}"), fontsize="medium")
    return panels[0]  # type: ignore[no-any-return]
