"""What the Adult study draws: data sets with forests trained on them, simulated splits, and a bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidTableError
from purtensor.fairness.predict import predict
from purtensor.projection.executing import Failure
from purtensor.sampling.bootstrap import bootstrap
from purtensor.studies.adult_study import PROTECTED, REFERENCE, RESPONSE, ROLES, ratios
from purtensor.studies.forests import FOREST, Learning
from purtensor.studies.members import identity, run_members
from purtensor.studies.population import UNSEEN, Population, masses_to_draw_from, population_of
from purtensor.studies.projections import DATA, QUESTIONS, project_question
from purtensor.studies.simulated import ENDINGS, METHOD, MODELS, VERDICTS, Simulation
from purtensor.tables.regularize import regularize

_SIMULATION = 1
"""Separates the seed of the simulated splits from that of the data sets."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """What is drawn, how often, and where finished members are kept."""

    train: Table
    test: Table
    strength: float
    seed: int
    data_sets: int
    workers: int
    folder: Path | None
    executor: Any = None
    on_failure: Callable[[Failure], object] | None = None
    drawn_from: str = "empirical"
    unseen: str = "marginal"

    @property
    def identity(self) -> str:
        """SHA-256 of the data and the settings that the drawn numbers depend on."""
        parts = [population_of(table, **ROLES) for table in (self.train, self.test)]
        settings = {
            "study": "adult",
            "seed": self.seed,
            "strength": self.strength,
            "forest": dict(FOREST),
            "endings": ENDINGS,
            "verdicts": VERDICTS,
            "method": METHOD,
            "drawn_from": self.drawn_from,
        }
        return identity(settings, *(array for p in parts for array in (p.protected, p.unprotected, p.counts)))

    def store(self, name: str) -> Path | None:
        """Return the file that keeps the members of one simulation."""
        return None if self.folder is None else self.folder / f"{name}-{self.identity[:16]}.npz"


def learn(
    drawing: Drawing, distributions: Mapping[str, Table], on_member: Callable[[int], object]
) -> dict[str, FloatArray]:
    """Return p(>50K | s) of generated data and of forests, shape (data sets, distributions, protected profiles)."""
    parts = [population_of(table, **ROLES) for table in distributions.values()]
    if any(not np.array_equal(part.counts > 0, parts[0].counts > 0) for part in parts):
        raise InvalidTableError("the projections have lost profiles of f; increase the strength of the regularization")
    test = population_of(drawing.test, **ROLES)
    size = round(float(drawing.train.sum()))
    learning = Learning(parts[0], np.stack([part.counts for part in parts]), test, size)
    return run_members(
        learning,
        drawing.data_sets,
        seed=drawing.seed,
        workers=drawing.workers,
        store=drawing.store("data_sets"),
        executor=drawing.executor,
        on_member=on_member,
        on_failure=drawing.on_failure,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """The results of simulated splits.

    Attributes
    ----------
    off, noise
        For f, P, PU and PUR the mean distance of the predicted ratios from 1, and their standard deviation.
    utility_noise
        The standard deviation of f's utility error, in nats.
    """

    off: Mapping[str, FloatArray]
    noise: Mapping[str, FloatArray]
    utility_noise: float


def simulated_splits(drawing: Drawing) -> Splits:
    """Return what natural classifiers of simulated train splits predict on simulated test splits."""
    population = population_of(drawing.train, **ROLES)
    train_size, test_size = (round(float(table.sum())) for table in (drawing.train, drawing.test))
    masses = masses_to_draw_from(population, drawing.strength, drawing.drawn_from)
    simulation = Simulation(population, masses, train_size, test_size, drawing.strength)
    seed = int(np.random.SeedSequence([drawing.seed, _SIMULATION]).generate_state(1)[0])
    found = run_members(
        simulation,
        drawing.data_sets,
        seed=seed,
        workers=drawing.workers,
        store=drawing.store("splits"),
        executor=drawing.executor,
        on_failure=drawing.on_failure,
    )
    rule = list(UNSEEN).index(drawing.unseen)
    # 1 is POSITIVE, the second of the two responses
    natural = found["natural"][:, rule, :, 1, :]
    ratios = natural / natural[..., [reference(population)]]
    groups = [s for s, _ in others(population)]
    off = {name: np.nanmean(ratios[:, m, groups], axis=0) - 1.0 for m, name in enumerate(MODELS)}
    noise = {name: np.nanstd(ratios[:, m, groups], axis=0, ddof=1) for m, name in enumerate(MODELS)}
    return Splits(off, noise, float(np.nanstd(found["utility_error"][:, rule, MODELS.index("f")], ddof=1)))


def reference(population: Population) -> int:
    """Return the number of the protected profile that the others are compared with."""
    return population.groups.index(tuple(REFERENCE[name] for name in PROTECTED))


def others(population: Population) -> list[tuple[int, tuple[str, ...]]]:
    """Return number and categories of the other protected profiles."""
    return [(s, group) for s, group in enumerate(population.groups) if s != reference(population)]


TOLERANCE = 1e-8
"""Far below the noise that is measured."""


@dataclass(frozen=True, slots=True)
class PredictedRatios:
    """The ratios that the natural classifiers of one train split predict on one test split, by distribution and group.

    Attributes
    ----------
    strength, unseen
        As in `purtensor.studies.adult.study_adult`.
    """

    strength: float
    unseen: str

    def __call__(self, train: Table, test: Table) -> dict[tuple[str, ...], float]:
        """Return the ratios."""
        f = regularize(train, self.strength, response=RESPONSE)
        tables = {DATA: f}
        for name in QUESTIONS:
            tables[name] = project_question(f, name, **ROLES, tolerance=TOLERANCE, certificate=False).table
        return {
            (name, *map(str, group)): ratio
            for name, table in tables.items()
            for group, ratio in ratios(predict(table, test, response=RESPONSE, unseen=self.unseen)).items()
        }


def bootstrap_errors(drawing: Drawing) -> Mapping[str, FloatArray]:
    """Return for each distribution the standard errors of its predicted ratios, in the order of the groups."""
    found = bootstrap(
        (drawing.train, drawing.test),
        PredictedRatios(drawing.strength, drawing.unseen),
        times=drawing.data_sets,
        seed=drawing.seed,
        executor=drawing.executor,
        on_failure="omit",
    )
    if found.interrupted:
        raise KeyboardInterrupt
    errors = found.standard_error
    population = population_of(drawing.train, **ROLES)
    groups = [group for _, group in others(population)]
    return {name: errors.loc[[(name, *group) for group in groups]].to_numpy() for name in (DATA, *QUESTIONS)}
