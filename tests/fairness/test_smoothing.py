from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.errors import InfeasibleError, InvalidOptionError, InvalidTableError
from purtensor.fairness.roles import Roles
from purtensor.fairness.smoothing import _split_folds, smooth_counts

ROLES: dict[str, Any] = {"response": "y", "protected": "s"}
OF = Roles("y", ("s",), ("a", "b"))


def additive(size: int, seed: int = 0, interaction: float = 0.0) -> xr.DataArray:
    """Return counts in which the log-odds of y are a sum over s, a and b, and an interaction of a and b if asked."""
    rng = np.random.default_rng(seed)
    s, a, b = rng.integers(0, 2, size), rng.integers(0, 6, size), rng.integers(0, 6, size)
    odds = (
        0.5 * s
        + np.linspace(-1, 1, 6)[a]
        + np.linspace(1, -1, 6)[b]
        + interaction * (2 * (a % 2) - 1) * (2 * (b % 2) - 1)
    )
    y = rng.random(size) < 1 / (1 + np.exp(-odds))
    return pt.tabulate({"y": y.astype(int), "s": s, "a": a, "b": b})


def test_smooth__takes_the_simple_model_where_the_truth_is_simple_and_not_elsewhere() -> None:
    assert pt.fairness.smooth(additive(1500), **ROLES, strengths=(1e-2,)).order == 1
    assert pt.fairness.smooth(additive(1500, interaction=2.0), **ROLES, strengths=(1e-2,)).order == 2


def test_smooth__its_projection_predicts_better_than_that_of_the_data_at_exact_parity() -> None:
    counts, others = additive(1500), additive(20_000, seed=1)
    found = pt.fairness.smooth(counts, **ROLES)
    plain = pt.regularize(counts, 1e-4, response="y")
    losses = []
    for f in (found.table, plain):
        q = pt.project(f, pt.pur(f, **ROLES)).table
        losses.append(pt.fairness.log_loss(q, others, response="y"))
        rates = pt.fairness.rates_by_group(pt.predict(q, f, response="y"), response="y", protected="s")
        assert np.ptp(rates[1]) < 1e-9
    assert losses[0] < losses[1] - 0.02
    row = found.losses.loc[found.losses["log_loss"].idxmin()]
    assert (row["order"], row["strength"]) == (found.order, found.strength)
    assert len(found.losses) == 15
    assert losses[0] == pytest.approx(row["log_loss"], abs=4 * row["standard_error"])


def test_smoothed__has_the_people_of_the_counts_and_the_marginals_of_its_order() -> None:
    counts = additive(800)
    for order in (1, 2, None):
        f = smooth_counts(counts, OF, order, 0.1)
        people = pt.marginal(pt.empirical(counts), ["s", "a", "b"])
        assert pt.total_variation(pt.marginal(f, ["s", "a", "b"]), people) < 1e-12
    plain = pt.regularize(counts, 0.1, response="y")
    assert pt.total_variation(smooth_counts(counts, OF, None, 0.1), pt.predict(plain, people, response="y")) < 1e-12
    # of order 1 the log-odds are a sum: what two categories of a differ by does not depend on s and b
    odds = smooth_counts(counts, OF, 1, 0.1).to_series().unstack("y")
    odds = np.log(odds[1] / odds[0]).unstack("a")
    np.testing.assert_allclose((odds[0] - odds[3]).dropna(), (odds[0] - odds[3]).dropna().iloc[0], atol=1e-6)
    assert float(odds.stack().std()) > 0.3


def test_divided__everybody_is_in_one_part() -> None:
    counts = additive(1001)
    parts = _split_folds(counts, 4, seed=3)
    np.testing.assert_array_equal(sum(part.values for part in parts), counts.values)
    assert [int(part.sum()) for part in parts] == [250, 250, 250, 251]
    assert all((part.values >= 0).all() for part in parts)


def test_smooth__the_same_seed_gives_the_same() -> None:
    counts = additive(300)
    options: dict[str, Any] = {"orders": (1,), "strengths": (0.1,), "folds": 3}
    one, same, other = (pt.fairness.smooth(counts, **ROLES, **options, seed=seed).losses for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


def test_smooth__where_conditions_exclude_each_other_nothing_is_chosen() -> None:
    # x gives s away: utility and parity cannot both hold
    people = {"y": [0, 1, 0, 1], "s": [0, 0, 1, 1], "x": ["a", "a", "b", "b"]}
    counts = pt.tabulate(people, weights=[30, 10, 10, 30])
    with pytest.raises(InfeasibleError, match="the conditions PUR exclude each other for every candidate"):
        pt.fairness.smooth(counts, **ROLES, strengths=(1e-3,))
    found = pt.fairness.smooth(counts, **ROLES, conditions="PR", strengths=(1e-3,))
    assert np.isfinite(found.losses["log_loss"]).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"orders": (0,)}, "an order must be a number of predictors, 1 to 3, or None, got 0"),
        ({"orders": (4,)}, "an order must be a number of predictors, 1 to 3, or None, got 4"),
        ({"orders": ()}, "orders and strengths must each have at least one entry"),
        ({"strengths": (0.0,)}, "a strength must be a positive number, got 0.0"),
        ({"strengths": 3}, "orders and strengths must each have at least one entry"),
        ({"folds": 1}, "folds must be an integer of at least 2, got 1"),
        ({"folds": 500}, "300 individuals cannot be divided into 500 folds"),
        ({"seed": -1}, "seed must be a non-negative integer, got -1"),
    ],
)
def test_smooth__refuses_options_that_are_none(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        pt.fairness.smooth(additive(300), **ROLES, **wrong)
    with pytest.raises(InvalidTableError, match="counts must be whole numbers"):
        pt.fairness.smooth(pt.empirical(additive(300)), **ROLES)
