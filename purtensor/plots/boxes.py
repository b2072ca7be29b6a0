"""Box plots of one number over many simulated sets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from purtensor.errors import InvalidTableError
from purtensor.plots.style import INK, bare, colours_of, finish, new_figure, verbatim


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
    bare(axes, "left")
    axes.tick_params(axis="y", length=0)
    return axes
