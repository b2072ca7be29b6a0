"""A division of people into those that a method learns from and those that it is judged by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import purtensor as pt
from purtensor._typing import BoolArray, FloatArray, IntArray, Table
from purtensor.studies.forests import predictors
from purtensor.studies.population import Population, population_of
from purtensor.tables.coded import encode
from purtensor.tables.translate import find_profiles, translate_codes

# how many of the people are learned from, as of UCI's own split of Adult
TRAIN_SHARE = 2 / 3


@dataclass(frozen=True)
class Split:
    """One division, as tables and as arrays over the predictor profiles of all people.

    Attributes
    ----------
    population
        Of all people.
    train, test
        Counts, over the attributes of all.
    seed
        For methods that draw.
    """

    population: Population
    train: Table
    test: Table
    seed: int

    @cached_property
    def learned(self) -> FloatArray:
        """The train people, shape (predictor profiles, responses)."""
        return self.matrix(self.train)

    @cached_property
    def judged(self) -> FloatArray:
        """The test people, in the same shape."""
        return self.matrix(self.test)

    @cached_property
    def columns(self) -> FloatArray:
        """A 0-1 column for each category of each predictor, shape (predictor profiles, columns)."""
        codes = predictors(self.population).astype(np.int64)
        return np.concatenate([np.eye(int(column.max()) + 1)[column] for column in codes.T], axis=1)

    @property
    def is_protected(self) -> BoolArray:
        """Which columns of `columns` are of protected attributes."""
        codes = predictors(self.population)
        protected = len(self.population.roles.protected)
        return np.concatenate([np.full(int(c.max()) + 1, i < protected) for i, c in enumerate(codes.T)])

    @cached_property
    def everybody(self) -> IntArray:
        """The predictor profile of each person, of those learned from and of the others."""
        return self.rows(self.learned + self.judged)[0]

    @property
    def roles(self) -> dict[str, Any]:
        """The response and the protected attributes, as functions take them."""
        return {"response": self.population.roles.response, "protected": self.population.roles.protected}

    def rows(self, counts: FloatArray) -> tuple[IntArray, IntArray]:
        """Return people of counts one by one: the predictor profile and the response of each."""
        people = np.repeat(np.arange(counts.size), np.rint(counts.reshape(-1)).astype(np.int64))
        profile, response = np.divmod(people, counts.shape[1])
        return profile, response

    def matrix(self, table: Table) -> FloatArray:
        """Return a table in the shape of `learned`; it has no other profiles than the population."""
        coded = encode(table, allow_empty=True)
        population = self.population
        names = (*population.roles.protected, *population.roles.unprotected)
        codes = translate_codes(coded, population.domain.select((population.roles.response, *names)))
        own = [
            *(code[population.protected] for code in population.protected_codes),
            *(code[population.unprotected] for code in population.unprotected_codes),
        ]
        found = np.zeros((len(population.protected), population.responses))
        found[find_profiles(own, codes[1:]), codes[0]] = coded.values
        return found


def splits(counts: Table, *, response: str, protected: tuple[str, ...], times: int, seed: int) -> Iterator[Split]:
    """Yield random divisions of counts of individuals, the n-th of the n-th child of the seed."""
    population = population_of(counts, response=response, protected=protected)
    for child in np.random.SeedSequence(seed).spawn(times):
        rng = np.random.default_rng(child)
        train = pt.sample_without_replacement(counts, round(TRAIN_SHARE * float(counts.sum())), seed=rng)
        # scikit-learn takes seeds of up to 32 bits
        yield Split(population, train, counts - train, int(rng.integers(2**31)))
