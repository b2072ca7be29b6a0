"""What the Adult study draws: data sets with forests trained on them, simulated splits, and a bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import purtensor as pt
from purtensor._typing import FloatArray, Table
from purtensor.projection.executing import Failure
from purtensor.studies.adult_study import REFERENCE, RESPONSE, ROLES, ratios
from purtensor.studies.forests import FOREST, Learning
from purtensor.studies.members import identity, run_members
from purtensor.studies.population import UNSEEN, masses_to_draw_from, population_of
from purtensor.studies.projections import DATA, QUESTIONS, project_question
from purtensor.studies.simulated import ENDINGS, METHOD, MODELS, VERDICTS, Simulation

# separates the seed of the simulated splits from that of the data sets
_SIMULATION = 1
# of projections in the bootstrap: far below the noise that is measured
TOLERANCE = 1e-8


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

    def run(self, simulate: Any, name: str, seed: int, **options: Any) -> dict[str, Any]:
        """Return the findings of all members of one simulation, which are kept in a file of this name."""
        return run_members(
            simulate,
            self.data_sets,
            seed=seed,
            workers=self.workers,
            store=None if self.folder is None else self.folder / f"{name}-{self.identity[:16]}.npz",
            executor=self.executor,
            on_failure=self.on_failure,
            **options,
        )


def learn(
    drawing: Drawing, distributions: Mapping[str, Table], on_member: Callable[[int], object]
) -> dict[str, FloatArray]:
    """Return p(>50K | s) of generated data and of forests, shape (data sets, distributions, protected profiles)."""
    parts = [population_of(table, **ROLES) for table in distributions.values()]
    if any(not np.array_equal(part.counts > 0, parts[0].counts > 0) for part in parts):
        raise pt.InvalidTableError(
            "the projections have lost profiles of f; increase the strength of the regularization"
        )
    size = round(float(drawing.train.sum()))
    masses = np.stack([part.counts for part in parts])
    learning = Learning(parts[0], masses, population_of(drawing.test, **ROLES), size)
    return drawing.run(learning, "data_sets", drawing.seed, on_member=on_member)


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


def simulate_splits(drawing: Drawing) -> Splits:
    """Return what natural classifiers of simulated train splits predict on simulated test splits."""
    population = population_of(drawing.train, **ROLES)
    train_size, test_size = (round(float(table.sum())) for table in (drawing.train, drawing.test))
    masses = masses_to_draw_from(population, drawing.strength, drawing.drawn_from)
    simulation = Simulation(population, masses, train_size, test_size, drawing.strength)
    seed = int(np.random.SeedSequence([drawing.seed, _SIMULATION]).generate_state(1)[0])
    found = drawing.run(simulation, "splits", seed)
    rule = list(UNSEEN).index(drawing.unseen)
    reference, groups = population.compare_with(REFERENCE)
    # 1 is POSITIVE, the second of the two responses
    natural = found["natural"][:, rule, :, 1, :]
    off = natural[..., groups] / natural[..., [reference]]
    return Splits(
        {name: np.nanmean(off[:, m], axis=0) - 1.0 for m, name in enumerate(MODELS)},
        {name: np.nanstd(off[:, m], axis=0, ddof=1) for m, name in enumerate(MODELS)},
        float(np.nanstd(found["utility_error"][:, rule, MODELS.index("f")], ddof=1)),
    )


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
        f = pt.regularize(train, self.strength, response=RESPONSE)
        tables = {DATA: f}
        for name in QUESTIONS:
            tables[name] = project_question(f, name, **ROLES, tolerance=TOLERANCE, certificate=False).table
        return {
            (name, *map(str, group)): ratio
            for name, table in tables.items()
            for group, ratio in ratios(pt.predict(table, test, response=RESPONSE, unseen=self.unseen)).items()
        }


def bootstrap_errors(drawing: Drawing) -> Mapping[str, FloatArray]:
    """Return for each distribution the standard errors of its predicted ratios, in the order of the groups."""
    found = pt.bootstrap(
        (drawing.train, drawing.test),
        PredictedRatios(drawing.strength, drawing.unseen),
        times=drawing.data_sets,
        seed=drawing.seed,
        executor=drawing.executor,
        on_failure="omit",
    )
    if found.interrupted:
        raise KeyboardInterrupt
    errors, population = found.standard_error, population_of(drawing.train, **ROLES)
    groups = [population.groups[s] for s in population.compare_with(REFERENCE)[1]]
    return {name: errors.loc[[(name, *group) for group in groups]].to_numpy() for name in (DATA, *QUESTIONS)}
