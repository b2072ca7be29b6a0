"""Array versions against the labelled functions that they stand in for."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.studies.population import (
    Population,
    conditionals,
    population_of,
    predict_natural,
    regularize_counts,
    sum_rows,
    utility_divergence,
)
from purtensor.tables.coded import encode

RESPONSE, PROTECTED = "income", ("gender", "race")


@pytest.fixture(scope="module")
def train() -> pt.Marginal:
    return pt.datasets.adult(split="train")


@pytest.fixture(scope="module")
def population(train) -> Population:
    return population_of(train, response=RESPONSE, protected=PROTECTED)


def as_matrix(population: Population, table) -> np.ndarray:
    """The masses of a table at the population's cells, through labels alone."""
    roles, domain = population.roles, population.domain
    names = (*roles.protected, *roles.unprotected)
    values = table.to_series().reorder_levels([*names, roles.response]).to_dict()
    rows = []
    for s, x in zip(population.protected, population.unprotected):
        codes = [code[s] for code in population.protected_codes] + [code[x] for code in population.unprotected_codes]
        profile = [domain.select((name,)).categories[0][code] for name, code in zip(names, codes)]
        rows.append([values.get((*profile, y), 0.0) for y in domain.select((roles.response,)).categories[0]])
    return np.array(rows)


def test_population_of__holds_every_count_in_its_place(train, population) -> None:
    assert np.array_equal(population.counts, as_matrix(population, train))
    assert population.counts.sum() == float(train.sum())
    assert (np.diff(population.unprotected) >= 0).all()


def test_population_of__groups_are_the_protected_profiles(population) -> None:
    assert set(population.groups) == {(g, r) for g in ("female", "male") for r in ("white", "non-white")}
    assert population.response_categories == ["<=50K", ">50K"]


def test_population_of__without_unprotected_attributes_has_one_slab() -> None:
    people = pt.tabulate({"y": [0, 1, 1], "s": ["f", "f", "m"]})
    alone = population_of(people, response="y", protected=("s",))
    assert alone.unprotected.tolist() == [0, 0]
    assert alone.counts.tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize("strength", [0.0, 1e-4, 2.0])
def test_regularize_counts__is_regularize(train, population, strength: float) -> None:
    expected = as_matrix(population, pt.regularize(train, strength, response=RESPONSE))
    assert regularize_counts(population.counts, strength) == pytest.approx(expected, rel=1e-14)


def test_regularize_counts__leaves_out_responses_and_profiles_that_were_not_observed() -> None:
    masses = regularize_counts(np.array([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), 0.5)
    assert np.array_equal(masses > 0, [[True, False, True], [False] * 3, [True, False, True]])
    assert masses.sum() == pytest.approx(1.0)


def test_predict_natural__is_predict_with_unseen_by_the_marginal(train, population) -> None:
    q = population.counts / population.counts.sum()
    q[3] = 0.0  # a predictor profile that q never saw
    people = population.counts.sum(axis=1) * np.linspace(1, 2, len(population.counts))
    prediction, unseen = predict_natural(q, people)
    labels = as_labels(population, train, q)
    expected = pt.predict(
        labels, as_labels(population, train, people[:, None] * [0.5, 0.5]), response=RESPONSE, unseen="marginal"
    )
    assert prediction == pytest.approx(as_matrix(population, expected), rel=1e-12)
    assert np.flatnonzero(unseen).tolist() == [3]
    assert people[3] == pytest.approx(expected.attrs["unseen_mass"])


def as_labels(population: Population, template, matrix: np.ndarray):
    """A table with the template's labels and the matrix's masses."""
    everything = pt.regularize(template, 1.0, response=RESPONSE)
    cells = as_matrix(population, everything.copy(data=np.arange(1.0, everything.size + 1)))
    values = np.zeros(everything.size)
    values[cells.astype(int).ravel() - 1] = matrix.ravel()
    return everything.copy(data=values)


def test_conditionals__are_those_of_the_labelled_disparity(train, population) -> None:
    told = conditionals(population, population.counts)
    at = population.groups.index(("male", "white"))
    disparity = pt.attributable_disparity(
        train, response=RESPONSE, protected=PROTECTED, reference={"gender": "male", "race": "white"}
    )
    for y, response in enumerate(population.response_categories):
        for s, (gender, race) in enumerate(population.groups):
            expected = disparity.sel(income=response, gender=gender, race=race).item()
            assert told[y, s] - told[y, at] == pytest.approx(expected, abs=1e-14)


def test_conditionals__of_an_empty_group_are_nan(population) -> None:
    counts = population.counts.copy()
    counts[population.protected == 2] = 0
    told = conditionals(population, counts)
    assert np.isnan(told[:, 2]).all()
    assert np.isfinite(np.delete(told, 2, axis=1)).all()


def test_utility_divergence__is_utility_error(train, population) -> None:
    test = pt.datasets.adult(split="test")
    prediction = pt.regularize(train, 5.0, response=RESPONSE)
    told = utility_divergence(population, as_matrix(population, test), as_matrix(population, prediction))
    seen = as_labels(population, train, as_matrix(population, test))  # one test person is on an unseen profile
    assert told == pytest.approx(pt.utility_error(seen, prediction, response=RESPONSE, protected=PROTECTED), rel=1e-9)


def test_utility_divergence__is_infinite_without_support(population) -> None:
    nothing = population.counts * (population.unprotected != 0)[:, None]
    assert utility_divergence(population, population.counts, nothing) == np.inf


def test_sum_rows__adds_rows_of_the_same_number() -> None:
    assert sum_rows(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([1, 0, 1]), 3).tolist() == [
        [3, 4],
        [6, 8],
        [0, 0],
    ]


def test_population_of__is_in_the_domain_of_the_table(train, population) -> None:
    assert population.domain.attributes == encode(train).domain.attributes
