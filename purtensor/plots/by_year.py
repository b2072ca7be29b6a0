"""A picture of numbers over the years, each with its error."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from purtensor.errors import InvalidTableError
from purtensor.plots.style import COLOURS, finish


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
        axes[at].set_ylim(0, 1.12 * float((frame[name] + frame[f"{name} error"]).max()))
        finish(axes[at], title=title if at == 0 else "", x=f"year; bars: {error}", y=label)
    return axes[0]  # type: ignore[no-any-return]
