"""The predicted rate of iterative proportional fitting: what sets it, between its bounds."""

from __future__ import annotations

import math
import textwrap

from matplotlib.axes import Axes

from purtensor.convergence.prediction import Prediction
from purtensor.errors import InvalidTableError
from purtensor.plots.style import FAINT, GREY, INK, finish, new_figure, verbatim

_LEAST = 0.1
"""Where a few sweeps leave nothing, a point stands at the left end of the axis."""


def plot_prediction(found: Prediction, *, title: str = "") -> Axes:
    """Return axes with the sweeps per decade of plain sweeps between their bounds, and of what they are explained by.

    Parameters
    ----------
    found
        As `purtensor.convergence.predict` returns it.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        A rate that is not finite: there is nothing to draw.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("b")
    >>> axes = plot_prediction(pt.convergence.predict(problem.reference, problem.constraints))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['plain sweeps', 'the closest two alone', 'the weak link alone', 'the two as one block']
    """
    if not math.isfinite(found.sweeps_per_decade):
        raise InvalidTableError(f"the rate must be finite to be drawn, got {found.sweeps_per_decade} sweeps per decade")
    link = math.nan if found.weakest is None else found.weakest.sweeps_per_decade
    values = {
        "plain sweeps": found.sweeps_per_decade,
        "the closest two alone": found.slab,
        "the weak link alone": link,
        "the two as one block": found.merged,
    }
    shown = {name: max(value, _LEAST) for name, value in values.items() if math.isfinite(value)}
    figure = new_figure(7.6, 2.3 + 0.42 * len(shown))
    axes = figure.add_subplot()
    ends = [end for end in (found.lower, found.upper) if 0.0 < end < math.inf]
    left, right = 0.6 * min([*shown.values(), *ends]), 1.7 * max([*shown.values(), *ends])
    low, high = max(found.lower, left), min(found.upper, right)
    axes.plot([low, high], [0, 0], color=FAINT, linewidth=9, solid_capstyle="butt", zorder=1, label="bounds")
    for place, value in enumerate(shown.values()):
        axes.plot(value, place, marker="o" if place == 0 else "D", color=INK if place == 0 else GREY, zorder=2)
        axes.annotate(
            _number(value), (value, place), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8
        )
    axes.set(xscale="log", xlim=(left, right), ylim=(len(shown) - 0.5, -0.7))
    finish(axes, title=title, x="sweeps for a factor of ten", y="", grid="x")
    axes.set_yticks(range(len(shown)), list(shown))
    figure.supxlabel(verbatim(textwrap.fill(found.explanation, 115)), x=0.01, ha="left", fontsize="x-small", color=GREY)
    return axes


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
