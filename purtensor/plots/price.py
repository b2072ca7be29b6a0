"""The price of parity: divergence from the data against the allowed violation, and what becomes of the ratios."""

from __future__ import annotations

import itertools
import math

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from purtensor._typing import FloatArray
from purtensor.errors import InvalidTableError
from purtensor.fairness.rates import FOUR_FIFTHS
from purtensor.plots.style import COLOURS, GREY, INK, finish, head_panel, looks_of, new_figure, remove_frame, verbatim

_PANELS_A_ROW = 3
_MOST_PANELS = 6
_SHADE = "#eeeeee"
_NUMBERS = ("kl", "reached", "multiplier", "bound", "disparity_ratio")
_MOST_MARKS = 40


def plot_parity_curve(curve: xr.Dataset, *, title: str = "The price of parity") -> Axes:
    """Return axes with the divergence over the slack, above panels with the disparity ratios of each response category.

    The groups' lines begin at the data, on the right, and reach parity on the left; the four-fifths line is drawn in.
    Violations that cannot be reached are shaded. Beyond six response categories the first six are drawn.

    Parameters
    ----------
    curve
        What `parity_curve` returned.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        Not such a dataset, or one without a slack that can be reached.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.problems.proxy(0.06).reference
    >>> curve = pt.parity_curve(f, response="y", protected="s", slacks=[0.3, 0.2, 0.1, 0])
    >>> plot_parity_curve(curve).get_ylabel()
    'divergence from the data (nats)'
    """
    missing = [name for name in _NUMBERS if name not in curve]
    if missing or not np.isfinite(curve["kl"].values).any():
        raise InvalidTableError("curve must be a result of parity_curve with at least one feasible slack")
    curve = curve.sortby("slack")
    response, *protected = (str(name) for name in curve["disparity_ratio"].dims[1:])
    categories = curve[response].values.tolist()[:_MOST_PANELS]
    lines = math.ceil(len(categories) / _PANELS_A_ROW)
    width = min(len(categories), _PANELS_A_ROW)
    figure = new_figure(max(7.2, 3.0 * width + 1.4), 3.2 + 2.7 * lines)
    grid = figure.add_gridspec(1 + lines, width, height_ratios=[1.1, *[1.0] * lines])
    top = figure.add_subplot(grid[0, :])
    _draw_price(top, curve)
    panels = [figure.add_subplot(grid[1 + k // width, k % width], sharex=top) for k in range(len(categories))]
    highest = _highest(curve)
    for k, (panel, category) in enumerate(zip(panels, categories, strict=True)):
        _draw_ratios(panel, curve.sel({response: category}), protected, _reference_group(curve, response))
        panel.set_ylim(0.0, highest)
        head_panel(panel, f"{response} = {category}")
        panel.tick_params(labelleft=k % width == 0)
    panels[0].set_ylabel("disparity ratio")
    compared = str(curve["disparity_ratio"].attrs.get("long_name", "disparity ratio"))
    unit = "allowed parity violation: half of it is the share of people whose response would have to change"
    note = f"{unit}\ndisparity ratio: {compared}\ndashed: four fifths"
    figure.supxlabel(verbatim(note), fontsize="medium", color=INK)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside right upper",
        frameon=False,
        fontsize="small",
        title=verbatim(", ".join(protected)),
        alignment="left",
    )
    top.set_title(verbatim(title), loc="left", fontsize="large", fontweight="bold")
    return top


def _draw_price(axes: Axes, curve: xr.Dataset) -> None:
    slacks, kl = curve["slack"].values, curve["kl"].values
    own, smallest = (float(curve.attrs.get(name, np.nan)) for name in ("violation", "smallest_violation"))
    marker = "o" if len(slacks) <= _MOST_MARKS else ""
    axes.plot(slacks, kl, color=COLOURS["PUR"], linewidth=1.8, marker=marker, markersize=4, zorder=3)
    axes.fill_between(slacks, 0.0, kl, color=COLOURS["PUR"], alpha=0.12, linewidth=0)
    axes.set_ylim(0.0, 1.12 * max(float(np.nanmax(kl)), 1e-12))
    axes.set_xlim(0.0, max(float(np.nanmax([own * 1.02, float(slacks[-1])])), 1e-12))  # not to 0, where parity holds
    if smallest > 1e-9:
        axes.axvspan(0.0, smallest, color=_SHADE, zorder=0, linewidth=0)
        _mark(axes, smallest, f"smallest violation there is: {smallest:.4g}", 1)
    if math.isfinite(own):
        _mark(axes, own, f"the data: {own:.4g}", 0)
    finish(axes, title="", x="", y="divergence from the data (nats)", grid="y")


def _mark(axes: Axes, position: float, text: str, line: int) -> None:
    """Draw a slack with its name beside it, on a line of its own: two of them may be near each other."""
    axes.axvline(position, color=GREY, linewidth=1.0, linestyle=":", zorder=1)
    is_left = position > 0.5 * axes.get_xlim()[1]
    axes.annotate(
        text,
        (position, 0.98 - 0.11 * line),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if is_left else 4, 0),
        textcoords="offset points",
        ha="right" if is_left else "left",
        va="top",
        fontsize="small",
        color=GREY,
    )


def _draw_ratios(panel: Axes, curve: xr.Dataset, protected: list[str], compared: str) -> None:
    panel.axhline(1.0, color=GREY, linewidth=1.1, zorder=1)
    panel.axhline(FOUR_FIFTHS, color=GREY, linewidth=1.1, linestyle=(0, (4, 3)), zorder=1)
    smallest = float(curve.attrs.get("smallest_violation", 0.0))
    if smallest > 1e-9:
        panel.axvspan(0.0, smallest, color=_SHADE, zorder=0, linewidth=0)
    groups = _groups(curve, protected, compared)
    for group, look in looks_of(groups).items():
        panel.plot(
            curve["slack"].values,
            groups[group],
            color=look.colour,
            linestyle=look.dashes,
            linewidth=1.6,
            label=verbatim(group),
            zorder=3,
        )
    remove_frame(panel)
    panel.locator_params(axis="x", nbins=5)


def _reference_group(curve: xr.Dataset, response: str) -> str:
    """Return the group that all are compared with, as the variable of the ratios names it: 'sex=male, race=white'."""
    label = str(curve["disparity_ratio"].attrs.get("long_name", ""))
    return label.removeprefix(f"p({response} | group) / p({response} | ").removesuffix(")")


def _groups(curve: xr.Dataset, protected: list[str], compared: str) -> dict[str, FloatArray]:
    """Return the ratios of each protected profile that exists, without the one that all are compared with."""
    found = {}
    for profile in itertools.product(*(curve.indexes[name] for name in protected)):
        ratios = curve["disparity_ratio"].sel(dict(zip(protected, profile, strict=True))).values
        named = ", ".join(f"{name}={label}" for name, label in zip(protected, profile, strict=True))
        if np.isfinite(ratios).any() and named != compared:
            found[", ".join(map(str, profile))] = ratios
    return found


def _highest(curve: xr.Dataset) -> float:
    ratios = curve["disparity_ratio"].values
    return max(1.15, 1.08 * float(ratios[np.isfinite(ratios)].max()))
