"""Standard errors of the studies' disparities: of f they are the multinomial's, of parity they are none."""

from __future__ import annotations

import math

import pytest

import purtensor as pt
from purtensor.studies.projections import errors_of

ROLES = {"response": "y", "protected": ("s",)}
COMPARED = {**ROLES, "reference": {"s": "m"}}


@pytest.fixture(scope="module")
def found():
    counts = pt.tabulate(
        {"y": ["no", "no", "yes", "yes"] * 2, "s": ["f", "m"] * 4, "x": [0] * 4 + [1] * 4},
        weights=[30, 20, 10, 25, 15, 10, 20, 40],
    )
    f = pt.empirical(counts)
    projections = {
        "PU": pt.project(f, pt.pur(f, **ROLES, conditions="PU")),
        "UR": pt.project(f, pt.pur(f, **ROLES, conditions="UR")),
        "MaxEnt": pt.project(pt.uniform(f), pt.pur(f, **ROLES)),
    }
    return counts, errors_of(f, projections, size=170, **ROLES)


def test_errors_of__the_data_are_those_of_two_independent_groups(found) -> None:
    counts, errors = found
    shares = {}
    for s in ("f", "m"):
        of_s = counts.to_series().xs(s, level="s")
        shares[s] = (float(of_s.xs("yes", level="y").sum() / of_s.sum()), float(of_s.sum()))
    (p, n), (q, m) = shares["f"], shares["m"]
    difference = errors["f"].attributable_disparity(**COMPARED).to_series()["yes", "f"]
    assert difference == pytest.approx(math.sqrt(p * (1 - p) / n + q * (1 - q) / m))
    ratio = errors["f"].disparity_ratio(**COMPARED).to_series()["yes", "f"]
    assert ratio == pytest.approx(p / q * math.sqrt((1 - p) / (p * n) + (1 - q) / (q * m)))


def test_errors_of__stated_parity_does_not_vary(found) -> None:
    _, errors = found
    assert list(errors) == ["f", "PU", "UR", "MaxEnt"]
    for name in ("PU", "MaxEnt"):
        assert errors[name].disparity_ratio(**COMPARED).max() < 1e-9
    assert errors["UR"].disparity_ratio(**COMPARED).to_series()["yes", "f"] > 0.01
