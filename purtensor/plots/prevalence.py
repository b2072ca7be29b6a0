"""A picture of who the people of a survey are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from purtensor.errors import InvalidTableError
from purtensor.plots.style import COLOURS, INK, bare, new_figure, verbatim

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
        panel.set_title(verbatim(names.get(attribute, attribute)), loc="left", fontsize="medium", fontweight="bold")
        bare(panel, "top", "right", "left")
        panel.tick_params(axis="y", length=0)
    for panel in panels[len(attributes) :]:
        panel.set_visible(False)
    panels[0].set_xlim(0, 112 * float(values.max()))
    figure.supxlabel("share of people (%)", fontsize="medium", color=INK)
    figure.suptitle(verbatim(title), x=0.01, ha="left", fontsize="large", fontweight="bold")
    return panels[0]  # type: ignore[no-any-return]
