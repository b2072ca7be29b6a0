"""Performance profiles of solvers over a set of problems."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from purtensor.errors import InvalidTableError
from purtensor.plots.line_styles import looks_of
from purtensor.plots.style import finish, legend_beside, new_figure, verbatim


def plot_performance_profile(profile: pd.DataFrame, *, title: str = "") -> Axes:
    """Return axes with a staircase for each solver: the share of problems solved within a factor of the fastest.

    Parameters
    ----------
    profile
        Columns solver, factor, share: as `Comparison.performance_profile` returns them.
    title
        The heading.

    Raises
    ------
    InvalidTableError
        No solver at all.

    Examples
    --------
    >>> import pandas as pd
    >>> profile = pd.DataFrame({"solver": "mine", "factor": [1.0, 4.0], "share": [0.5, 1.0]})
    >>> plot_performance_profile(profile).get_ylabel()
    'share of problems solved'
    """
    if not len(profile):
        raise InvalidTableError("a performance profile needs at least one solver")
    looks = looks_of(profile["solver"])
    last = max(2.0, 1.15 * float(profile["factor"].max()))
    axes = new_figure(8.6, 4.2).add_subplot()
    for number, (solver, steps) in enumerate(profile.groupby("solver", sort=False)):
        look = looks[str(solver)]
        width = max(1.4, 3.4 - 0.3 * number)  # where staircases coincide, the earlier one shows on both sides
        factors, shares = [*steps["factor"], last], [*steps["share"], steps["share"].iloc[-1]]
        axes.step(
            factors,
            shares,
            where="post",
            color=look.colour,
            linestyle=look.dashes,
            linewidth=width,
            marker=look.marker,
            markersize=5,
            markevery=[len(factors) - 1],
            clip_on=False,
            label=verbatim(solver),
        )
    axes.set(xscale="log", xlim=(1.0, last), ylim=(-0.02, 1.02))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    finish(axes, title=title, x="within this factor of the fastest time", y="share of problems solved")
    legend_beside(axes)
    return axes
