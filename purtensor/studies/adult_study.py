"""The question of the Adult study, its options and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

import purtensor as pt
from purtensor._typing import FloatArray, Profile, Table
from purtensor.projection.executing import Failure
from purtensor.studies.projections import DATA, QUESTIONS

RESPONSE = "income"
PROTECTED = ("gender", "race")
ROLES: Mapping[str, Any] = MappingProxyType({"response": RESPONSE, "protected": PROTECTED})
# the protected profile that the others are compared with
REFERENCE: Mapping[str, str] = MappingProxyType({"gender": "male", "race": "white"})
# the response whose disparities are reported; the second of the two
POSITIVE = ">50K"

DISTRIBUTIONS = (DATA, *QUESTIONS)
# of generated data: the data themselves, and the probabilities that random forests trained on them give to the people
# of the test split
DRAWN = ("synthetic", "forest")
# where a disparity is measured: in the distribution itself, in what its natural classifier predicts on UCI's train or
# test split, or in data drawn from it
SAMPLES = ("itself", "train", "test", *DRAWN)


def ratios(table: Table) -> dict[Profile, float]:
    """Return p(>50K | s) / p(>50K | male, white) for each protected profile but the reference."""
    found: dict[Any, float] = pt.disparity_ratio(table, **ROLES, reference=REFERENCE).to_series()[POSITIVE].to_dict()
    return {tuple(group): ratio for group, ratio in found.items() if group != tuple(REFERENCE.values())}


@dataclass(frozen=True, slots=True, eq=False)
class AdultStudy:
    """The study, computed.

    Attributes
    ----------
    strength
        Lambda, of the regularization.
    train, test
        Counts of UCI's splits.
    distributions
        The regularized f and its projections, by name in the order of `DISTRIBUTIONS`; probabilities.
    projections
        Each projection with its evidence.
    disparities
        A row per `distribution`, `sample` (of `SAMPLES`) and protected profile: the `ratio`, of drawn data the mean
        over the data sets; its `deviation` over them; its `standard_error` by the delta method, what it would vary by
        if other people had been asked: in the distribution itself, and on the test split, where both splits vary; and
        of drawn data the `lowest` ratio and the `share_below` four fifths. NaN elsewhere.
    costs
        A row per `distribution`: its `divergence` from f; the divergence of the (income, unprotected) marginals of data
        and prediction, `utility_error_train` and `utility_error_test`, all in nats; and `residual`, `tv_bound` and
        `sweeps` of the projection, total mass 1.
    unseen_mass
        The mass of the test split on predictor profiles that training never saw.
    drawn_from, unseen
        What simulated splits are drawn from, and what happens to these people, as in `study_adult`.
    data_sets, seed
        How many data sets were generated from each distribution, from which seed.
    groups
        The protected profiles but the reference.
    noise
        For f, P, PU and PUR the standard deviation, over simulated training and test sets, of the ratio that the
        natural classifier predicts on test people, in the order of `groups`; empty without data sets.
    simulated_off
        The mean distances of the same ratios from 1.
    bootstrap
        For every distribution the bootstrap's standard errors of these ratios; empty without data sets.
    utility_noise
        The standard deviation of the utility error of f over the same sets, in nats.
    identity
        SHA-256 of the data and the settings that the drawn numbers depend on.
    failures
        Generated data sets and simulated splits that ended in an error, and are left out.
    """

    strength: float
    train: Table
    test: Table
    distributions: Mapping[str, Table]
    projections: Mapping[str, pt.Projection]
    disparities: pd.DataFrame
    costs: pd.DataFrame
    unseen_mass: float
    drawn_from: str
    unseen: str
    data_sets: int
    seed: int
    groups: tuple[tuple[str, ...], ...]
    noise: Mapping[str, FloatArray]
    simulated_off: Mapping[str, FloatArray]
    bootstrap: Mapping[str, FloatArray]
    utility_noise: float
    identity: str
    failures: tuple[Failure, ...] = ()

    def pick(self, sample: str, number: str = "ratio") -> pd.DataFrame:
        """Return a column of the disparities in one sample: a row per group, as text, a column per distribution."""
        own = self.disparities[self.disparities["sample"] == sample]
        wide = own.pivot(index=list(PROTECTED), columns="distribution", values=number)
        names = pd.Index([", ".join(group) for group in self.groups], name="group")
        return wide.loc[list(self.groups)][list(DISTRIBUTIONS)].set_axis(names, axis=0)
