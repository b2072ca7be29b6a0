"""Pictures of disparities."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from purtensor._typing import FloatArray
from purtensor.errors import InvalidTableError
from purtensor.fairness.rates import FOUR_FIFTHS
from purtensor.plots.style import GREY, INK, colours_of, list_names_on_the_left, new_figure, verbatim

_FAINT = "#c9c9c9"
_SHADE = "#f6e9e4"
_HALO = withStroke(linewidth=3.0, foreground="white")


def plot_disparity_ratios(
    ratios: pd.DataFrame,
    *,
    ax: Axes | None = None,
    deviations: pd.DataFrame | None = None,
    names: Mapping[str, str] = MappingProxyType({}),
    title: str = "",
    compared: str = "disparity ratio",
) -> Axes:
    """Return axes with the disparity ratios as distances from parity, one block of lines per protected group.

    Parameters
    ----------
    ratios
        Index: protected groups; columns: distributions, from the data to the last projection; values: ratios.
    ax
        Where to draw; axes of a new figure when None.
    deviations
        Standard deviations of the ratios, of the same shape, drawn as bars; NaN where there is none.
    names
        What a distribution is called in the picture, where that is not its column.
    title, compared
        The heading, and what the ratio is.

    Raises
    ------
    InvalidTableError
        No ratio, or one that is not finite or negative.

    Examples
    --------
    >>> import pandas as pd
    >>> ratios = pd.DataFrame({"f": [0.38], "PUR": [0.998]}, index=["female, white"])
    >>> float(plot_disparity_ratios(ratios).get_xlim()[0])
    0.0
    """
    values = ratios.to_numpy(dtype=np.float64)
    if values.size == 0 or not (np.isfinite(values).all() and values.min() >= 0):
        raise InvalidTableError("disparity ratios must be finite and not negative, at least one")
    axes = ax if ax is not None else _new_axes(*values.shape)
    lines = _line_positions(*values.shape)
    _draw_scale(axes, values, lines)
    colours = colours_of(str(column) for column in ratios.columns)
    spread = None if deviations is None else deviations.to_numpy(dtype=np.float64)
    for column, colour in enumerate(colours):
        _draw_distribution(
            axes, values[:, column], lines[:, column], colour, None if spread is None else spread[:, column]
        )
    _draw_groups(axes, [str(group) for group in ratios.index], lines)
    axes.set_yticks(lines.ravel(), [verbatim(names.get(str(name), name)) for name in ratios.columns] * len(ratios))
    axes.set_xlabel(verbatim(compared))
    axes.set_title(verbatim(title), loc="left", pad=26, fontsize="large", fontweight="bold")
    return axes


# the width of a label with its distance from the dot, as a share of the axis
_LABEL = 0.075


def _new_axes(groups: int, distributions: int) -> Axes:
    height = 1.4 + 0.25 * groups * (distributions + 1.4)
    return new_figure(8.4, height).add_subplot()


def _line_positions(groups: int, distributions: int) -> FloatArray:
    """Return the height of each line, shape (groups, distributions), with a gap above each block for its heading."""
    block = distributions + 1.4
    lines: FloatArray = np.add.outer(np.arange(groups) * block, np.arange(float(distributions)))
    return lines


def _draw_scale(axes: Axes, values: FloatArray, lines: FloatArray) -> None:
    """Draw parity and the four-fifths line, which the eye measures from."""
    # parity is always in the picture
    axes.set_xlim(0.0, max(1.12, 1.08 * float(values.max())))
    axes.set_ylim(float(lines.max()) + 0.9, -1.6)
    axes.axvspan(0.0, FOUR_FIFTHS, color=_SHADE, zorder=0, linewidth=0)
    for position, style, text, side in (
        (FOUR_FIFTHS, (0, (4, 3)), "four-fifths rule: 0.8", "right"),
        (1.0, "solid", "parity: 1", "left"),
    ):
        axes.axvline(position, color=GREY, linewidth=1.1, linestyle=style, zorder=1)
        shift = -0.008 if side == "right" else 0.008
        axes.annotate(
            text,
            (position + shift, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 5),
            textcoords="offset points",
            ha=side,
            va="bottom",
            fontsize="small",
            color=GREY,
        )
    list_names_on_the_left(axes)


def _draw_distribution(
    axes: Axes, values: FloatArray, heights: FloatArray, colour: str, deviations: FloatArray | None
) -> None:
    axes.hlines(heights, np.minimum(values, 1.0), np.maximum(values, 1.0), color=colour, linewidth=2.2, zorder=2)
    if deviations is not None:
        axes.errorbar(values, heights, xerr=deviations, fmt="none", ecolor=colour, elinewidth=1, capsize=3, zorder=2)
    axes.scatter(values, heights, s=46, color=colour, zorder=3, linewidth=0)
    reach = np.zeros_like(values) if deviations is None else np.nan_to_num(deviations)
    for value, height, bar in zip(values, heights, reach, strict=True):
        # beside the dot and its bar, on the side away from parity
        shift, side = (-8, "right") if value <= 1 else (8, "left")
        end = value - bar if value <= 1 else value + bar
        if FOUR_FIFTHS <= end < FOUR_FIFTHS + _LABEL * axes.get_xlim()[1]:  # it would lie on that line
            end, shift, side = max(1.0, value + bar), 8, "left"
        axes.annotate(
            f"{value:.3f}",
            (end, height),
            xytext=(shift, 0),
            textcoords="offset points",
            ha=side,
            va="center_baseline",
            fontsize="small",
            color=INK,
            path_effects=[_HALO],
            zorder=4,
        )


def _draw_groups(axes: Axes, groups: list[str], lines: FloatArray) -> None:
    for group, heights in zip(groups, lines, strict=True):
        top = float(heights.min()) - 0.85
        axes.text(0.005, top, verbatim(group), ha="left", va="center", fontweight="bold", color=INK)
        if top > 0:
            axes.axhline(top - 0.55, color=_FAINT, linewidth=0.8, zorder=1)
