"""Pictures of disparities: what is drawn is what was given, and the same figure gives the same bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import purtensor as pt
from purtensor.plots.disparity import plot_disparity_ratios
from purtensor.plots.save_figure import save_figure
from purtensor.plots.style import COLOURS

RATIOS = pd.DataFrame(
    {"f": [0.693, 0.377], "PUR": [0.987, 1.3], "other": [0.5, 0.9]}, index=["male, non-white", "female, white"]
)


def test_plot_disparity_ratios__draws_every_ratio_in_the_colour_of_its_distribution() -> None:
    axes = plot_disparity_ratios(RATIOS)
    assert len(axes.collections) == 2 * RATIOS.shape[1]  # stems and dots
    for dots, name in zip(axes.collections[1::2], RATIOS.columns, strict=True):
        assert np.asarray(dots.get_offsets())[:, 0] == pytest.approx(RATIOS[name].to_numpy())
        if name in COLOURS:
            assert to_hex(dots.get_facecolor()[0]).upper() == COLOURS[name].upper()
    colours = {to_hex(dots.get_facecolor()[0]) for dots in axes.collections[1::2]}
    assert len(colours) == RATIOS.shape[1]


def test_plot_disparity_ratios__labels_values_groups_lines_and_distributions() -> None:
    axes = plot_disparity_ratios(RATIOS, names={"f": "data"}, title="Who?", compared="ratio")
    told = {text.get_text() for text in axes.texts}
    assert {"0.693", "0.377", "0.987", "1.300", "four-fifths rule: 0.8", "parity: 1", *RATIOS.index} <= told
    assert [label.get_text() for label in axes.get_yticklabels()] == ["data", "PUR", "other"] * 2
    assert axes.get_title(loc="left") == "Who?"
    assert axes.get_xlabel() == "ratio"
    assert axes.get_xlim()[1] > 1.3
    positions = [line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1]
    assert {0.8, 1.0} <= set(positions)


def test_plot_disparity_ratios__keeps_the_order_top_down() -> None:
    axes = plot_disparity_ratios(RATIOS)
    bottom, top = axes.get_ylim()
    assert bottom > top
    heights = [np.asarray(dots.get_offsets())[:, 1] for dots in axes.collections[1::2]]
    assert (np.diff(np.transpose(heights).ravel()) > 0).all()


def test_plot_disparity_ratios__draws_into_given_axes_with_deviations() -> None:
    axes = Figure().add_subplot()
    assert plot_disparity_ratios(RATIOS, ax=axes, deviations=RATIOS / 10) is axes
    assert len(axes.containers) == RATIOS.shape[1]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -0.1])
def test_plot_disparity_ratios__refuses_what_is_no_ratio(wrong: float) -> None:
    with pytest.raises(pt.InvalidTableError, match="finite and not negative"):
        plot_disparity_ratios(RATIOS.replace(0.693, wrong))
    with pytest.raises(pt.InvalidTableError):
        plot_disparity_ratios(RATIOS.iloc[:0])


def test_save_figure__same_figure_same_bytes(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        paths = save_figure(plot_disparity_ratios(RATIOS), tmp_path / name, title="Who?")
        digests.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])
    assert digests[0] == digests[1]
    changed = save_figure(plot_disparity_ratios(RATIOS + 0.001), tmp_path / "three", title="Who?")
    assert hashlib.sha256(changed[0].read_bytes()).hexdigest() != digests[0][0]


def test_save_figure__writes_both_forms_with_their_title(tmp_path: Path) -> None:
    vector, pixels = save_figure(plot_disparity_ratios(RATIOS), tmp_path / "figure", title="Who earns it?")
    assert "Who earns it?" in vector.read_text()
    assert b"Who earns it?" in pixels.read_bytes()
    assert "dc:date" not in vector.read_text()


def test_save_figure__refuses_an_ending_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(pt.InvalidOptionError, match=r"figure\.png"):
        save_figure(plot_disparity_ratios(RATIOS), tmp_path / "figure.png")
