"""Pictures of a survey and of simulated sets: prevalences, marks by response and group, box plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from purtensor.errors import InvalidTableError
from purtensor.plots.style import (
    COLOURS,
    FAINT,
    GREY,
    INK,
    MARKERS,
    colours_of,
    finish,
    head_panel,
    list_names_on_the_left,
    new_figure,
    verbatim,
)

_COLUMNS = 3


def plot_prevalences(shares: pd.DataFrame, *, names: Mapping[str, str] = MappingProxyType({}), title: str = "") -> Axes:
    """Return axes of a figure with the share of each category in per cent, a panel per attribute; the first panel's.

    Parameters
    ----------
    shares
        Columns `attribute`, `category`, `share`.
    names
        What an attribute is called, where that is not its name.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        No share, or one outside of [0, 1].

    Examples
    --------
    >>> import pandas as pd
    >>> shares = pd.DataFrame({"attribute": ["sex", "sex"], "category": ["f", "m"], "share": [0.25, 0.75]})
    >>> plot_prevalences(shares).get_title(loc="left")
    'sex'
    """
    values = shares["share"].to_numpy()
    if not len(values) or not ((values >= 0) & (values <= 1)).all():
        raise InvalidTableError("shares must be between 0 and 1, at least one")
    attributes = list(dict.fromkeys(shares["attribute"]))
    rows = -(-len(attributes) // _COLUMNS)
    sizes = [int((shares["attribute"] == attribute).sum()) for attribute in attributes]
    most = [max(sizes[row * _COLUMNS : (row + 1) * _COLUMNS]) for row in range(rows)]
    figure = new_figure(10.5, 0.7 + sum(0.6 + 0.23 * count for count in most))
    panels = figure.subplots(
        rows, min(_COLUMNS, len(attributes)), sharex=True, squeeze=False, height_ratios=[1.5 + count for count in most]
    ).ravel()
    for at, (panel, attribute) in enumerate(zip(panels, attributes, strict=False)):
        here = shares[shares["attribute"] == attribute]
        bars = panel.barh(np.arange(len(here)), 100 * here["share"], height=0.72, color=COLOURS["PUR"])
        panel.bar_label(bars, fmt="%.1f", padding=3, fontsize="small", color=INK)
        panel.set_yticks(np.arange(len(here)), [verbatim(category) for category in here["category"]])
        panel.set_ylim(most[at // _COLUMNS] - 0.4, -0.6)
        head_panel(panel, names.get(attribute, attribute))
        list_names_on_the_left(panel)
    for panel in panels[len(attributes) :]:
        panel.set_visible(False)
    panels[0].set_xlim(0, 112 * float(values.max()))
    figure.supxlabel("share of people (%)", fontsize="medium", color=INK)
    figure.suptitle(verbatim(title), x=0.01, ha="left", fontsize="large", fontweight="bold")
    return panels[0]  # type: ignore[no-any-return]


# what a frame of marks holds, one per row; `deviation` may come with it
COLUMNS = ("model", "response", "group", "value")


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
    # marks of one group stay nearer to each other than to the next group
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
        head_panel(panel, _as_printed(response, unit))
    panels[0].set_yticks(range(len(groups)), [verbatim(group) for group in groups])
    panels[0].set_ylim(len(groups) - 0.45, -0.55)
    own = "" if shared_scale or len(panels) == 1 else "; each panel has a scale of its own"
    _describe(figure, panels, title, scale, line_label + own, deviation_label)
    return panels[0]  # type: ignore[no-any-return]


def _draw_lines(panel: Axes, position: float, groups: int) -> None:
    panel.axvline(position, color=GREY, linewidth=1.1, zorder=1)
    for border in np.arange(groups - 1) + 0.5:
        panel.axhline(border, color=FAINT, linewidth=0.7, zorder=0)
    list_names_on_the_left(panel)
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


def plot_boxes(
    values: pd.DataFrame,
    *,
    names: Mapping[str, str] = MappingProxyType({}),
    title: str = "",
    scale: str = "",
) -> Axes:
    """Return axes with a horizontal box for each model: quartiles, whiskers to 5 and 95 %, and the mean as a dot.

    Parameters
    ----------
    values
        Columns `model` and `value`, one observation a row.
    names
        What a model is called, where that is not its name.
    title, scale
        The heading, and what the value is, with its unit.

    Raises
    ------
    InvalidTableError
        No value, or one that is not finite.

    Examples
    --------
    >>> import pandas as pd
    >>> plot_boxes(pd.DataFrame({"model": ["f", "f"], "value": [1.0, 2.0]})).get_yticklabels()[0].get_text()
    'f (n = 2)'
    """
    if not len(values) or not np.isfinite(values["value"]).all():
        raise InvalidTableError("boxes need at least one value, all finite")
    models = list(dict.fromkeys(values["model"]))
    samples = [values.loc[values["model"] == model, "value"].to_numpy() for model in models]
    axes = new_figure(7.6, 1.5 + 0.5 * len(models)).add_subplot()
    drawn = axes.boxplot(
        samples,
        orientation="horizontal",
        whis=(5, 95),
        widths=0.55,
        patch_artist=True,
        showfliers=False,
        showmeans=True,
        medianprops={"color": INK, "linewidth": 1.4},
        meanprops={"marker": "o", "markerfacecolor": "white", "markeredgecolor": INK, "markersize": 5},
    )
    for box, colour in zip(drawn["boxes"], colours_of(models), strict=True):
        box.set(facecolor=colour, alpha=0.45, edgecolor=INK)
    labels = [
        verbatim(f"{names.get(model, model)} (n = {len(sample):,})")
        for model, sample in zip(models, samples, strict=True)
    ]
    axes.set_yticks(range(1, len(models) + 1), labels)
    axes.invert_yaxis()
    finish(axes, title=title, x=f"{scale}\nbox: quartiles, whiskers: 5 to 95 %, dot: mean", y="", grid="x")
    list_names_on_the_left(axes)
    return axes
