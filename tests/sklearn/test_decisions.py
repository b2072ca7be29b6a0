"""PURClassifier's decisions: warned of where they are not fair, and fair where that was asked for."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

import purtensor as pt
from purtensor.errors import UnfairDecisionsWarning
from purtensor.sklearn import PURClassifier
from tests.sklearn.people import PROTECTED, adult_rows, drawn_people

LIKELIEST = "ignore:the most likely classes"


def shares_of_high(decided: np.ndarray, X: pd.DataFrame) -> pd.Series:
    return pd.Series(decided == ">50K", index=X.index).groupby([X["gender"], X["race"]], observed=True).mean()


def test_fit__warns_once_where_the_likeliest_classes_break_parity() -> None:
    X, y = adult_rows("train")
    with pytest.warns(UnfairDecisionsWarning, match=r"income=>50K for 0\.0 % of \(male, white\) and") as told:
        model = PURClassifier(PROTECTED).fit(X, y)
    assert len(told) == 1
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)
        for decision in ("draw", "fair"):
            PURClassifier(PROTECTED, decision=decision, random_state=0).fit(X, y)
        PURClassifier(PROTECTED, conditions="UR").fit(X, y)  # no parity was asked for


def test_predict__fair_decisions_have_the_same_rates_in_all_groups_of_the_training_rows() -> None:
    X, y = adult_rows("train")
    model = PURClassifier(PROTECTED, decision="fair", random_state=1).fit(X, y)
    rates = shares_of_high(model.predict(X), X)
    assert rates.to_numpy() == pytest.approx(np.full(4, (y == ">50K").mean()), abs=0.01)  # what few draws leave
    test, income = adult_rows("test")
    decided = model.predict(test)
    assert (decided == income).mean() == pytest.approx(0.721, abs=0.003)
    assert shares_of_high(decided, test).min() / shares_of_high(decided, test).max() > 0.85


def test_predict__draws_are_independent_between_rows_of_one_profile() -> None:
    X, y = adult_rows("train")
    test, _ = adult_rows("test")
    model = PURClassifier(PROTECTED, decision="draw", random_state=1).fit(X, y)
    ratios = []
    for block in range(20):  # twenty sets of draws: people with other names
        rates = shares_of_high(model.predict(test, ids=[f"{block}/{i}" for i in range(len(test))]), test)
        ratios.append(rates.min() / rates.max())
    assert np.median(ratios) == pytest.approx(0.926, abs=0.025)  # one draw for each profile: below 0.8 nearly always


@pytest.mark.parametrize("decision", ["draw", "fair"])
def test_predict__depends_on_seed_and_label_not_on_rows_around_or_content(decision: str) -> None:
    X, y = drawn_people()
    model = PURClassifier("sex", decision=decision, random_state=5).fit(X, y)
    decided = pd.Series(model.predict(X), index=X.index)
    shuffled = X.sample(frac=0.5, random_state=2)
    assert (model.predict(shuffled) == decided[shuffled.index]).all()
    assert (model.predict(shuffled.reset_index(drop=True), ids=shuffled.index) == decided[shuffled.index]).all()
    again = PURClassifier("sex", decision=decision, random_state=5).fit(X, y)
    assert (again.predict(X) == decided).all()
    assert (again.predict(pl.from_pandas(X)) == decided).all()  # positions, as the labels of a plain pandas index are


def test_predict__other_seeds_draw_otherwise_at_the_same_rate() -> None:
    X, y = drawn_people(4000)
    found = [PURClassifier("sex", decision="draw", random_state=seed).fit(X, y).predict(X) for seed in (1, 2)]
    assert 0.1 < (found[0] != found[1]).mean() < 0.7
    assert [(one == "yes").mean() for one in found] == pytest.approx([(y == "yes").mean()] * 2, abs=0.04)


def test_predict__a_stated_rate_is_given_to_every_group() -> None:
    X, y = drawn_people(4000)
    model = PURClassifier("sex", decision="fair", rate={"no": 0.9, "yes": 0.1}, random_state=0).fit(X, y)
    rates = pd.Series(model.predict(X) == "yes").groupby(X["sex"]).mean()
    assert rates.to_numpy() == pytest.approx([0.1, 0.1], abs=0.02)
    new = pd.DataFrame({"sex": ["x"] * 2000, "skill": "low", "hours": 20.0})  # never seen: at the rate as well
    assert (model.predict(new) == "yes").mean() == pytest.approx(0.1, abs=0.035)


@pytest.mark.filterwarnings(LIKELIEST)
def test_predict__ids_name_every_row() -> None:
    X, y = drawn_people()
    model = PURClassifier("sex", decision="draw", random_state=0).fit(X, y)
    with pytest.raises(pt.InvalidOptionError, match="ids must name each of 400 rows, got 2"):
        model.predict(X, ids=[1, 2])
    with pytest.raises(pt.InvalidOptionError, match="likeliest, draw, fair"):
        PURClassifier("sex", decision="random").fit(X, y)
