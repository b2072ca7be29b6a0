"""Prevalences: a bar a category, as long as its share."""

from __future__ import annotations

import pandas as pd
import pytest

import purtensor as pt
from purtensor.plots.prevalence import plot_prevalences

SHARES = pd.DataFrame(
    {
        "attribute": ["sex", "sex", "age", "age", "age", "race", "job"],
        "category": ["f", "m", "young", "middle", "senior", "white", "any"],
        "share": [0.25, 0.75, 0.2, 0.5, 0.3, 1.0, 1.0],
    }
)


def test_plot_prevalences__bars_are_the_shares_in_per_cent() -> None:
    figure = plot_prevalences(SHARES, names={"sex": "gender"}, title="Who?").figure
    panels = [panel for panel in figure.axes if panel.get_visible()]
    assert [panel.get_title(loc="left") for panel in panels] == ["gender", "age", "race", "job"]
    for panel, (_, here) in zip(panels, SHARES.groupby("attribute", sort=False)):
        assert [bar.get_width() for bar in panel.patches] == pytest.approx(100 * here["share"].to_numpy())
        assert [label.get_text() for label in panel.get_yticklabels()] == here["category"].tolist()
    assert figure.get_suptitle() == "Who?"
    assert "%" in figure.get_supxlabel()


@pytest.mark.parametrize("wrong", [SHARES.iloc[:0], SHARES.assign(share=1.5), SHARES.assign(share=float("nan"))])
def test_plot_prevalences__refuses_what_is_no_share(wrong: pd.DataFrame) -> None:
    with pytest.raises(pt.InvalidTableError, match="between 0 and 1"):
        plot_prevalences(wrong)
