"""Pictures of the rate of sweeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.plots.rates import plot_atlas, plot_prediction, plot_rates
from purtensor.studies.atlas import GRID, atlas, powers

STUDY = pd.DataFrame(
    {
        "value": [0.0, 0.01, 1.0, 0.0, 0.01, 1.0],
        "tolerance": [1e-6] * 3 + [1e-10] * 3,
        "sweeps": pd.array([9, 12, 8, 90, None, 15], dtype="Int64"),
        "sweeps_per_decade": [18.0, 59.0, 1.8] * 2,
    }
)


def test_plot_rates__points_are_the_numbers() -> None:
    axes = plot_rates(STUDY, axis="lambda", title="Sweeps")
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == ["predicted sweeps per decade", "to a residual of 1e-10", "to a residual of 1e-06"]
    x, y = lines["to a residual of 1e-06"].get_data()
    assert y[np.isfinite(y)].tolist() == [9, 12, 8]
    assert np.isnan(x[1])  # 0 has no place on a logarithmic axis: it stands apart
    assert x[0] < x[2] == 0.01
    assert np.isfinite(lines["to a residual of 1e-10"].get_ydata()).sum() == 2
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_xticklabels()[0].get_text() == "0"
    assert axes.get_xlabel() == "lambda"


def test_plot_rates__what_was_cut_off_is_marked_at_the_limit() -> None:
    *_, cut = plot_rates(STUDY, most=100).lines
    assert cut.get_label() == "more than 100 sweeps"
    assert list(cut.get_xdata()) == [0.01]
    assert list(cut.get_ydata()) == [100.0]
    assert cut.get_markerfacecolor() == "white"


def test_plot_rates__without_zero_there_is_no_gap() -> None:
    axes = plot_rates(STUDY[STUDY["value"] > 0])
    assert all(np.isfinite(line.get_xdata()).all() for line in axes.lines)


@pytest.mark.parametrize("wrong", [STUDY.iloc[:0], STUDY.assign(value=-1.0)])
def test_plot_rates__refuses_what_has_no_place(wrong: pd.DataFrame) -> None:
    with pytest.raises(pt.InvalidTableError, match="no negative value"):
        plot_rates(wrong)


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


def prediction():
    problem = pt.problems.load("b")
    return pt.convergence.predict(problem.reference, problem.constraints)


def test_plot_prediction__draws_what_is_known():
    found = prediction()
    axes = plot_prediction(found, title="b")
    places = {line.get_xdata()[0] for line in axes.lines[1:]}
    assert places == {found.sweeps_per_decade, found.slab, found.weakest.sweeps_per_decade, found.merged}
    assert found.lower == 0.0
    assert tuple(axes.lines[0].get_xdata()) == (axes.get_xlim()[0], found.upper)
    assert "are joined by" in axes.figure.get_supxlabel().replace("\n", " ")


def test_plot_prediction__leaves_out_what_is_not():
    alone = replace(prediction(), slab=float("nan"), merged=float("nan"), weakest=None, upper=float("inf"))
    axes = plot_prediction(alone)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["plain sweeps"]
    assert axes.lines[0].get_xdata()[1] == axes.get_xlim()[1]


def test_plot_prediction__refuses_what_never_ends():
    with pytest.raises(pt.InvalidTableError, match="must be finite"):
        plot_prediction(replace(prediction(), sweeps_per_decade=float("inf")))
