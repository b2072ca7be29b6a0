"""Forests learn what their data say, and draw what their distribution says."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.studies.forests import Learning, predictors
from purtensor.studies.population import Population, conditionals, population_of


@pytest.fixture(scope="module")
def population() -> Population:
    return population_of(pt.datasets.adult(split="train"), response="income", protected=("gender", "race"))


@pytest.fixture(scope="module")
def found(population: Population) -> dict[str, np.ndarray]:
    even = population.counts.sum(axis=1, keepdims=True) * [0.75, 0.25]
    tables = np.stack([population.counts, even]) / population.counts.sum()
    return dict(Learning(population, tables, population, 30_000)(np.random.default_rng(0)))


def test_learning__synthetic_data_are_near_their_distribution(population, found) -> None:
    expected = np.stack([conditionals(population, population.counts)[1], np.full(4, 0.25)])
    assert found["synthetic"] == pytest.approx(expected, abs=0.03)  # a standard error is at most 0.008
    assert (found["synthetic"] != expected).mean() > 0.8


def test_learning__forests_give_the_chances_of_their_data(found) -> None:
    assert found["forest"] == pytest.approx(found["synthetic"], abs=0.03)
    assert np.ptp(found["forest"][0]) > 0.2
    assert np.ptp(found["forest"][1]) < 0.05


@pytest.mark.parametrize("response", [0, 1])
def test_learning__of_data_with_one_response_only(population, response) -> None:
    table = np.zeros((1, *population.counts.shape))
    table[0, :, response] = population.counts.sum(axis=1) / population.counts.sum()
    found = Learning(population, table, population, 1000)(np.random.default_rng(0))
    assert found["forest"].tolist() == [[float(response)] * 4]


def test_learning__is_the_generator_s(population, found) -> None:
    even = population.counts.sum(axis=1, keepdims=True) * [0.75, 0.25]
    tables = np.stack([population.counts, even]) / population.counts.sum()
    learning = Learning(population, tables, population, 30_000)
    again, other = learning(np.random.default_rng(0)), learning(np.random.default_rng(1))
    for name, values in found.items():
        assert np.array_equal(values, again[name])
        assert not np.array_equal(values, other[name])


def test_predictors__tell_profiles_apart(population) -> None:
    features = predictors(population)
    assert features.shape == (len(population.counts), 5)
    assert len(np.unique(features, axis=0)) == len(features)
