"""All methods on the same divisions, and what they are judged by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import log_loss, roc_auc_score

import purtensor as pt
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownAttributeError
from purtensor.studies.fair_methods import contest
from purtensor.studies.fair_methods.contest import MEASURES, METHODS, Answer, compare_fair, likeliest, measure
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
    found = measure(answer, split)
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
    assert measure(Answer(exact), split)["utility_error"] == pytest.approx(0, abs=1e-12)


def test_measured__of_decisions_alone_has_no_probabilities() -> None:
    split = one_split()
    found = measure(Answer(decisions=likeliest(np.tile([0.4, 0.6], (6, 1)))), split)
    assert found["decision_gap"] == 0.0
    assert found["accuracy"] == pytest.approx(split.judged[:, 1].sum() / split.judged.sum())
    assert np.isnan([found[name] for name in ("log_loss", "auc", "gap", "gap_train", "utility_error")]).all()


def test_measured__a_chance_of_zero_costs_as_much_as_scikit_learn_says() -> None:
    split = one_split()
    profile, truth = split.rows(split.judged)
    sure = np.tile([1.0, 0.0], (6, 1))
    assert measure(Answer(sure), split)["log_loss"] == pytest.approx(log_loss(truth, sure[profile]))


ROLES: dict[str, Any] = {"response": "hired", "protected": ["sex"]}
PEERS = ("fairlearn", "AIF360", "equipy")


def people(size: int = 900, responses: int = 2) -> xr.DataArray:
    """Return counts in which x predicts the response, and s moves it."""
    rng = np.random.default_rng(0)
    s, x, z = rng.integers(0, 2, size), rng.integers(0, 4, size), rng.integers(0, 3, size)
    y = (rng.random(size) < 0.15 + 0.15 * x + 0.2 * s).astype(int) * rng.integers(1, responses, size)
    return pt.tabulate({"hired": y, "sex": s, "x": x, "z": z})


@pytest.mark.slow
def test_compare_fair__every_method_but_the_untouched_ones_lessens_the_gap() -> None:
    methods = [name for name in METHODS if not name.startswith(("AIF360", "equipy")) and "fair decisions" not in name]
    found = compare_fair(people(), **ROLES, methods=methods, times=2)
    assert found.skipped == {}
    assert list(found.runs.columns) == ["split", "method", *MEASURES, "note"]
    assert (found.runs["note"] == "").all()
    table = found.summary().set_index("method")
    assert table.index.tolist() == methods
    untouched = ["f, natural", "logistic regression", "forest"]
    gaps = table["gap"].fillna(table["decision_gap"])
    assert gaps.drop(untouched).max() < 0.7 * gaps[untouched].min()
    natural = [f"{name}, natural" for name in ("P", "PU", "PUR", "MaxEnt-PUR", "PUR of smoothed f")]
    assert (table.loc[natural[2:], "gap_train"] < 1e-6).all()
    assert table.loc["f, natural", "gap_train"] > 0.15
    assert (table["seconds"] > 0).all()
    assert table["log_loss"].min() > 0.4
    assert table.loc["PUR of smoothed f, natural", "log_loss"] < table.loc["PUR, natural", "log_loss"]
    assert table["log_loss_error"].dropna().between(1e-6, 0.1).all()


def test_compare_fair__the_same_seed_gives_the_same_numbers_but_times() -> None:
    methods = ["PUR, natural", "PUR, weights for forest", "fairlearn ThresholdOptimizer"]
    alone, again = (
        compare_fair(people(300), **ROLES, methods=methods, times=2).runs.drop(columns="seconds") for _ in range(2)
    )
    assert alone.equals(again)
    assert alone["split"].tolist() == [0, 0, 0, 1, 1, 1]
    other = compare_fair(people(300), **ROLES, methods=methods, times=2, seed=1).runs
    assert not np.array_equal(other["log_loss"], alone["log_loss"])


def test_compare_fair__a_peer_that_is_not_installed_is_skipped_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "missing_modules", lambda name: name)
    done: list[int] = []
    found = compare_fair(
        people(200), **ROLES, methods=["P, natural", "equipy MultiWasserstein"], times=2, on_split=done.append
    )
    assert found.skipped == {"equipy MultiWasserstein": "equipy"}
    assert found.runs["method"].unique().tolist() == ["P, natural"]
    assert done == [1, 2]


def test_compare_fair__more_responses_than_a_peer_takes_are_told() -> None:
    methods = ["PUR, natural", "PUR, weights for logistic regression", "fairlearn ThresholdOptimizer"]
    found = compare_fair(people(responses=4), **ROLES, methods=methods, times=2)
    told = found.runs.set_index("method")
    assert told.loc["fairlearn ThresholdOptimizer", "note"].unique().tolist() == ["it needs two responses, got 4"]
    assert told.loc["PUR, natural", ["log_loss", "auc", "gap"]].notna().all(axis=None)
    assert told.loc["PUR, natural", "auc"].between(0.4, 0.9).all()
    assert np.isnan(found.summary()["log_loss"].iloc[-1])


@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith(("AIF360", "equipy"))])
def test_compare_fair__with_what_is_not_in_the_constraints(name: str) -> None:
    pytest.importorskip(contest.MODULES[name.split()[0]])
    found = compare_fair(people(), **ROLES, methods=["logistic regression", name], times=2).summary()
    assert found["gap"][1] < 0.6 * found["gap"][0]


def test_compare_fair__refuses_what_is_not_there() -> None:
    with pytest.raises(InvalidOptionError, match="no method 'magic'; there are f, natural"):
        compare_fair(people(), **ROLES, methods=["magic"])
    with pytest.raises(InvalidOptionError, match="times must be an integer of at least 2, got 1"):
        compare_fair(people(), **ROLES, times=1)
    with pytest.raises(InvalidOptionError, match="seed must be a non-negative integer"):
        compare_fair(people(), **ROLES, seed=-1)
    with pytest.raises(UnknownAttributeError, match="gender"):
        compare_fair(people(), response="hired", protected=["gender"])
    agreed = people().sel(profile=people().indexes["profile"].get_level_values("hired") == 0)
    with pytest.raises(InvalidTableError, match="'hired' must have 2 categories or more to predict, got 1"):
        compare_fair(agreed, **ROLES, times=2)
