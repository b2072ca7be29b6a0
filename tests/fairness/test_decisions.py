"""Fair decisions: parity of decisions, their price, and what the likeliest class does on Adult."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import purtensor as pt
from purtensor.fairness.decisions import RULES, Decisions, decide
from purtensor.fairness.rates import accuracy, rates_by_group, smallest_ratios

ROLES = {"response": "income", "protected": ["gender", "race"]}


@cache
def adult() -> tuple[pt.Marginal, pt.Marginal, pt.Marginal]:
    """Return f of Adult's train split, its PUR projection, and the counts of the test split."""
    f = pt.regularize(pt.datasets.adult(split="train"), response="income")
    return f, pt.project(f, pt.pur(f, **ROLES)).table, pt.datasets.adult(split="test")


def on_test(rule: str) -> tuple[float, float]:
    """Return accuracy and smallest ratio of the rates of >50K on Adult's test split, decided after the train split."""
    f, q, test = adult()
    decided = decide(q, f, rule=rule, **ROLES).table
    rates = rates_by_group(pt.predict(decided, test, response="income", unseen="marginal"), **ROLES)
    return accuracy(decided, test, response="income"), float(smallest_ratios(rates)[">50K"])


def test_decide__on_adult_the_likeliest_class_of_fair_probabilities_is_not_fair() -> None:
    right, ratio = on_test("likeliest")
    assert right == pytest.approx(0.7447, abs=1e-4)  # a constant guess: 0.7538
    assert ratio == 0.0  # no white man is predicted to earn more than 50K


def test_decide__on_adult_draws_and_fair_decisions_keep_parity_and_cost_accuracy() -> None:
    right, ratio = on_test("draw")
    assert (round(right, 3), round(ratio, 2)) == (0.682, 0.97)
    right, ratio = on_test("fair")
    assert (round(right, 3), round(ratio, 3)) == (0.721, 0.905)


def people(seed: int, responses: int = 3) -> pt.Marginal:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 50, (responses, 2, 5)).reshape(-1)
    y, s, x = (axis.reshape(-1) for axis in np.indices((responses, 2, 5)))
    return pt.tabulate({"y": y, "s": s, "x": x}, weights=weights)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), responses=st.integers(2, 4))
def test_decide__fair_decisions_have_exactly_the_rates_in_every_group(seed: int, responses: int) -> None:
    table = people(seed, responses)
    shares = np.random.default_rng(seed).dirichlet(np.ones(responses))
    for rate in (None, dict(enumerate(shares.tolist()))):
        found = decide(table, response="y", protected="s", rate=rate)
        wanted = shares if rate else pt.marginal(table, "y").values / float(table.sum())
        rates = rates_by_group(found.table, response="y", protected="s").reindex(columns=range(responses), fill_value=0)
        assert rates.to_numpy() == pytest.approx(np.tile(wanted, (2, 1)), abs=1e-12)
        same = pt.marginal(found.table, ["s", "x"]).to_series() / pt.marginal(table, ["s", "x"]).to_series()
        assert same.to_numpy() == pytest.approx(np.ones(10))
        assert found.gap < 1e-12


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_decide__accuracy_falls_from_likeliest_to_fair_to_draws_of_fair_probabilities(seed: int) -> None:
    f = pt.regularize(people(seed), response="y")
    q = pt.project(f, pt.parity(f, response="y", protected="s")).table
    found = {rule: decide(q, response="y", protected="s", rule=rule) for rule in RULES}
    assert found["draw"].accuracy <= found["fair"].accuracy + 1e-12  # draws are decisions at these rates as well
    assert found["fair"].accuracy <= found["likeliest"].accuracy + 1e-12
    for rule, one in found.items():
        assert one.rule == rule
        assert accuracy(one.table, q, response="y") == pytest.approx(one.accuracy, abs=1e-12)


def test_decide__gives_mass_to_pairs_that_the_probabilities_exclude() -> None:
    q = pt.tabulate({"y": ["no", "yes", "yes"], "s": ["f", "f", "m"], "x": ["a", "a", "a"]}, weights=[3, 1, 4])
    table = decide(q, response="y", protected="s", rate={"no": 0.5, "yes": 0.5}).table
    assert table.to_series().to_dict() == {
        ("no", "f", "a"): 2,
        ("no", "m", "a"): 2,
        ("yes", "f", "a"): 2,
        ("yes", "m", "a"): 2,
    }


def test_decide__layout_and_order_are_those_of_the_tables() -> None:
    q = people(4)
    sparse, dense = (decide(table, response="y", protected="s").table for table in (q, pt.to_dense(q)))
    assert dense.dims == ("y", "s", "x")
    assert pt.to_dense(sparse).values == pytest.approx(dense.values)
    turned = decide(pt.to_dense(q).transpose("x", "s", "y"), response="y", protected="s").table
    assert turned.transpose("y", "s", "x").values == pytest.approx(dense.values)


def test_decide__people_that_q_does_not_know() -> None:
    q = people(5).isel(profile=slice(0, 28))  # no y = 2 at s = 1, x = 3 and 4
    everyone = pt.tabulate({"s": [0, 1, 1], "x": [0, 0, 9]}, weights=[5, 5, 5])
    with pytest.raises(pt.UnknownCategoryError, match="unseen='marginal'"):
        decide(q, everyone, response="y", protected="s")
    found = decide(q, everyone, response="y", protected="s", rule="draw", unseen="marginal").table
    expected = 5 * pt.marginal(q, "y").values / float(q.sum())
    assert found.to_series().xs(9, level="x").to_numpy() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rate", "error", "told"),
    [
        ({0: 0.5, 1: 0.6, 2: 0.0}, pt.InvalidOptionError, "must sum to 1, got 1.1"),
        ({0: 0.5, 1: 0.5}, pt.UnknownCategoryError, "rate has no share for y 2"),
        ({0: 0.5, 1: 0.5, 7: 0.0}, pt.UnknownCategoryError, "no category 7"),
        ({0: 1.5, 1: -0.5, 2: 0.0}, pt.InvalidOptionError, "a share between 0 and 1, got 1.5"),
        ([0.5, 0.5, 0.0], pt.InvalidOptionError, "must map each category"),
    ],
)
def test_decide__refuses_rates_that_are_none(rate, error, told: str) -> None:
    with pytest.raises(error, match=told):
        decide(people(1), response="y", protected="s", rate=rate)


def test_decide__refuses_other_rules() -> None:
    with pytest.raises(pt.InvalidOptionError, match="likeliest, draw, fair"):
        decide(people(1), response="y", protected="s", rule="best")
    assert isinstance(decide(people(1), response="y", protected="s"), Decisions)
