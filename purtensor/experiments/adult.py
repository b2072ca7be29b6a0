"""The paper's study of the Adult data: income projected onto parity, utility and realism.

The response is income, protected are gender and race, unprotected age group, workclass and education. Everything is
fitted on UCI's train split; the natural classifiers predict on its test split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from purtensor._typing import Profile, Table
from purtensor.datasets.uci_adult import adult
from purtensor.errors import InvalidOptionError
from purtensor.fairness.disparity import disparity_ratio, utility_error
from purtensor.fairness.predict import predict
from purtensor.fairness.pur import pur
from purtensor.information import kl_divergence
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.sampling import sample
from purtensor.solving.solvers.ipf import IPF
from purtensor.tables.marginal import marginal
from purtensor.tables.regularize import empirical, regularize, uniform

RESPONSE = "income"
PROTECTED = ("gender", "race")
REFERENCE: Mapping[str, str] = MappingProxyType({"gender": "male", "race": "white"})
"""The protected profile that the others are compared with."""

POSITIVE = ">50K"
"""The response whose disparities are told."""

DATA = "f"
MAX_ENT = "MaxEnt"
QUESTIONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"P": ("P", DATA), "PU": ("PU", DATA), "PUR": ("PUR", DATA), MAX_ENT: ("PUR", "uniform")}
)
"""For each projection the conditions that hold and the reference that it stays close to."""

DISTRIBUTIONS = (DATA, *QUESTIONS)


SAMPLES = ("itself", "train", "test", "synthetic")
"""Where a disparity is told: in the distribution itself, in what its natural classifier predicts on UCI's train or
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
    """

    distribution: str
    sample: str
    gender: str
    race: str
    ratio: float
    deviation: float | None = None

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
    unseen
        The mass of the test split on predictor profiles that training never saw, left out of its predictions.
    """

    strength: float
    train: Table
    test: Table
    distributions: Mapping[str, Table]
    projections: Mapping[str, Projection]
    disparities: tuple[Disparity, ...]
    costs: tuple[Cost, ...]
    unseen: float


def study_adult(
    *,
    strength: float = 1e-4,
    data_sets: int = 100,
    seed: int = 0,
    on_step: Callable[[str], object] = lambda step: None,
) -> AdultStudy:
    """Return the whole study.

    Parameters
    ----------
    strength
        Lambda of the regularization, the paper's 1e-4 unless given.
    data_sets
        How many synthetic data sets are drawn from each distribution; none when 0.
    seed
        Of the synthetic data sets; the same seed gives the same numbers.
    on_step
        Called with a few words before each step.

    Raises
    ------
    InvalidOptionError
        `data_sets` is negative.
    """
    if data_sets < 0:
        raise InvalidOptionError(f"data_sets is a count, this is {data_sets}")
    train, test = adult(split="train"), adult(split="test")
    data_of = {"train": empirical(train), "test": empirical(test)}
    f = regularize(train, strength, response=RESPONSE)
    projections = {}
    for name in QUESTIONS:
        on_step(f"projecting onto {name}")
        projections[name] = project_adult(f, name)
    distributions = {DATA: f, **{name: projection.table for name, projection in projections.items()}}
    predictions = {
        (name, split): predict(table, data, response=RESPONSE, unseen="drop")
        for name, table in distributions.items()
        for split, data in data_of.items()
    }
    on_step(f"drawing {data_sets} data sets from each distribution")
    size = round(float(train.sum()))
    return AdultStudy(
        strength=strength,
        train=train,
        test=test,
        distributions=distributions,
        projections=projections,
        disparities=(
            *_fixed_disparities(distributions, predictions),
            *synthetic_disparities(distributions, size=size, data_sets=data_sets, seed=seed),
        ),
        costs=tuple(
            _cost(f, name, table, projections.get(name), _utility_errors(data_of, name, predictions))
            for name, table in distributions.items()
        ),
        unseen=1.0 - float(predictions[DATA, "test"].sum()),
    )


def project_adult(f: Table, name: str) -> Projection:
    """Return one of the study's projections of f: "P", "PU", "PUR" or "MaxEnt"."""
    conditions, reference = QUESTIONS[name]
    constraints = pur(f, response=RESPONSE, protected=PROTECTED, conditions=conditions)
    return project(f if reference == DATA else uniform(f), constraints, solver=IPF())  # the paper's solver


def ratios(table: Table) -> dict[Profile, float]:
    """Return p(>50K | s) / p(>50K | male, white) for each protected profile but the reference."""
    ratio = disparity_ratio(table, response=RESPONSE, protected=PROTECTED, reference=REFERENCE)
    told: dict[Any, float] = ratio.to_series().to_dict()
    compared_with = tuple(REFERENCE[name] for name in PROTECTED)
    return {
        tuple(protected): value
        for (income, *protected), value in told.items()
        if income == POSITIVE and tuple(protected) != compared_with
    }


def synthetic_disparities(
    distributions: Mapping[str, Table], *, size: int, data_sets: int, seed: int
) -> Iterator[Disparity]:
    """Yield mean and standard deviation of the disparity ratios of data drawn from each distribution."""
    streams = np.random.SeedSequence(seed).spawn(len(distributions))
    for (name, table), stream in zip(distributions.items(), streams, strict=True):
        pairs = marginal(table, (RESPONSE, *PROTECTED))  # the counts of (y, s) are multinomial on their own
        generators = [np.random.default_rng(child) for child in stream.spawn(data_sets)]
        drawn = [ratios(sample(pairs, size, seed=generator)) for generator in generators]
        for gender, race in drawn[0] if drawn else ():
            values = [found[gender, race] for found in drawn]
            yield Disparity(name, "synthetic", gender, race, float(np.mean(values)), float(np.std(values)))


def _fixed_disparities(
    distributions: Mapping[str, Table], predictions: Mapping[tuple[str, str], Table]
) -> Iterator[Disparity]:
    for name, table in distributions.items():
        tables = {"itself": table, "train": predictions[name, "train"], "test": predictions[name, "test"]}
        for where, predicted in tables.items():
            for (gender, race), ratio in ratios(predicted).items():
                yield Disparity(name, where, gender, race, ratio)


def _cost(f: Table, name: str, table: Table, projection: Projection | None, errors: Mapping[str, float]) -> Cost:
    return Cost(
        name,
        divergence=kl_divergence(table, f),
        utility_error_train=errors["train"],
        utility_error_test=errors["test"],
        residual=None if projection is None else projection.residual,
        tv_bound=None if projection is None else projection.tv_bound,
        sweeps=None if projection is None else projection.iterations,
    )


def _utility_errors(
    data_of: Mapping[str, Table], name: str, predictions: Mapping[tuple[str, str], Table]
) -> dict[str, float]:
    return {
        split: utility_error(data, predictions[name, split], response=RESPONSE, protected=PROTECTED)
        for split, data in data_of.items()
    }
