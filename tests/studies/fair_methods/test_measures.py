from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

import purtensor as pt
from purtensor.studies.fair_methods.measures import Answer, likeliest, measured
from purtensor.studies.fair_methods.split import Split, splits

PEOPLE = pt.tabulate(
    {"y": [0, 1] * 6, "s": ["a"] * 6 + ["b"] * 6, "x": [0, 0, 1, 1, 2, 2] * 2},
    weights=[30, 3, 21, 12, 9, 15, 24, 6, 15, 15, 12, 18],
)


def one_split() -> Split:
    return next(splits(PEOPLE, response="y", protected=("s",), times=1, seed=4))


def test_split__everybody_is_on_one_side_two_thirds_to_learn_from() -> None:
    split = one_split()
    assert split.learned.sum() == 120
    assert split.judged.sum() == 60
    np.testing.assert_array_equal(split.learned + split.judged, split.population.counts)
    profile, response = split.rows(split.judged)
    again = np.zeros_like(split.judged)
    np.add.at(again, (profile, response), 1)
    np.testing.assert_array_equal(again, split.judged)
    assert split.columns.sum(axis=1).tolist() == [2.0] * 6
    assert split.is_protected.tolist() == [True, True, False, False, False]


def test_measured__is_what_scikit_learn_has_person_by_person() -> None:
    split = one_split()
    chance = np.random.default_rng(1).uniform(0.1, 0.9, 6)
    answer = Answer(np.stack([1 - chance, chance], axis=1))
    found = measured(answer, split)
    profile, truth = split.rows(split.judged)
    told, group = chance[profile], split.population.protected[profile]
    assert found["log_loss"] == pytest.approx(log_loss(truth, told))
    assert found["auc"] == pytest.approx(roc_auc_score(truth, told))
    assert found["gap"] == pytest.approx(abs(told[group == 0].mean() - told[group == 1].mean()))
    decided = told > 0.5
    assert found["decision_gap"] == pytest.approx(abs(decided[group == 0].mean() - decided[group == 1].mean()))
    assert found["accuracy"] == pytest.approx((decided == truth).mean())
    assert found["utility_error"] > 0
    exact = split.judged / split.judged.sum(axis=1, keepdims=True)
    assert measured(Answer(exact), split)["utility_error"] == pytest.approx(0, abs=1e-12)


def test_measured__of_decisions_alone_has_no_probabilities() -> None:
    split = one_split()
    found = measured(Answer(decisions=likeliest(np.tile([0.4, 0.6], (6, 1)))), split)
    assert found["decision_gap"] == 0.0
    assert found["accuracy"] == pytest.approx(split.judged[:, 1].sum() / split.judged.sum())
    assert np.isnan([found[name] for name in ("log_loss", "auc", "gap", "gap_train", "utility_error")]).all()


def test_measured__a_chance_of_zero_costs_as_much_as_scikit_learn_says() -> None:
    split = one_split()
    profile, truth = split.rows(split.judged)
    sure = np.tile([1.0, 0.0], (6, 1))
    assert measured(Answer(sure), split)["log_loss"] == pytest.approx(log_loss(truth, sure[profile]))
