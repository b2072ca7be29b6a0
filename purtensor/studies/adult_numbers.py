"""The numbers of the Adult study as tidy frames."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, Table
from purtensor.datasets.uci_adult import adult
from purtensor.fairness.predict import predict
from purtensor.studies.adult_question import RESPONSE, ratios
from purtensor.studies.adult_study import AdultStudy
from purtensor.studies.population import UNSEEN
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
    data = data_of(study)
    rows = []
    for attribute in study.train.indexes["profile"].names:
        shares = [marginal(table, (str(attribute),)).to_series() / float(table.sum()) for table in data.values()]
        together = pd.concat(shares, axis=1, keys=list(data)).fillna(0.0)
        labels = [label[0] if isinstance(label, tuple) else label for label in together.index.tolist()]
        rows += [
            (attribute, str(label), *values) for label, values in zip(labels, together.to_numpy().tolist(), strict=True)
        ]
    return pd.DataFrame(rows, columns=["attribute", "category", "share", "share_train", "share_test"])


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
    told = [found[gender, race] for gender, race in study.groups]
    return np.array([d.ratio for d in told]), np.array([np.nan if d.deviation is None else d.deviation for d in told])


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
    told = pd.DataFrame(rows, columns=["distribution", "group", "predicted by q(y)", "left out"])
    return told.assign(difference=told["predicted by q(y)"] - told["left out"])
