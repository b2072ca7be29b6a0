"""Decisions taken from the study's distributions: how often each group gets them, and how often they are right."""

from __future__ import annotations

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, Table
from purtensor.fairness.decisions import RULES, decide
from purtensor.fairness.predict import predict
from purtensor.fairness.rates import accuracy, rates_by_group, smallest_ratios
from purtensor.studies.adult_question import DATA, POSITIVE, PROTECTED, RESPONSE
from purtensor.studies.adult_study import AdultStudy
from purtensor.studies.population import conditionals, population_of
from purtensor.tables.marginal import marginal

SEEDS = 500
"""Number of sets of draws that estimate the chance differences between groups."""


def decision_rates(study: AdultStudy) -> pd.DataFrame:
    """Return each rule's decisions on the test split, a row a distribution and rule.

    Returns
    -------
    pandas.DataFrame
        `distribution`, `rule`; the share of each group that is decided to earn >50K, on average where it is drawn;
        `smallest / largest` of these shares; `accuracy`; and `median ratio when drawn`: the median, over sets of
        independent draws, of the smallest share over the largest.
    """
    rows = [_constant(study)]
    for name in (DATA, "PUR"):
        for rule in RULES:
            decided = decide(
                study.distributions[name], study.distributions[DATA], response=RESPONSE, protected=PROTECTED, rule=rule
            ).table
            told = predict(decided, study.test, response=RESPONSE, unseen="marginal")
            rates = rates_by_group(told, response=RESPONSE, protected=PROTECTED)
            rows.append(
                {
                    "distribution": name,
                    "rule": rule,
                    **{str(group): float(share) for group, share in rates[POSITIVE].items()},
                    "smallest / largest": float(smallest_ratios(rates)[POSITIVE]),
                    "accuracy": accuracy(decided, study.test, response=RESPONSE),
                    "median ratio when drawn": drawn_ratio(told, study.seed),
                }
            )
    return pd.DataFrame(rows)


def drawn_ratio(told: Table, seed: int) -> float:
    """Return the median over sets of draws of the smallest share of a group over the largest.

    `told` has for each (s, x) the mean number of people with each decision: people of one profile decide alone, so
    that the number of those who get the positive one is binomial.
    """
    people = population_of(told, response=RESPONSE, protected=PROTECTED)
    total = people.counts.sum(axis=1)
    chance = people.counts[:, people.response_categories.index(POSITIVE)] / total
    rng = np.random.default_rng(seed)
    found: list[float] = []
    for _ in range(SEEDS):
        yes = rng.binomial(np.rint(total).astype(np.int64), np.clip(chance, 0.0, 1.0))
        shares: FloatArray = conditionals(people, np.stack([total - yes, yes], axis=1))[1]
        found.append(float(shares.min() / shares.max()))
    return float(np.median(found))


def _constant(study: AdultStudy) -> dict[str, object]:
    """Return the row of saying no to everybody, which is what accuracy is to be compared with."""
    responses = marginal(study.test, RESPONSE).to_series()
    groups = rates_by_group(study.test, response=RESPONSE, protected=PROTECTED).index
    return {
        "distribution": "",
        "rule": "no to everybody",
        **dict.fromkeys(map(str, groups), 0.0),
        "smallest / largest": float("nan"),
        "accuracy": float(1.0 - responses[POSITIVE] / responses.sum()),
        "median ratio when drawn": float("nan"),
    }
