"""Pictures of a survey and of simulated sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

import purtensor as pt
from purtensor.plots.save_figure import save_figure
from purtensor.plots.style import COLOURS
from purtensor.plots.survey import plot_boxes, plot_by_response, plot_prevalences

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


VALUES = pd.DataFrame({"model": ["f"] * 101 + ["PUR"] * 101, "value": [*range(101), *range(50, 151)]})


def test_plot_boxes__quartiles_and_whiskers() -> None:
    axes = plot_boxes(VALUES, names={"f": "data"}, title="Error", scale="KL (nats)")
    for patch, low in zip(axes.patches, (0, 50)):
        edges = np.unique(patch.get_path().vertices[:, 0])
        assert edges.tolist() == [low + 25, low + 75]
    reach = [line.get_xdata() for line in axes.lines]
    assert {5.0, 95.0, 55.0, 145.0} <= {float(value) for values in reach for value in np.ravel(values)}
    assert [label.get_text() for label in axes.get_yticklabels()] == ["data (n = 101)", "PUR (n = 101)"]
    assert axes.get_xlabel().startswith("KL (nats)")
    assert axes.get_title(loc="left") == "Error"
    bottom, top = axes.get_ylim()
    assert bottom > top


@pytest.mark.parametrize("wrong", [VALUES.iloc[:0], VALUES.assign(value=np.inf)])
def test_plot_boxes__refuses_what_has_no_box(wrong: pd.DataFrame) -> None:
    with pytest.raises(pt.InvalidTableError, match="finite"):
        plot_boxes(wrong)
