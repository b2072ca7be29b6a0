from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownAttributeError
from purtensor.studies.fair_methods import contest
from purtensor.studies.fair_methods.contest import METHODS, compare_fair
from purtensor.studies.fair_methods.measures import MEASURES

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
