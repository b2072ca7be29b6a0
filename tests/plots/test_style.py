"""What all pictures share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import purtensor as pt
from purtensor.plots.comparison import plot_performance_profile, plot_time_to_accuracy
from purtensor.plots.disparity import plot_disparity_ratios
from purtensor.plots.price import plot_parity_curve
from purtensor.plots.save_figure import save_figure
from purtensor.plots.style import FAINT, finish, legend_beside, verbatim
from purtensor.plots.survey import plot_by_response, plot_prevalences


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


FORMULA = r"$\foo$"
"""No formula that matplotlib knows: drawing it as one is an error."""


@pytest.mark.parametrize("text", [FORMULA, "$10$ to $20$", "$", "6 $/h", "a_b^c", "_hidden", "\\", "{0} %s", ""])
def test_verbatim__is_drawn_as_it_is(text: str) -> None:
    axes = Figure().add_subplot()
    axes.plot([1, 2], [3, 4], label=verbatim(text))
    finish(axes, title=text, x=text, y=text)
    axes.figure.draw_without_rendering()
    assert not is_math_text(axes.get_title(loc="left"))
    assert axes.get_xlabel().replace(r"\$", "$").strip() == text
    if text:
        assert axes.get_legend_handles_labels()[1] == [verbatim(text)]  # not left out


def curve(label: str) -> xr.Dataset:
    values = np.array([[[4.0, 3.0], [2.0, 5.0]], [[1.0, 2.0], [3.0, 1.0]]])
    names = {"y" + label: ["no", label], "s" + label: ["f", label], "x": [0, 1]}
    f = xr.DataArray(values, coords=names, dims=list(names))
    return pt.parity_curve(f, response="y" + label, protected="s" + label, slacks=[0.01, 0.1])


SHARES = {"attribute": [FORMULA] * 2, "category": [FORMULA, "$a$"], "share": [0.25, 0.75]}
MARKS = {"response": [FORMULA], "group": [FORMULA], "model": [FORMULA], "value": [1.0]}
TRACE = {"solver": [FORMULA] * 2, "seconds": [0.1, 0.2], "residual": [1e-2, 1e-9], "iteration": [1, 2]}
PICTURES = {
    "price": lambda: plot_parity_curve(curve(FORMULA), title=FORMULA),
    "disparity": lambda: plot_disparity_ratios(pd.DataFrame({FORMULA: [0.5]}, index=[FORMULA]), title=FORMULA),
    "prevalence": lambda: plot_prevalences(pd.DataFrame(SHARES), title=FORMULA),
    "by response": lambda: plot_by_response(pd.DataFrame(MARKS), lines={FORMULA: 0.4}, line_label=FORMULA),
    "accuracy": lambda: plot_time_to_accuracy(pd.DataFrame(TRACE | {"problem": [FORMULA] * 2}), title=FORMULA),
    "performance": lambda: plot_performance_profile(
        pd.DataFrame({"solver": [FORMULA], "factor": [1.0], "share": [1.0]}), title=FORMULA
    ),
}


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures__labels_that_look_like_formulas_are_drawn_as_they_are(picture: str) -> None:
    PICTURES[picture]().get_figure(root=True).draw_without_rendering()


def test_save_figure__what_the_font_lacks_is_a_warning_of_ours(tmp_path) -> None:
    with pytest.warns(pt.errors.PurtensorWarning, match=r"price\.svg: Glyph 22899 .* missing from font"):
        save_figure(plot_parity_curve(curve("\u5973")), tmp_path / "price")
    assert {path.name for path in tmp_path.iterdir()} == {"price.svg", "price.png"}
