"""The question of the Adult study, its options and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from purtensor._typing import FloatArray, Profile, Table
from purtensor.fairness.disparity import disparity_ratio
from purtensor.projection.executing import Failure
from purtensor.projection.result import Projection
from purtensor.studies.projections import DATA, QUESTIONS

RESPONSE = "income"
PROTECTED = ("gender", "race")
ROLES: Mapping[str, Any] = MappingProxyType({"response": RESPONSE, "protected": PROTECTED})
REFERENCE: Mapping[str, str] = MappingProxyType({"gender": "male", "race": "white"})
"""The protected profile that the others are compared with."""

POSITIVE = ">50K"
"""The response whose disparities are reported; the second of the two."""


def ratios(table: Table) -> dict[Profile, float]:
    """Return p(>50K | s) / p(>50K | male, white) for each protected profile but the reference."""
    ratio = disparity_ratio(table, **ROLES, reference=REFERENCE)
    by_profile: dict[Any, float] = ratio.to_series().to_dict()
    compared_with = tuple(REFERENCE[name] for name in PROTECTED)
    return {
        tuple(protected): value
        for (income, *protected), value in by_profile.items()
        if income == POSITIVE and tuple(protected) != compared_with
    }


DISTRIBUTIONS = (DATA, *QUESTIONS)

DRAWN = ("synthetic", "forest")
"""What is reported of generated data: the data themselves, and the probabilities that random forests
trained on them give to the people of the test split."""

SAMPLES = ("itself", "train", "test", *DRAWN)
"""Where a disparity is measured: in the distribution itself, in what its natural classifier predicts on UCI's train or
test split, or in data drawn from it."""


@dataclass(frozen=True, slots=True)
class Disparity:
    """The ratio p(>50K | s) / p(>50K | male, white) of one distribution, in one sample, for one protected profile.

    Attributes
    ----------
    distribution, sample
        One of `DISTRIBUTIONS` and of `SAMPLES`.
    gender, race
        The protected profile.
    ratio, deviation
        The ratio; of synthetic data the mean over the data sets, with its standard deviation, which is None elsewhere.
    standard_error
        What the ratio would vary by if other people had been asked, by the delta method: in the distribution itself,
        and on the test split, where both splits vary. None elsewhere.
    lowest, share_below
        Of generated data the lowest of the ratios, and the share of them below four fifths; None elsewhere.
    """

    distribution: str
    sample: str
    gender: str
    race: str
    ratio: float
    deviation: float | None = None
    standard_error: float | None = None
    lowest: float | None = None
    share_below: float | None = None

    @property
    def group(self) -> str:
        """The protected profile as text."""
        return f"{self.gender}, {self.race}"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one distribution pays for its conditions, and how well it is solved.

    Attributes
    ----------
    divergence
        From f, in nats.
    utility_error_train, utility_error_test
        Divergence of the (income, unprotected) marginals of the data and of the prediction, in nats.
    residual, tv_bound, sweeps
        Of the projection, total mass 1; None for f itself.
    """

    distribution: str
    divergence: float
    utility_error_train: float
    utility_error_test: float
    residual: float | None = None
    tv_bound: float | None = None
    sweeps: int | None = None


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
    disparities, costs
        The figures.
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
    projections: Mapping[str, Projection]
    disparities: tuple[Disparity, ...]
    costs: tuple[Cost, ...]
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
