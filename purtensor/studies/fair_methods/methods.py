"""Ways to parity: PUR in its forms, and other packages' methods, each as its documentation has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import purtensor as pt
from purtensor._typing import FloatArray, Table
from purtensor.comparison.plain import NotApplicableError
from purtensor.studies.fair_methods.split import Split
from purtensor.studies.forests import FOREST, predictors
from purtensor.studies.population import predict_natural


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a method says, shape (predictor profiles, responses), rows of sum 1.

    Attributes
    ----------
    probabilities
        None where it only decides.
    decisions
        The share of the profile's people with each decision; the most likely response where None.
    """

    probabilities: FloatArray | None = None
    decisions: FloatArray | None = None


# learns from the train people of a split
Method = Callable[[Split], Answer]

# the paper's lambda
STRENGTH = 1e-4
# by name: the conditions, and whether the reference is uniform
PROJECTIONS = {"P": ("P", False), "PU": ("PU", False), "PUR": ("PUR", False), "MaxEnt-PUR": ("PUR", True)}


def natural(name: str) -> Method:
    """Return the natural classifier of f ("") or of one of its projections, by name."""

    def learn(split: Split) -> Answer:
        f = pt.regularize(split.train, STRENGTH, response=split.population.roles.response)
        return Answer(_conditional(project_onto(split, f, name) if name else f, split))

    return learn


def natural_of_smoothed(split: Split) -> Answer:
    """Learn the natural classifier of the PUR projection of a smoothed reference."""
    return Answer(_conditional(_project_smoothed(split), split))


def fair_decisions(split: Split) -> Answer:
    """Learn the fair decisions of the PUR projection of a smoothed reference, at the rate of the train people."""
    q = _project_smoothed(split)
    rule = pt.fairness.decide(q, split.train, **split.roles).table
    return Answer(_conditional(q, split), _conditional(rule, split))


def weight_regression(name: str) -> Method:
    """Return a logistic regression on the training data, weighted by a projection over f, or unweighted for ""."""

    def learn(split: Split) -> Answer:
        return Answer(regression(split, split.learned * _ratio(split, name)))

    return learn


def weight_forest(name: str) -> Method:
    """Return a random forest on the individual training data, weighted in the same way."""

    def learn(split: Split) -> Answer:
        profile, response = split.rows(split.learned)
        codes = predictors(split.population)
        weights = (np.ones_like(split.learned) * _ratio(split, name))[profile, response]
        forest = RandomForestClassifier(**FOREST, random_state=split.seed)
        forest.fit(codes[profile], response, sample_weight=weights)
        return Answer(_fill_responses(forest.predict_proba(codes), forest.classes_, split))

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
    return _fill_responses(model.predict_proba(known), model.classes_, split)


def project_onto(split: Split, f: Table, name: str) -> Table:
    """Return a projection of f by its name."""
    conditions, from_uniform = PROJECTIONS[name]
    constraints = pt.pur(f, **split.roles, conditions=conditions)
    return pt.project(pt.uniform(f) if from_uniform else f, constraints).table


def _project_smoothed(split: Split) -> Table:
    return project_onto(split, pt.fairness.smooth(split.train, **split.roles, seed=split.seed).table, "PUR")


def _ratio(split: Split, name: str) -> FloatArray | float:
    """Return q / f for each profile; 1 where there is no f."""
    if not name:
        return 1.0
    f = pt.regularize(split.train, STRENGTH, response=split.population.roles.response)
    q, of_f = split.matrix(project_onto(split, f, name)), split.matrix(f)
    return np.where(of_f > 0, q / np.where(of_f > 0, of_f, 1.0), 1.0)


def _conditional(q: Table, split: Split) -> FloatArray:
    """Return q(y | s, x) for each predictor profile; q(y) where q has none."""
    chances, _ = predict_natural(split.matrix(q), np.ones(len(split.population.protected)))
    return chances


def _fill_responses(chances: FloatArray, classes: FloatArray, split: Split) -> FloatArray:
    """Return probabilities with a column for every response, also those that were not learned."""
    found = np.zeros((len(chances), split.population.responses))
    found[:, classes.astype(np.int64)] = chances
    return found


# how much parity the reductions approach may leave
DIFFERENCE_BOUND = 0.01


def correlation_remover(split: Split) -> Answer:
    """Learn from columns whose correlation with the groups is removed (fairlearn)."""
    # the first column is one minus the others
    group = np.eye(len(split.population.groups))[split.population.protected][:, 1:]
    joint = np.concatenate([group, split.columns[:, ~split.is_protected]], axis=1)
    profile, _ = split.rows(split.learned)
    remover = import_module("fairlearn.preprocessing").CorrelationRemover(
        sensitive_feature_ids=list(range(group.shape[1]))
    )
    remover.fit(joint[profile])
    return Answer(regression(split, split.learned, remover.transform(joint)))


def threshold_optimizer(split: Split) -> Answer:
    """Learn a threshold for each group, with parity of decisions (fairlearn)."""
    _require_two(split)
    profile, response = split.rows(split.learned)
    model = import_module("fairlearn.postprocessing").ThresholdOptimizer(
        estimator=LogisticRegression(max_iter=1000), constraints="demographic_parity", predict_method="predict_proba"
    )
    group, seed = split.population.protected, split.seed
    model.fit(split.columns[profile], response, sensitive_features=group[profile])
    people = split.everybody
    return Answer(
        decisions=_share(
            split, model.predict(split.columns[people], sensitive_features=group[people], random_state=seed)
        )
    )


def reduce_by_gradient(split: Split) -> Answer:
    """Learn a mixture of models by the reductions approach, with parity of decisions (fairlearn)."""
    _require_two(split)
    profile, response = split.rows(split.learned)
    reductions = import_module("fairlearn.reductions")
    parity = reductions.DemographicParity(difference_bound=DIFFERENCE_BOUND)
    model = reductions.ExponentiatedGradient(LogisticRegression(max_iter=1000), parity)
    model.fit(split.columns[profile], response, sensitive_features=split.population.protected[profile])
    return Answer(decisions=_share(split, model.predict(split.columns[split.everybody], random_state=split.seed)))


def reweighing(split: Split) -> Answer:
    """Weigh people as Kamiran and Calders do, the group of the highest rate against all others (AIF360)."""
    _require_two(split)
    group = split.population.protected
    rates = np.bincount(group, split.learned[:, 1]) / np.bincount(group, split.learned.sum(axis=1))
    profile, response = split.rows(split.learned)
    frame = pd.DataFrame({"group": group[profile].astype(float), "y": response.astype(float)})
    data = import_module("aif360.datasets").BinaryLabelDataset(
        df=frame, label_names=["y"], protected_attribute_names=["group"]
    )
    best = int(np.argmax(rates))
    method = import_module("aif360.algorithms.preprocessing").Reweighing(
        unprivileged_groups=[{"group": float(g)} for g in range(len(rates)) if g != best],
        privileged_groups=[{"group": float(best)}],
    )
    weights = np.zeros_like(split.learned)
    np.add.at(weights, (profile, response), method.fit_transform(data).instance_weights)
    return Answer(regression(split, weights))


def barycentre(split: Split) -> Answer:
    """Move each group's scores to their common barycentre (equipy)."""
    _require_two(split)
    scores = regression(split, split.learned)[:, 1]
    codes = split.population.protected_codes
    groups = pd.DataFrame({f"s{i}": code[split.population.protected] for i, code in enumerate(codes)})
    known, _ = split.rows(split.learned)
    everybody = split.everybody
    method = import_module("equipy.fairness").MultiWasserstein()
    method.fit(scores[known], groups.iloc[known].reset_index(drop=True))
    moved = method.transform(scores[everybody], groups.iloc[everybody].reset_index(drop=True))
    return Answer(_share(split, np.clip(moved, 0.0, 1.0)))


def _share(split: Split, positive: Any) -> FloatArray:
    """Return for each predictor profile the mean of what its people, everybody, got; 0 for those without people."""
    people = np.bincount(split.everybody, minlength=len(split.population.protected))
    mean = np.bincount(split.everybody, np.asarray(positive, dtype=np.float64), len(people)) / np.maximum(people, 1)
    return np.stack([1.0 - mean, mean], axis=1)


def _require_two(split: Split) -> None:
    if split.population.responses != 2:
        raise NotApplicableError(f"it needs two responses, got {split.population.responses}")


# what is compared, by name
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "f, natural": natural(""),
        **{f"{name}, natural": natural(name) for name in PROJECTIONS},
        "PUR of smoothed f, natural": natural_of_smoothed,
        "PUR of smoothed f, fair decisions": fair_decisions,
        "logistic regression": weight_regression(""),
        **{f"{name}, weights for logistic regression": weight_regression(name) for name in PROJECTIONS},
        "forest": weight_forest(""),
        **{f"{name}, weights for forest": weight_forest(name) for name in PROJECTIONS},
        "fairlearn CorrelationRemover": correlation_remover,
        "fairlearn ThresholdOptimizer": threshold_optimizer,
        "fairlearn ExponentiatedGradient": reduce_by_gradient,
        "AIF360 Reweighing": reweighing,
        "equipy MultiWasserstein": barycentre,
    }
)
