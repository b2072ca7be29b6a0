"""Other packages' ways to parity, each as its documentation has it, with a logistic regression where a model is due."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from purtensor._typing import FloatArray, IntArray
from purtensor.comparison.plain import NotApplicableError
from purtensor.studies.fair_methods.measures import Answer
from purtensor.studies.fair_methods.own import regression
from purtensor.studies.fair_methods.split import Split

DIFFERENCE_BOUND = 0.01
"""How much parity the reductions approach may leave."""


def correlation_remover(split: Split) -> Answer:
    """Learn from columns whose correlation with the groups is removed (fairlearn)."""
    # the first column is one minus the others
    group = _groups(split)[:, 1:]
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
    group = split.population.protected
    model.fit(split.columns[profile], response, sensitive_features=group[profile])
    everybody, _ = split.rows(split.learned + split.judged)
    decided = model.predict(split.columns[everybody], sensitive_features=group[everybody], random_state=split.seed)
    return Answer(decisions=_shares(split, everybody, np.asarray(decided, dtype=np.float64)))


def exponentiated_gradient(split: Split) -> Answer:
    """Learn a mixture of models by the reductions approach, with parity of decisions (fairlearn)."""
    _require_two(split)
    profile, response = split.rows(split.learned)
    reductions = import_module("fairlearn.reductions")
    parity = reductions.DemographicParity(difference_bound=DIFFERENCE_BOUND)
    model = reductions.ExponentiatedGradient(LogisticRegression(max_iter=1000), parity)
    model.fit(split.columns[profile], response, sensitive_features=split.population.protected[profile])
    everybody, _ = split.rows(split.learned + split.judged)
    decided = model.predict(split.columns[everybody], random_state=split.seed)
    return Answer(decisions=_shares(split, everybody, np.asarray(decided, dtype=np.float64)))


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
    everybody, _ = split.rows(split.learned + split.judged)
    method = import_module("equipy.fairness").MultiWasserstein()
    method.fit(scores[known], groups.iloc[known].reset_index(drop=True))
    moved = method.transform(scores[everybody], groups.iloc[everybody].reset_index(drop=True))
    return Answer(_shares(split, everybody, np.clip(np.asarray(moved, dtype=np.float64), 0.0, 1.0)))


def _groups(split: Split) -> FloatArray:
    """Return a 0-1 column for each protected profile."""
    return np.eye(len(split.population.protected_codes[0]))[split.population.protected]


def _shares(split: Split, profile: IntArray, positive: FloatArray) -> FloatArray:
    """Return for each predictor profile the mean of what its people got; 0 for those without people."""
    people = np.bincount(profile, minlength=len(split.population.protected))
    mean = np.bincount(profile, positive, len(people)) / np.maximum(people, 1)
    return np.stack([1.0 - mean, mean], axis=1)


def _require_two(split: Split) -> None:
    if split.population.responses != 2:
        raise NotApplicableError(f"it needs two responses, got {split.population.responses}")
