"""The numbers of the Adult study as tidy frames."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray
from purtensor.fairness.predict import predict
from purtensor.studies.adult_question import RESPONSE, ratios
from purtensor.studies.adult_study import AdultStudy
from purtensor.studies.population import UNSEEN
from purtensor.tables.marginal import marginal


def disparities(study: AdultStudy) -> pd.DataFrame:
    """Return all disparity ratios, one a row."""
    return pd.DataFrame([asdict(row) for row in study.disparities])


def costs(study: AdultStudy) -> pd.DataFrame:
    """Return what each projection costs and how well it is solved, one a row."""
    return pd.DataFrame([asdict(row) for row in study.costs])


def prevalences(study: AdultStudy) -> pd.DataFrame:
    """Return the share of people in each category of each attribute of the train split."""
    rows = []
    for attribute in study.train.indexes["profile"].names:
        shares = marginal(study.train, (str(attribute),)).to_series() / float(study.train.sum())
        labels = [label[0] if isinstance(label, tuple) else label for label in shares.index.tolist()]
        rows += [(attribute, str(label), share) for label, share in zip(labels, shares.tolist(), strict=True)]
    return pd.DataFrame(rows, columns=["attribute", "category", "share"])


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
