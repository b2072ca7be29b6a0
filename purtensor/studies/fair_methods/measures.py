"""What predictions and decisions are judged by, on people whose response is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from purtensor._typing import FloatArray
from purtensor.studies.fair_methods.split import Split
from purtensor.studies.population import Population, conditionals, utility_divergence

MEASURES = {
    "log_loss": "mean of -log of the probability of what was the case, in nats",
    "auc": "area under the curve; of more than two responses the mean over them",
    "gap": "largest difference of two groups' mean probabilities of a response",
    "gap_train": "the same for the people that were learned from",
    "decision_gap": "the same of decisions: the likeliest response, or what the method decides itself",
    "accuracy": "share of the decisions that agree with the response",
    "utility_error": "divergence of test people from the prediction, in the (response, unprotected) marginal, in nats",
    "seconds": "processor time of learning, the median over the divisions",
}
"""The columns of a comparison, and their meaning."""


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


def measured(answer: Answer, split: Split) -> dict[str, float]:
    """Return the measures of an answer except its time; NaN for measures of probabilities without probabilities."""
    people, test = split.judged.sum(axis=1), split.judged
    found = dict.fromkeys(MEASURES, float("nan"))
    chances = answer.probabilities
    if chances is not None:
        found["log_loss"] = _log_loss(chances, test)
        found["auc"] = _auc(chances, split)
        found["gap"] = gap(split.population, people[:, None] * chances)
        found["gap_train"] = gap(split.population, split.learned.sum(axis=1)[:, None] * chances)
        found["utility_error"] = utility_divergence(split.population, test, people[:, None] * chances)
    decisions = answer.decisions if chances is None or answer.decisions is not None else likeliest(chances)
    if decisions is not None:
        found["decision_gap"] = gap(split.population, people[:, None] * decisions)
        found["accuracy"] = float((decisions * test).sum() / test.sum())
    return found


def gap(population: Population, masses: FloatArray) -> float:
    """Return the largest difference between groups in p(y | s)."""
    rates = conditionals(population, masses)
    return float(np.nanmax(np.nanmax(rates, axis=1) - np.nanmin(rates, axis=1)))


def likeliest(chances: FloatArray) -> FloatArray:
    """Return the most likely response of each profile as decisions; the first of several."""
    return np.asarray(np.eye(chances.shape[1])[chances.argmax(axis=1)])


def _log_loss(chances: FloatArray, test: FloatArray) -> float:
    some = test > 0
    # as scikit-learn has it: a chance of 0 counts as the smallest step of float64, or one tree could make all infinite
    told = np.maximum(chances[some], np.finfo(np.float64).eps)
    return float(-(test[some] * np.log(told)).sum() / test.sum())


def _auc(chances: FloatArray, split: Split) -> float:
    """Return how often someone with a response has a higher probability of it than someone without."""
    test = split.judged
    found = []
    # of two responses one: the other has the same area
    for y in range(test.shape[1]) if test.shape[1] > 2 else (1,):
        weights = np.concatenate([test[:, y], test.sum(axis=1) - test[:, y]])
        truth = np.repeat([1, 0], len(test))
        kept = weights > 0
        if len(np.unique(truth[kept])) == 2:
            scores = np.tile(chances[:, y], 2)
            found.append(float(roc_auc_score(truth[kept], scores[kept], sample_weight=weights[kept])))
    return float(np.mean(found)) if found else float("nan")
