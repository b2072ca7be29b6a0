"""PUR in its forms: as natural classifiers, as decisions, and as weights for models of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from purtensor._typing import FloatArray, Table
from purtensor.fairness.decisions import decide
from purtensor.fairness.pur import pur
from purtensor.fairness.smoothing import smooth
from purtensor.projection.project import project
from purtensor.studies.fair_methods.measures import Answer
from purtensor.studies.fair_methods.split import Split
from purtensor.studies.forests import FOREST, predictors
from purtensor.studies.population import predicted
from purtensor.tables.regularize import regularize, uniform

Method = Callable[[Split], Answer]
"""Learns from the train people of a split."""

# the paper's lambda
STRENGTH = 1e-4
PROJECTIONS = {"P": ("P", False), "PU": ("PU", False), "PUR": ("PUR", False), "MaxEnt-PUR": ("PUR", True)}
"""By name: the conditions, and whether the reference is uniform."""


def natural(name: str) -> Method:
    """Return the natural classifier of f ("") or of one of its projections, by name."""

    def learn(split: Split) -> Answer:
        f = regularize(split.train, STRENGTH, response=split.population.roles.response)
        return Answer(_conditional(projected(split, f, name) if name else f, split))

    return learn


def natural_of_smoothed(split: Split) -> Answer:
    """Learn the natural classifier of the PUR projection of a smoothed reference."""
    return Answer(_conditional(_smoothed_projection(split), split))


def fair_decisions(split: Split) -> Answer:
    """Learn the fair decisions of the PUR projection of a smoothed reference, at the rate of the train people."""
    roles = split.population.roles
    q = _smoothed_projection(split)
    rule = decide(q, split.train, response=roles.response, protected=roles.protected).table
    return Answer(_conditional(q, split), _conditional(rule, split))


def weighted_regression(name: str) -> Method:
    """Return a logistic regression on the training data, weighted by a projection over f, or unweighted for ""."""

    def learn(split: Split) -> Answer:
        return Answer(regression(split, split.learned * _ratio(split, name)))

    return learn


def weighted_forest(name: str) -> Method:
    """Return a random forest on the individual training data, weighted in the same way."""

    def learn(split: Split) -> Answer:
        profile, response = split.rows(split.learned)
        codes = predictors(split.population)
        weights = (np.ones_like(split.learned) * _ratio(split, name))[profile, response]
        forest = RandomForestClassifier(**FOREST, random_state=split.seed)
        forest.fit(codes[profile], response, sample_weight=weights)
        return Answer(_over_all(forest.predict_proba(codes), forest.classes_, split))

    return learn


def regression(split: Split, weights: FloatArray, columns: FloatArray | None = None) -> FloatArray:
    """Return what a logistic regression, learned from people of given weights, predicts for each profile.

    Parameters
    ----------
    weights
        Shape (predictor profiles, responses).
    columns
        A row per predictor profile; those of the split when None.
    """
    known = split.columns if columns is None else columns
    profile, response = np.nonzero(weights)
    model = LogisticRegression(max_iter=1000)
    model.fit(known[profile], response, sample_weight=weights[profile, response])
    return _over_all(model.predict_proba(known), model.classes_, split)


def projected(split: Split, f: Table, name: str) -> Table:
    """Return a projection of f by its name."""
    conditions, from_uniform = PROJECTIONS[name]
    roles = split.population.roles
    constraints = pur(f, response=roles.response, protected=roles.protected, conditions=conditions)
    return project(uniform(f) if from_uniform else f, constraints).table


def _smoothed_projection(split: Split) -> Table:
    roles = split.population.roles
    f = smooth(split.train, response=roles.response, protected=roles.protected, seed=split.seed).table
    return projected(split, f, "PUR")


def _ratio(split: Split, name: str) -> FloatArray | float:
    """Return q / f for each profile; 1 where there is no f."""
    if not name:
        return 1.0
    f = regularize(split.train, STRENGTH, response=split.population.roles.response)
    q, of_f = split.matrix(projected(split, f, name)), split.matrix(f)
    return np.where(of_f > 0, q / np.where(of_f > 0, of_f, 1.0), 1.0)


def _conditional(q: Table, split: Split) -> FloatArray:
    """Return q(y | s, x) for each predictor profile; q(y) where q has none."""
    chances, _ = predicted(split.matrix(q), np.ones(len(split.population.protected)))
    return chances


def _over_all(chances: FloatArray, classes: FloatArray, split: Split) -> FloatArray:
    """Return probabilities with a column for every response, also those that were not learned."""
    found = np.zeros((len(chances), split.population.responses))
    found[:, classes.astype(np.int64)] = chances
    return found
