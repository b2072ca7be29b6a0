"""The natural classifier."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from tests import oracles
from tests.strategies import cases, random_masses, random_support, table_from

ATTRIBUTES = ("s", "y", "x")
CATEGORIES = (["f", "m"], ["no", "yes"], ["old", "young"])
Q = table_from(
    ATTRIBUTES,
    CATEGORIES,
    {("f", "no", "old"): 3, ("f", "yes", "old"): 1, ("m", "yes", "old"): 2, ("m", "no", "young"): 2},
)


def people(masses, layout="sparse", categories=(["old", "young"], ["m", "f"])):
    return table_from(("x", "s"), categories, masses, layout)


@pytest.mark.parametrize("layout", ["sparse", "dense"])
def test_predict__applies_the_conditional_to_the_population(layout):
    answer = pt.predict(Q, people({("old", "f"): 40, ("old", "m"): 5}, layout), response="y")
    assert oracles.attributes_of(answer) == ATTRIBUTES
    assert (answer.dims == ("profile",)) == (layout == "sparse")
    assert oracles.masses_of(answer) == {("f", "no", "old"): 30, ("f", "yes", "old"): 10, ("m", "yes", "old"): 5}
    assert answer.attrs == {"unseen_mass": 0.0, "unseen_profiles": 0}


def test_predict__sums_out_the_response_of_the_test():
    test = table_from(
        ("y", "s", "x"), (["maybe", "no"], ["f", "m"], ["old"]), {("maybe", "f", "old"): 30, ("no", "f", "old"): 10}
    )
    assert oracles.masses_of(pt.predict(Q, test, response="y")) == {("f", "no", "old"): 30, ("f", "yes", "old"): 10}


UNSEEN = people({("old", "f"): 40, ("young", "f"): 16, ("young", "m"): 4})


def test_predict__refuses_unseen_profiles():
    with pytest.raises(
        pt.UnknownCategoryError, match=r"no mass at \(s=f, x=young\): 1 of 3 predictor profiles .*, 0.267 of"
    ):
        pt.predict(Q, UNSEEN, response="y")


def test_predict__refuses_unseen_categories_by_name():
    test = people({("ancient", "f"): 1}, categories=(["ancient", "old"], ["f"]))
    with pytest.raises(pt.UnknownCategoryError, match="q does not list x=ancient: 1 of 1 predictor profiles"):
        pt.predict(Q, test, response="y")
    # labels are compared with their types: 1 is not "1" and not True
    q = table_from(("y", "s"), (["no"], [0, 1]), {("no", 1): 1})
    for label in ("1", True):
        with pytest.raises(pt.UnknownCategoryError, match="q does not list s="):
            pt.predict(q, table_from(("s",), ([label],), {(label,): 1}), response="y")


def test_predict__drops_unseen_profiles_and_says_how_much():
    answer = pt.predict(Q, UNSEEN, response="y", unseen="drop")
    assert float(answer.sum()) == 44
    assert answer.attrs == {"unseen_mass": 16.0, "unseen_profiles": 1}
    assert ("f", "no", "young") not in oracles.masses_of(answer)


def test_predict__takes_the_marginal_for_unseen_profiles():
    answer = oracles.masses_of(pt.predict(Q, UNSEEN, response="y", unseen="marginal"))
    # q(y) is (5/8, 3/8)
    assert answer[("f", "no", "young")] == 10
    assert answer[("f", "yes", "young")] == 6
    assert sum(answer.values()) == 60


def test_predict__of_nobody_known_is_empty_or_the_marginal():
    nobody = people({("young", "f"): 8})
    assert float(pt.predict(Q, nobody, response="y", unseen="drop").sum()) == 0
    assert oracles.masses_of(pt.predict(Q, nobody, response="y", unseen="marginal")) == {
        ("f", "no", "young"): 5,
        ("f", "yes", "young"): 3,
    }


def test_predict__refuses_other_attributes_and_words():
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 's'; test has x"):
        pt.predict(Q, pt.marginal(UNSEEN, "x"), response="y")
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'x'; q has s, y"):
        pt.predict(pt.marginal(Q, ["s", "y"]), UNSEEN, response="y")
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'income'"):
        pt.predict(Q, UNSEEN, response="income")
    with pytest.raises(pt.InvalidOptionError, match="unseen must be one of raise, marginal, drop, got 'ignore'"):
        pt.predict(Q, UNSEEN, response="y", unseen="ignore")
    with pytest.raises(pt.InvalidOptionError, match="needs at least one predictor"):
        pt.predict(pt.marginal(Q, "y"), UNSEEN, response="y")


@given(cases(least=2, spread=5), st.integers(0, 2**64 - 1), st.integers(0, 5))
def test_predict__equals_fractions(case, seed, which):
    response = case.attributes[which % len(case.attributes)]
    predictors = tuple(name for name in case.attributes if name != response)
    categories = tuple(case.categories[case.attributes.index(name)] for name in predictors)
    random = Random(seed)
    test = random_masses(random, random_support(random, categories, "sparse"))
    expected, unseen = oracles.predicted(case.reference_masses, test, case.attributes, response)
    answer = pt.predict(case.reference, case.table(test, predictors), response=response, unseen="drop")
    found = oracles.masses_of(answer)
    assert found.keys() == expected.keys()
    for profile, value in found.items():
        assert float(value) == pytest.approx(float(expected[profile]), rel=1e-14)
    assert answer.attrs["unseen_profiles"] == len(unseen)
    assert answer.attrs["unseen_mass"] == pytest.approx(
        float(sum((test[own] for own in unseen), Fraction(0))), rel=1e-14
    )


@given(cases(least=2, spread=5))
def test_predict__of_its_own_population_is_itself(case):
    f = case.reference
    for response in case.attributes:
        answer = pt.predict(f, f, response=response)
        assert pt.total_variation(answer, f) <= 1e-15
        assert float(answer.sum()) == pytest.approx(float(f.sum()), rel=1e-14)


@given(cases(least=3, spread=2), st.integers(0, 2**64 - 1))
def test_predict__by_the_marginal_keeps_the_population(case, seed):
    response, *predictors = case.attributes
    random = Random(seed)
    test = random_masses(random, random_support(random, case.categories[1:], "full"))
    population = case.table(test, tuple(predictors))
    answer = pt.predict(case.reference, population, response=response, unseen="marginal")
    assert pt.total_variation(pt.marginal(answer, predictors), population) <= 1e-15
