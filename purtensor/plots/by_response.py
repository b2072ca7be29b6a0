"""Pictures with a panel per response, a line per protected group, and a mark a distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from purtensor.errors import InvalidTableError
from purtensor.plots.style import FAINT, GREY, INK, MARKERS, bare, colours_of, new_figure, verbatim

COLUMNS = ("model", "response", "group", "value")
"""What a frame of marks holds, one per row; `deviation` may come with it."""


def plot_by_response(
    marks: pd.DataFrame,
    *,
    lines: Mapping[str, float],
    line_label: str,
    names: Mapping[str, str] = MappingProxyType({}),
    title: str = "",
    unit: str = "",
    scale: str = "probability",
    deviation_label: str = "",
    shared_scale: bool = True,
) -> Axes:
    """Return axes of a figure with the marks of each response side by side; the first panel's.

    Parameters
    ----------
    marks
        Columns `model`, `response`, `group` and `value`; with a column `deviation` the marks have bars.
    lines
        For each response where its vertical line stands, such as parity.
    line_label
        What the line is.
    names
        What a model is called, where that is not its name.
    title, scale, unit
        The heading, what the value is, and the unit behind each response, such as "$/h".
    deviation_label
        What the bars are.
    shared_scale
        Whether all panels have the same horizontal scale.

    Raises
    ------
    InvalidTableError
        A column is missing, or there is no mark, or none that is finite.

    Examples
    --------
    >>> import pandas as pd
    >>> marks = pd.DataFrame({"model": ["f"], "response": ["high"], "group": ["women"], "value": [0.3]})
    >>> plot_by_response(marks, lines={"high": 0.4}, line_label="f(y)").get_title(loc="left")
    'high'
    """
    missing = [name for name in COLUMNS if name not in marks.columns]
    if missing or not len(marks) or not np.isfinite(marks["value"]).any():
        raise InvalidTableError(f"marks must have columns {', '.join(COLUMNS)} and at least one finite value")
    responses, groups, models = (list(dict.fromkeys(marks[name])) for name in ("response", "group", "model"))
    spacing = min(0.19, 0.8 / len(models))
    height = 1.9 + len(groups) * (0.16 + 0.115 * len(models))
    figure = new_figure(2.3 + 1.75 * len(responses), height)
    panels = figure.subplots(1, len(responses), sharey=True, sharex=shared_scale, squeeze=False)[0]
    for panel, response in zip(panels, responses, strict=True):
        _draw_lines(panel, lines[response], len(groups))
        here = marks[marks["response"] == response]
        for m, (model, colour) in enumerate(zip(models, colours_of(models), strict=True)):
            shift = spacing * (m - (len(models) - 1) / 2)
            _draw_model(panel, here[here["model"] == model], groups, shift, model, colour, names.get(model, model))
        panel.set_title(verbatim(_as_printed(response, unit)), loc="left", fontsize="medium", fontweight="bold")
    panels[0].set_yticks(range(len(groups)), [verbatim(group) for group in groups])
    panels[0].set_ylim(len(groups) - 0.45, -0.55)
    own = "" if shared_scale or len(panels) == 1 else "; each panel has a scale of its own"
    _describe(figure, panels, title, scale, line_label + own, deviation_label)
    return panels[0]  # type: ignore[no-any-return]


def _draw_lines(panel: Axes, position: float, groups: int) -> None:
    panel.axvline(position, color=GREY, linewidth=1.1, zorder=1)
    for border in np.arange(groups - 1) + 0.5:
        panel.axhline(border, color=FAINT, linewidth=0.7, zorder=0)
    bare(panel, "top", "right", "left")
    panel.tick_params(axis="y", length=0)
    panel.locator_params(axis="x", nbins=4)


def _draw_model(
    panel: Axes, marks: pd.DataFrame, groups: Sequence[str], shift: float, model: str, colour: str, label: str
) -> None:
    heights = marks["group"].map({group: at for at, group in enumerate(groups)}).to_numpy() + shift
    bars = marks["deviation"].to_numpy() if "deviation" in marks else None
    panel.errorbar(
        marks["value"].to_numpy(),
        heights,
        xerr=bars,
        fmt=MARKERS.get(model, "o"),
        color=colour,
        markersize=4,
        elinewidth=1.1,
        capsize=0,
        linestyle="none",
        label=verbatim(label),
        zorder=3,
    )


def _describe(
    figure: Figure, panels: Sequence[Axes], title: str, scale: str, line_label: str, deviation_label: str
) -> None:
    note = f"{scale}; line: {line_label}" + (f"; bars: {deviation_label}" if deviation_label else "")
    figure.supxlabel(verbatim(note), fontsize="medium", color=INK)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper left",
        ncols=len(labels),
        frameon=False,
        fontsize="medium",
        title=verbatim(title),
        alignment="left",
        title_fontproperties={"weight": "bold", "size": "large"},
    )


def _as_printed(response: str, unit: str) -> str:
    shown = response.replace(">=", "\u2265 ").replace("<=", "\u2264 ").replace("-", "\u2013")
    return f"{shown} {unit}".rstrip()
