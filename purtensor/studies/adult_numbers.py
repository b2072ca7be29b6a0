"""The numbers of the Adult study as tidy frames, decisions taken from its distributions among them."""

from __future__ import annotations

import numpy as np
import pandas as pd

import purtensor as pt
from purtensor._typing import FloatArray, Profile, Table
from purtensor.fairness.decisions import RULES, decide
from purtensor.fairness.rates import accuracy, rates_by_group, smallest_ratios
from purtensor.studies.adult_study import POSITIVE, RESPONSE, ROLES, AdultStudy, ratios
from purtensor.studies.members import describe_failures
from purtensor.studies.population import UNSEEN, conditionals, population_of, shares_of
from purtensor.studies.projections import DATA
from purtensor.tables.coded import encode


def frames(study: AdultStudy) -> dict[str, pd.DataFrame]:
    """Return the numbers of all figures and tables by name, one observation per row."""
    return {
        "disparities": study.disparities,
        "costs": study.costs,
        "prevalences": prevalences(study),
        "decisions": decision_rates(study),
        "by_unseen_rule": by_unseen_rule(study),
        "data_ratios": data_ratios(study),
    }


def facts(study: AdultStudy) -> dict[str, str]:
    """Return what was computed from what."""
    coded = encode(study.distributions[DATA])
    washed_out = study.distributions[DATA].attrs["washed_out_share"]
    return {
        "persons": f"{float(study.train.sum()):,.0f} train, {float(study.test.sum()):,.0f} test",
        "profiles": f"{len(coded.values)} supported of {coded.domain.size}",
        "lambda": f"{study.strength:g}, washed out {washed_out:.3g} (lambda * profiles / N)",
        "unseen": f"{study.unseen_mass:.2e} of the test mass, on predictor profiles that are not in the train split: "
        f"{UNSEEN[study.unseen]}",
        "source": "UCI Adult (data set 2, CC BY 4.0), embedded; rows with a known workclass",
        **describe_failures(study.failures),
        "SHA-256 of counts and settings": study.identity,
    }


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
    return {"all": pt.datasets.adult(), "train": study.train, "test": study.test}


def data_ratios(study: AdultStudy) -> pd.DataFrame:
    """Return the disparity ratios of the data, a row per group: of all people, and of each split."""
    found = {name: ratios(table) for name, table in data_of(study).items()}
    return _by_group(study, found).rename_axis("group").reset_index()


def _by_group(study: AdultStudy, found: dict[str, dict[Profile, float]]) -> pd.DataFrame:
    names = pd.Index([", ".join(group) for group in study.groups])
    return pd.DataFrame(found).loc[list(study.groups)].set_axis(names)


def by_unseen_rule(study: AdultStudy) -> pd.DataFrame:
    """Return the ratios on the test split by each rule for people whose predictor profile was not trained on.

    Returns
    -------
    pandas.DataFrame
        A row a distribution and group: the ratio where they are predicted by q(y), where they are left out, and the
        `difference`.
    """
    frames = {}
    for name, table in study.distributions.items():
        rules = {
            text: ratios(pt.predict(table, study.test, response=RESPONSE, unseen=rule)) for rule, text in UNSEEN.items()
        }
        frames[name] = _by_group(study, rules)
    frame = pd.concat(frames, names=["distribution", "group"]).reset_index()
    return frame.assign(difference=frame["predicted by q(y)"] - frame["left out"])


# sets of draws that estimate the chance differences between groups
SEEDS = 500


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
            people = pt.predict(decided, study.test, response=RESPONSE, unseen="marginal")
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
    responses = pt.marginal(study.test, RESPONSE).to_series()
    groups = rates_by_group(study.test, **ROLES).index
    return {
        "distribution": "",
        "rule": "no to everybody",
        **dict.fromkeys(map(str, groups), 0.0),
        "smallest / largest": float("nan"),
        "accuracy": float(1.0 - responses[POSITIVE] / responses.sum()),
        "median ratio when drawn": float("nan"),
    }
