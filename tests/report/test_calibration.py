"""The report on a calibration: every control, both sets of weights, the proof; and its picture."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import purtensor as pt
from purtensor.report.calibration import calibration_report, write_calibration_report
from purtensor.report.density import density_svg
from purtensor.report.page import render

PEOPLE = {"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo"), "x": [3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3.5]}
SEX = pt.total(1, by="sex", target={"f": 5.2, "m": 4.8})


def test_calibration_report__has_targets_weights_and_proof():
    soft = pt.soft(pt.total("x", target=50.5), sd=4.0)
    page = render(calibration_report(pt.calibrate(PEOPLE, [SEX, soft], bounds=(0.2, 4)), curve=2))
    for text in (
        "count by sex",
        "5.2",
        "50.5",
        "Controls that were given up",
        "weights between 0.2 and 4 times",
        "confirms every number",
        "What bounds on the ratios cost",
        "<dt>numpy</dt>",
    ):
        assert text in page
    assert page.count("<svg") == 1
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")  # it needs no network


def test_calibration_report__of_many_controls_lists_those_missed_most():
    n = 450
    people = {"home": np.arange(n)}
    controls = [
        pt.total(1, by="home", target=dict.fromkeys(range(n - 1), 1.0) | {n - 1: 2.0}),
        pt.soft(pt.total(1, of={"home": [0, 1]}, target=3.0), sd=1.0),
    ]
    page = render(calibration_report(pt.calibrate(people, controls)))
    assert "and 51 more, each missed by less" in page
    listed = page[page.index("Controls, before and after") :]
    assert listed.index("count of home=0|1") < listed.index("count by home")


def test_write_calibration_report__refuses_another_ending(tmp_path):
    with pytest.raises(pt.InvalidOptionError, match=r"must end in .html, got 'weights.pdf'"):
        write_calibration_report(pt.calibrate(PEOPLE, SEX), tmp_path / "weights.pdf")


def test_density_svg__counts_every_pair_once_whatever_their_number():
    rng = np.random.default_rng(0)
    across, up = rng.gamma(2.0, size=3000), rng.gamma(3.0, size=3000)
    picture = ElementTree.fromstring(density_svg(across, up, x="a", y="b"))
    counts = [int(title.text.split()[0]) for title in picture.iter() if title.tag.endswith("title")]
    assert sum(counts) == 3000
    assert len(counts) <= 48**2
    ElementTree.fromstring(density_svg(np.zeros(2), np.array([0.0, 1e-9]), x="a", y="b"))
