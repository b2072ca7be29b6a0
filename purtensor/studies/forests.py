"""Data sets generated from distributions, and random forests trained on them that predict for other people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from purtensor._typing import FloatArray, IntArray
from purtensor.sampling.draw import multinomial
from purtensor.studies.members import Member
from purtensor.studies.population import Population, conditionals

# the parameters of every forest; the categories go in as their codes, a record a row
FOREST: Mapping[str, Any] = MappingProxyType(
    {"n_estimators": 10, "min_samples_leaf": 10, "max_features": "sqrt", "criterion": "gini", "bootstrap": True}
)


@dataclass(frozen=True, slots=True, eq=False)
class Learning:
    """How members are made: a data set from each distribution, and a forest trained on each data set.

    Attributes
    ----------
    population
        The profiles of the distributions; the response has two categories.
    distributions
        Shape (distributions, predictor profiles, responses).
    test
        The people that the forests predict for, over the same attributes.
    size
        How many people a data set has.
    """

    population: Population
    distributions: FloatArray
    test: Population
    size: int

    def __call__(self, rng: np.random.Generator) -> Member:
        """Return what one member found, arrays of shape (distributions, protected profiles).

        `synthetic` is p(y | s) of the generated data, and `forest` the mean probability that the forest gives to the
        test people of s, y being the second response. Decisions at 1/2 are not compared: few people reach it, after
        PUR hardly anybody, and a ratio of such shares says nothing.
        """
        found: dict[str, list[FloatArray]] = {"synthetic": [], "forest": []}
        known, people = predictors(self.test), self.test.counts.sum(axis=1)
        for distribution in self.distributions:
            data = self._draw(distribution, rng)
            found["synthetic"].append(conditionals(self.population, data)[1])
            forest = self._train(data, rng)
            chances = np.zeros((len(known), data.shape[1]))
            chances[:, forest.classes_] = forest.predict_proba(known)  # no column for what the data do not have
            found["forest"].append(conditionals(self.test, people[:, None] * chances)[1])
        return {name: np.stack(values) for name, values in found.items()}

    def _draw(self, distribution: FloatArray, rng: np.random.Generator) -> FloatArray:
        cells = np.flatnonzero(distribution)
        data = np.zeros(distribution.size)
        data[cells] = multinomial(distribution.reshape(-1)[cells], self.size, rng)
        return data.reshape(distribution.shape)

    def _train(self, data: FloatArray, rng: np.random.Generator) -> Any:
        record, y = np.divmod(np.repeat(np.arange(data.size), data.reshape(-1).astype(np.int64)), data.shape[1])
        forest = RandomForestClassifier(**FOREST, random_state=int(rng.integers(2**32)))
        return forest.fit(predictors(self.population)[record], y)


def predictors(population: Population) -> FloatArray:
    """Return the category codes of the predictor profiles as forests take them, a column per attribute.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.studies.population import population_of
    >>> people = pt.tabulate({"hired": ["no", "yes"], "sex": ["f", "m"], "age": ["old", "old"]})
    >>> predictors(population_of(people, response="hired", protected=("sex",))).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    columns: list[IntArray] = [
        *(code[population.protected] for code in population.protected_codes),
        *(code[population.unprotected] for code in population.unprotected_codes),
    ]
    # the type that scikit-learn's trees work in; codes are exact in it
    return np.stack(columns, axis=1).astype(np.float32)
