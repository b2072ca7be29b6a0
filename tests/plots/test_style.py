"""What all pictures share."""

from __future__ import annotations

from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from purtensor.plots.style import FAINT, finish, legend_beside


def test_finish__labels_title_and_a_faint_grid_behind_the_lines() -> None:
    axes = Figure().add_subplot()
    axes.plot([1, 2], [3, 4], label="line")
    finish(axes, title="Title", x="seconds", y="nats", grid="y")
    legend_beside(axes)
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="left")) == ("seconds", "nats", "Title")
    assert [side for side, spine in axes.spines.items() if spine.get_visible()] == ["left", "bottom"]
    (across, *_), along = axes.get_ygridlines(), axes.get_xgridlines()
    assert across.get_visible()
    assert to_hex(across.get_color()) == FAINT
    assert not any(line.get_visible() for line in along)
    assert axes.get_axisbelow() is True
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["line"]
