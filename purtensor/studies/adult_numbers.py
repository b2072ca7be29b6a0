"""The numbers of the Adult study as tidy frames, decisions taken from its distributions among them."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, Table
from purtensor.datasets.uci_adult import adult
from purtensor.fairness.decisions import RULES, decide
from purtensor.fairness.predict import predict
from purtensor.fairness.rates import accuracy, rates_by_group, smallest_ratios
from purtensor.studies.adult_study import POSITIVE, RESPONSE, ROLES, AdultStudy, ratios
from purtensor.studies.population import UNSEEN, conditionals, population_of, shares_of
from purtensor.studies.projections import DATA
from purtensor.tables.marginal import marginal


def disparities(study: AdultStudy) -> pd.DataFrame:
    """Return all disparity ratios, one per row."""
    return pd.DataFrame([asdict(row) for row in study.disparities])


def costs(study: AdultStudy) -> pd.DataFrame:
    """Return what each projection costs and how well it is solved, one per row."""
    return pd.DataFrame([asdict(row) for row in study.costs])


def prevalences(study: AdultStudy) -> pd.DataFrame:
    """Return the share of people in each category of each attribute, of both splits together and of each.

    Returns
    -------
    pandas.DataFrame
        `attribute`, `category`; `share`, of all people, as the paper shows it; `share_train`, `share_test`.
    """
    shares = [shares_of(table).set_index(["attribute", "category"])["share"] for table in data_of(study).values()]
    together = pd.concat(shares, axis=1, keys=["share", "share_train", "share_test"]).fillna(0.0)
    return together.reset_index()


def data_of(study: AdultStudy) -> dict[str, Table]:
    """Return the counts of all people, and of the two splits."""
    return {"all": adult(), "train": study.train, "test": study.test}


def data_ratios(study: AdultStudy) -> pd.DataFrame:
    """Return the disparity ratios of the data, a row per group: of all people, and of each split."""
    found = {name: ratios(table) for name, table in data_of(study).items()}
    rows = [
        {"group": ", ".join(group), **{name: of_groups[group] for name, of_groups in found.items()}}
        for group in study.groups
    ]
    return pd.DataFrame(rows)


def ratios_of(study: AdultStudy, distribution: str, sample: str) -> tuple[FloatArray, FloatArray]:
    """Return the disparity ratios of one distribution in one sample, and their deviations (NaN where there are none).

    In the order of the study's groups.
    """
    found = {(d.gender, d.race): d for d in study.disparities if (d.distribution, d.sample) == (distribution, sample)}
    own = [found[gender, race] for gender, race in study.groups]
    return np.array([d.ratio for d in own]), np.array([np.nan if d.deviation is None else d.deviation for d in own])


def by_unseen_rule(study: AdultStudy) -> pd.DataFrame:
    """Return the ratios on the test split by each rule for people whose predictor profile was not trained on.

    Returns
    -------
    pandas.DataFrame
        A row a distribution and group: the ratio where they are predicted by q(y), where they are left out, and the
        `difference`.
    """
    rows = []
    for name, table in study.distributions.items():
        predicted, kept = (ratios(predict(table, study.test, response=RESPONSE, unseen=rule)) for rule in UNSEEN)
        rows += [(name, ", ".join(group), predicted[group], kept[group]) for group in study.groups]
    frame = pd.DataFrame(rows, columns=["distribution", "group", "predicted by q(y)", "left out"])
    return frame.assign(difference=frame["predicted by q(y)"] - frame["left out"])


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
            decided = decide(study.distributions[name], study.distributions[DATA], **ROLES, rule=rule).table
            people = predict(decided, study.test, response=RESPONSE, unseen="marginal")
            rates = rates_by_group(people, **ROLES)
            rows.append(
                {
                    "distribution": name,
                    "rule": rule,
                    **{str(group): float(share) for group, share in rates[POSITIVE].items()},
                    "smallest / largest": float(smallest_ratios(rates)[POSITIVE]),
                    "accuracy": accuracy(decided, study.test, response=RESPONSE),
                    "median ratio when drawn": ratio_of_draws(people, study.seed),
                }
            )
    return pd.DataFrame(rows)


def ratio_of_draws(decisions: Table, seed: int) -> float:
    """Return the median over sets of draws of the smallest share of a group over the largest.

    `decisions` has for each (s, x) the mean number of people with each decision: people of one profile decide alone, so
    that the number of those who get the positive one is binomial.
    """
    people = population_of(decisions, **ROLES)
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
    groups = rates_by_group(study.test, **ROLES).index
    return {
        "distribution": "",
        "rule": "no to everybody",
        **dict.fromkeys(map(str, groups), 0.0),
        "smallest / largest": float("nan"),
        "accuracy": float(1.0 - responses[POSITIVE] / responses.sum()),
        "median ratio when drawn": float("nan"),
    }
