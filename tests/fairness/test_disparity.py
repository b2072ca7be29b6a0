"""Disparities between protected profiles, and the error of predictions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import purtensor as pt
from purtensor.errors import UndefinedRatioWarning
from tests import oracles
from tests.strategies import cases, table_from

ATTRIBUTES = ("x", "sex", "y", "race")
CATEGORIES = (["u", "v"], ["f", "m", "d"], ["no", "yes"], ["black", "white"])
MASSES = {
    ("u", "f", "no", "white"): 3,
    ("v", "f", "yes", "white"): 1,
    ("u", "m", "no", "white"): 1,
    ("u", "m", "yes", "white"): 1,
    ("v", "m", "no", "black"): 5,
}
TWO = {"response": "y", "protected": ["sex", "race"], "reference": {"race": "white", "sex": "m"}}


def table(layout="sparse"):
    return table_from(ATTRIBUTES, CATEGORIES, MASSES, layout)


@pytest.mark.parametrize("layout", ["sparse", "dense"])
@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (pt.attributable_disparity, {"f": -0.25, "m": 0.0, "b": -0.5}),
        (pt.disparity_ratio, {"f": 0.5, "m": 1.0, "b": 0.0}),
    ],
)
def test_disparities__of_several_protected_attributes(layout, measure, expected):
    found = measure(table(layout), **TWO)
    assert oracles.attributes_of(found) == ("y", "sex", "race")
    at = {"f": ("f", "white"), "m": ("m", "white"), "b": ("m", "black")}
    for key, (sex, race) in at.items():
        assert float(found.sel(y="yes", sex=sex, race=race).item()) == expected[key]


def test_disparities__leave_out_profiles_without_mass():
    sparse, dense = (pt.attributable_disparity(table(layout), **TWO) for layout in ("sparse", "dense"))
    assert len(sparse) == 6  # 2 responses x 3 protected profiles; sex "d" and (f, black) do not occur
    assert dense.sizes == {"y": 2, "sex": 2, "race": 2}
    assert math.isnan(dense.sel(y="no", sex="f", race="black").item())
    assert int(dense.isnull().sum()) == 2


def test_attributable_disparity__of_one_protected_attribute():
    found = pt.attributable_disparity(table(), response="y", protected="sex", reference={"sex": "f"})
    assert float(found.sel(y="yes", sex="m").item()) == pytest.approx(1 / 7 - 1 / 4, abs=1e-16)
    assert found.sel(sex="f").values.tolist() == [0, 0]


def test_disparity_ratio__is_nan_with_a_warning_where_the_reference_never_responds():
    with pytest.warns(UndefinedRatioWarning, match="p.y . s0. is 0 for 1 of 2 responses") as caught:
        found = pt.disparity_ratio(table(), **{**TWO, "reference": {"sex": "m", "race": "black"}})
    assert caught[0].filename == __file__
    assert np.isnan(found.sel(y="yes").values).all()
    assert found.sel(y="no", sex="f", race="white").item() == 0.75


@pytest.mark.parametrize("measure", [pt.attributable_disparity, pt.disparity_ratio])
def test_disparities__refuse_a_reference_profile_that_is_not_there(measure):
    def refused(reference, kind, match):
        with pytest.raises(kind, match=match):
            measure(table(), **{**TWO, "reference": reference})

    refused({"sex": "male", "race": "white"}, pt.UnknownCategoryError, "no category 'male' in attribute 'sex'")
    refused({"sex": "f", "race": "black"}, pt.UnknownCategoryError, r"\(sex=f, race=black\) has no mass")
    refused({"sex": "f", "age": "old"}, pt.UnknownAttributeError, "no attribute 'age'; protected has sex, race")
    refused({"sex": "f"}, pt.UnknownAttributeError, "reference has no category for race")
    refused("f", pt.InvalidOptionError, "reference must be a mapping")


@given(cases(least=2, spread=3))
def test_disparities__equal_fractions(case):
    y, *rest = case.attributes
    s = tuple(rest[: (len(rest) + 1) // 2])
    expected = oracles.conditionals(case.reference_masses, case.attributes, y, s)
    own = next(iter(case.reference_masses))
    chosen = tuple(own[case.attributes.index(name)] for name in s)
    reference = dict(zip(s, chosen))
    difference = pt.attributable_disparity(case.reference, response=y, protected=s, reference=reference)
    stored = difference.to_series() if difference.dims == ("profile",) else difference.to_series().dropna()
    assert len(stored) == len(expected)
    for (label, *group), value in expected.items():
        found = difference.sel({y: label, **dict(zip(s, group))}).item()
        assert found == pytest.approx(float(value - expected[(label, *chosen)]), abs=1e-15)


def unfair_but_feasible(case, y, s):
    """A table whose own PUR conditions can be met: a fair one, its response and protected made independent given x."""
    positive = pt.to_dense(pt.regularize(case.reference, 50, response=y, support="product"))
    others = [name for name in positive.dims if name not in (y, s)]
    pairs = positive.sum(others)
    fair = positive * pairs.sum(s) * pairs.sum(y) / (pairs * pairs.sum())
    # utility f(y, x) and realism f(s, x) stay, so the fair table meets all three conditions
    return (fair.sum(s) * fair.sum(y) / fair.sum([y, s])).fillna(0.0).transpose(*case.attributes)


@given(cases(least=3, spread=2))
def test_disparities__vanish_on_a_projection_and_utility_stays(case):
    """Any disparity of a PUR projection is 0 or 1 and its utility error on its own data is 0, to the tolerance."""
    y, s, *_ = case.attributes
    f = unfair_but_feasible(case, y, s)
    fair = pt.project(f, pt.pur(f, response=y, protected=s), tolerance=1e-12)
    own = next(iter(oracles.marginal(case.reference_masses, case.attributes, (s,))))
    roles = {"response": y, "protected": s}
    reference = {s: own[0]}
    difference = pt.attributable_disparity(fair.table, **roles, reference=reference)
    # a share of the population times its conditional is right to 1e-12: the smallest share sets the scale
    smallest = float(pt.marginal(f, s).values[pt.marginal(f, s).values > 0].min())
    assert np.nanmax(np.abs(difference.values)) <= 4e-12 / smallest
    outcome = float(pt.marginal(f, y).values[pt.marginal(f, y).values > 0].min())
    ratio = pt.disparity_ratio(fair.table, **roles, reference=reference)
    assert np.nanmax(np.abs(ratio.values - 1)) <= 8e-12 / smallest / outcome
    assert pt.utility_error(f, fair.table, **roles) <= 1e-18 / outcome / smallest
    assert pt.utility_error(f, pt.predict(fair.table, f, response=y), **roles) <= 1e-18 / outcome / smallest


def test_utility_error__is_the_divergence_of_response_and_unprotected():
    test = table_from(("x", "y", "s"), (["u"], ["a", "b"], ["f", "m"]), {("u", "a", "f"): 1, ("u", "b", "m"): 3})
    predicted = table_from(("s", "y", "x"), (["f", "m"], ["b", "a"], ["u"]), {("f", "a", "u"): 2, ("m", "b", "u"): 2})
    error = pt.utility_error(test, predicted, response="y", protected="s")
    assert error == pytest.approx(0.25 * math.log(1 / 2) + 0.75 * math.log(3 / 2), abs=1e-15)
    assert pt.utility_error(predicted, test, response="y", protected="s") != pytest.approx(error)


def test_utility_error__is_infinite_where_the_prediction_has_no_mass():
    test = table()
    predicted = table().where(table() != 1, 0)
    assert pt.utility_error(test, predicted, response="y", protected=["sex", "race"]) == math.inf


def test_utility_error__without_unprotected_attributes_compares_responses():
    p, q = pt.marginal(table(), ["y", "sex"]), pt.uniform(pt.marginal(table(), ["y", "sex"]))
    expected = pt.kl_divergence(pt.marginal(p, "y"), pt.marginal(q, "y"))
    assert pt.utility_error(p, q, response="y", protected="sex") == expected > 0
    with pytest.raises(pt.UnknownAttributeError):
        pt.utility_error(p, table(), response="y", protected="sex")
