"""The picture of the price of parity: its points are the numbers."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.plots.price import plot_parity_curve


@pytest.fixture(scope="module")
def curve():
    f = pt.problems.proxy(0.01).reference  # parity is out of reach: 0.296 is the least
    return pt.parity_curve(f, response="y", protected="s", slacks=[0.35, 0.1, 0.31, 0.32 / 1.08])


def test_plot_parity_curve__points_are_the_numbers(curve) -> None:
    top = plot_parity_curve(curve, title="Price")
    ordered = curve.sortby("slack")
    assert top.lines[0].get_xdata().tolist() == ordered.slack.values.tolist()
    np.testing.assert_array_equal(top.lines[0].get_ydata(), ordered.kl.values)
    assert top.get_title(loc="left") == "Price"
    panels = top.figure.axes[1:]
    assert [panel.get_title(loc="left") for panel in panels] == ["y = 0", "y = 1"]
    for y, panel in enumerate(panels):
        drawn = {line.get_label(): line for line in panel.lines if not line.get_label().startswith("_")}
        assert len(drawn) == 1  # the other group is the one that all are compared with
        ((group, line),) = drawn.items()
        np.testing.assert_array_equal(line.get_ydata(), ordered.disparity_ratio.sel(y=y, s=int(group)).values)
        assert [line.get_ydata()[0] for line in panel.lines if line.get_label().startswith("_")] == [1.0, 0.8]


def drawn_groups(curve) -> list[list[str]]:
    panels = plot_parity_curve(curve).figure.axes[1:]
    return [
        [str(line.get_label()) for line in panel.lines if not str(line.get_label()).startswith("_")] for panel in panels
    ]


def test_plot_parity_curve__leaves_out_the_reference_group_alone() -> None:
    f = pt.tabulate({"y": ["no", "yes"] * 3, "s": ["a", "a", "b", "b", "c", "c"]}, weights=[2, 3, 5, 2, 4, 6])
    data = pt.parity_curve(f, response="y", protected="s", slacks=[1.0])
    assert (data.disparity_ratio.sel(s="a") == 1.0).all()  # as the reference, and yet another group
    assert drawn_groups(data) == [["a", "b"], ["a", "b"]]


def test_plot_parity_curve__leaves_out_a_reference_of_two_attributes() -> None:
    records = {"y": [0, 1] * 4, "s": [False] * 4 + [True] * 4, "r | s": ["x", "x", "y", "y"] * 2}
    f = pt.tabulate(records, weights=[1, 2, 3, 1, 2, 2, 5, 4])
    data = pt.parity_curve(f, response="y", protected=["s", "r | s"], slacks=[0.0, 1.0])
    assert drawn_groups(data) == [["False, x", "False, y", "True, x"]] * 2


def test_plot_parity_curve__dates_name_groups_too() -> None:
    days = np.array(["2020-01-01", "2021-01-01"], dtype="M8[s]")
    f = pt.tabulate({"y": [0, 1, 0, 1], "s": days[[0, 0, 1, 1]]}, weights=[1, 2, 5, 3])
    data = pt.parity_curve(f, response="y", protected="s", slacks=[0.0, 1.0])
    assert drawn_groups(data) == [["2020-01-01 00:00:00"]] * 2


def test_plot_parity_curve__tells_what_the_data_are_and_what_cannot_be_reached(curve) -> None:
    told = [text.get_text() for text in plot_parity_curve(curve).texts]
    assert told == ["smallest violation there is: 0.2963", f"the data: {curve.violation:.4g}"]
    assert "allowed parity violation: half of it" in plot_parity_curve(curve).figure.get_supxlabel()


def test_plot_parity_curve__draws_six_response_categories_at_most() -> None:
    f = pt.tabulate({"y": list(range(8)) * 2, "s": [0] * 8 + [1] * 8}, weights=range(1, 17))
    many = pt.parity_curve(f, response="y", protected="s", slacks=[0.0, 1.0])
    assert len(plot_parity_curve(many).figure.axes) == 7


def test_plot_parity_curve__refuses_what_is_no_curve(curve) -> None:
    for wrong in (curve.drop_vars("kl"), curve.isel(slack=[1])):
        with pytest.raises(pt.InvalidTableError, match="parity_curve"):
            plot_parity_curve(wrong)
