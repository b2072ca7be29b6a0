"""The atlas of rates: how they grow as pseudo-counts vanish, and where grouping pays."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from purtensor.errors import InvalidTableError
from purtensor.plots.style import COLOURS, FAINT, GREY, OTHER_COLOURS, finish, new_figure
from purtensor.studies.atlas import GRID

_KINDS = (
    ("stays", FAINT, -1.0),
    ("like a root", COLOURS["P"], 0.25),
    ("like 1 / lambda or more", COLOURS["PUR"], 0.75),
)
"""Of rates, by the power of 1 / lambda from which on they belong to it."""


def plot_atlas(told: pd.DataFrame, powers: pd.DataFrame, *, title: str = "") -> Axes:
    """Return axes with the rate of every problem against lambda, beside the share in which grouping pays.

    Parameters
    ----------
    told
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
    >>> told = atlas()
    >>> plot_atlas(told, powers(told)).get_xscale()
    'log'
    """
    if not told["rate"].notna().any():
        raise InvalidTableError("there is no rate to draw: no problem has a projection inside")
    figure = new_figure(9.4, 3.8)
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    made_of = [name for name in powers.columns if name != "power"]
    joined = told.merge(powers, on=made_of)
    for place, (label, colour, begin) in enumerate(_KINDS):
        end = _KINDS[place + 1][2] if place + 1 < len(_KINDS) else float("inf")
        own = joined[(joined["power"] >= begin) & (joined["power"] < end) & (joined["rate"] > 0)]
        wide = own.pivot_table(index="strength", columns=made_of, values="rate")
        shown = wide.iloc[:, :: max(1, wide.shape[1] // 150)]
        for column in shown:
            left.plot(shown.index, shown[column], color=colour, linewidth=0.6, alpha=0.7)
        left.plot([], [], color=colour, label=f"{label} ({wide.shape[1]:,} problems)")
    left.set(xscale="log", yscale="log")
    finish(left, title=title, x="lambda", y="sweeps for a factor of ten")
    left.legend(frameon=False, fontsize="small")
    known = told[told["rate"].notna()]
    pays = (known["rate"] > 2.0 * known["merged"]).groupby([known["records"], known["strength"]]).mean().unstack(0)
    for records, colour in zip(GRID["records"], (COLOURS["PUR"], COLOURS["P"], OTHER_COLOURS[0], GREY), strict=True):
        right.plot(pays.index, pays[records], color=colour, marker="o", markersize=3, label=f"{records:,.0f} records")
    right.set(xscale="log")
    right.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    finish(right, title="", x="lambda", y="grouping halves the sweeps or better")
    right.legend(frameon=False, fontsize="small")
    return left
