"""Panels a response: every mark is where its number is, and every label says what it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

import purtensor as pt
from purtensor.plots.by_response import plot_by_response
from purtensor.plots.save_figure import save_figure
from purtensor.plots.style import COLOURS

MARKS = pd.DataFrame(
    [
        (model, response, group, 0.1 * m + 0.2 * r - 0.05 * g, 0.01 * (1 + m))
        for m, model in enumerate(("f", "PUR"))
        for r, response in enumerate(("<5", "5-7.5", ">=7.5"))
        for g, group in enumerate(("women", "others"))
    ],
    columns=["model", "response", "group", "value", "deviation"],
)
LINES = {"<5": 0.0, "5-7.5": 0.2, ">=7.5": 0.4}


def drawn(**options: object):
    return plot_by_response(
        MARKS,
        lines=LINES,
        line_label="parity",
        names={"f": "data"},
        title="Who?",
        unit="$/h",
        scale="p(y | s)",
        deviation_label="one deviation",
        **options,
    )


def test_plot_by_response__marks_stand_at_their_values() -> None:
    panels = drawn().figure.axes
    assert len(panels) == 3
    for panel, response in zip(panels, LINES):
        for container, (model, here) in zip(
            panel.containers, MARKS[MARKS.response == response].groupby("model", sort=False)
        ):
            line, _, (bars,) = container
            assert line.get_xdata() == pytest.approx(here["value"].to_numpy())
            assert to_hex(line.get_color()).upper() == COLOURS[model].upper()
            widths = [segment[1][0] - segment[0][0] for segment in bars.get_segments()]
            assert widths == pytest.approx(2 * here["deviation"].to_numpy())
        assert LINES[response] in [line.get_xdata()[0] for line in panel.lines]


def test_plot_by_response__says_what_is_what() -> None:
    axes = drawn()
    figure = axes.figure
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["<5 $/h", "5–7.5 $/h", "≥ 7.5 $/h"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["women", "others"]
    assert figure.get_supxlabel() == "p(y | s); line: parity; bars: one deviation"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["data", "PUR"]
    assert legend.get_title().get_text() == "Who?"


def test_plot_by_response__the_first_group_is_on_top_and_models_are_apart() -> None:
    axes = drawn()
    bottom, top = axes.get_ylim()
    assert bottom > top
    heights = np.array([container[0].get_ydata() for container in axes.containers])
    assert (np.diff(heights, axis=0) > 0.1).all()
    assert (heights[:, 0] < 0.5).all()
    assert (heights[:, 1] > 0.5).all()


@pytest.mark.parametrize("wrong", [MARKS.drop(columns="value"), MARKS.iloc[:0], MARKS.assign(value=np.nan)])
def test_plot_by_response__refuses_what_has_no_mark(wrong: pd.DataFrame) -> None:
    with pytest.raises(pt.InvalidTableError, match="model, response, group, value"):
        plot_by_response(wrong, lines=LINES, line_label="parity")


def test_plot_by_response__is_written_with_or_without_a_title(tmp_path: Path) -> None:
    for number, axes in enumerate((drawn(), plot_by_response(MARKS, lines=LINES, line_label="parity"))):
        vector, pixels = save_figure(axes, tmp_path / f"figure{number}")
        assert pixels.read_bytes().startswith(b"\x89PNG")
        assert "<svg" in vector.read_text()
