"""The figure of the atlas: every kind of problem, and every number of records."""

from __future__ import annotations

import pytest

import purtensor as pt
from purtensor.plots.atlas import plot_atlas
from purtensor.studies.atlas import GRID, atlas, powers


def test_plot_atlas__counts_every_problem_and_shows_the_shares():
    told = atlas()
    power = powers(told)
    left = plot_atlas(told, power)
    names = [text.get_text() for text in left.get_legend().get_texts()]
    assert sum(int(name.split("(")[1].split()[0].replace(",", "")) for name in names) == len(power)
    right = left.figure.axes[1]
    assert len(right.lines) == len(GRID["records"])
    known = told[told["rate"].notna() & (told["records"] == 100) & (told["strength"] == 1e-6)]
    assert right.lines[0].get_ydata()[0] == (known["rate"] > 2 * known["merged"]).mean()


def test_plot_atlas__refuses_a_table_without_rates() -> None:
    told = atlas().assign(rate=float("nan"))
    with pytest.raises(pt.InvalidTableError, match="no rate to draw"):
        plot_atlas(told, powers(atlas()))
