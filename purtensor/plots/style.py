"""What all pictures share: colours, inks, how their axes look, and the looks of many lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

# Okabe and Ito's palette, which keeps its contrasts under colour blindness
COLOURS: Mapping[str, str] = MappingProxyType(
    {"train": "#7f7f7f", "f": "#000000", "P": "#E69F00", "PU": "#56B4E9", "PUR": "#0072B2", "MaxEnt": "#009E73"}
)
# shapes distinguish the distributions where colours do not, as in a grey print
MARKERS: Mapping[str, str] = MappingProxyType({"train": "x", "f": "o", "P": "^", "PU": "s", "PUR": "D", "MaxEnt": "v"})

OTHER_COLOURS = ("#D55E00", "#CC79A7", "#F0E442")
INK = "#222222"
GREY = "#5f5f5f"
FAINT = "#dddddd"


_FEW_DECADES = 100.0

# Okabe and Ito's palette without its yellow, which is too faint for a line on white
_LINE_COLOURS = (
    COLOURS["PUR"],
    OTHER_COLOURS[0],
    COLOURS["MaxEnt"],
    OTHER_COLOURS[1],
    COLOURS["P"],
    COLOURS["PU"],
    "#000000",
)
_DASHES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p", "h", "d")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches: one of pyplot in a notebook, which shows those.

    Pyplot keeps every figure until it is closed: outside of notebooks nobody would.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return Figure(figsize=(width, height), layout="constrained")
    import matplotlib.pyplot as plt  # it takes hold of the notebook when it is imported

    return plt.figure(figsize=(width, height), layout="constrained")


def colours_of(names: Iterable[str]) -> list[str]:
    """Return a colour for each name: its own, or the next of the others.

    Examples
    --------
    >>> colours_of(["PUR", "mine"])
    ['#0072B2', '#D55E00']
    """
    others: Iterator[str] = iter(OTHER_COLOURS * 100)
    return [COLOURS[name] if name in COLOURS else next(others) for name in names]


def verbatim(text: object) -> str:
    r"""Return text for a figure that shows it as it is.

    Matplotlib reads what stands between two dollar signs as a formula, and leaves labels that begin with an underscore
    out of legends: those get a blank before them.

    Examples
    --------
    >>> print(verbatim("$10-20$"), verbatim("$/h"), verbatim("_other"))
    \$10-20\$ $/h  _other
    """
    shown = str(text)
    if shown.count("$") > 1:
        shown = shown.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def finish(axes: Axes, *, title: str, x: str, y: str, grid: Literal["both", "x", "y"] = "both") -> None:
    """Give axes their faint grid, their labels and their title, as all pictures have them."""
    axes.grid(axis=grid, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    remove_frame(axes)
    axes.set_xlabel(verbatim(x))
    axes.set_ylabel(verbatim(y))
    axes.set_title(verbatim(title), loc="left", fontsize="large", fontweight="bold")


def label_decades(axes: Axes) -> None:
    """Label powers of ten on the axis below, and 2 and 5 times them where these are few: more would overlap."""
    left, right = axes.get_xlim()
    few = right < _FEW_DECADES * left
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axes.xaxis.set_major_formatter(LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(np.inf, np.inf)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def legend_beside(axes: Axes) -> None:
    """Write the legend right of the axes, where it hides nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize="small")


def remove_frame(axes: Axes, *sides: str) -> None:
    """Take away the frame's sides that carry no scale."""
    axes.spines[list(sides or ("top", "right"))].set_visible(False)
    axes.tick_params(labelsize="small")


def list_names_on_the_left(axes: Axes) -> None:
    """Take away all sides of the frame but the lower one: on the left there are names, and no scale."""
    remove_frame(axes, "top", "right", "left")
    axes.tick_params(axis="y", length=0)


def head_panel(axes: Axes, text: str) -> None:
    """Write the heading of one of several panels."""
    axes.set_title(verbatim(text), loc="left", fontsize="medium", fontweight="bold")


@dataclass(frozen=True, slots=True)
class Look:
    """How the line of one name is drawn everywhere."""

    colour: str
    dashes: str
    marker: str


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """Return a look for each name; the first seven differ in colour, the next ones in dashes, all in markers.

    Examples
    --------
    >>> looks_of(["ipf", "newton"])["newton"].colour
    '#D55E00'
    """
    return {
        name: Look(
            _LINE_COLOURS[i % len(_LINE_COLOURS)],
            _DASHES[i // len(_LINE_COLOURS) % len(_DASHES)],
            _MARKERS[i % len(_MARKERS)],
        )
        for i, name in enumerate(dict.fromkeys(names))
    }
