"""The bootstrap of Adult: both splits drawn again, projected again, and predicted again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from purtensor._typing import FloatArray, Table
from purtensor.fairness.predict import predict
from purtensor.sampling.bootstrap import bootstrap
from purtensor.studies.adult_drawn import Drawing, others
from purtensor.studies.adult_question import DATA, PROTECTED, RESPONSE, ratios
from purtensor.studies.adult_study import QUESTIONS, project_adult
from purtensor.studies.population import population_of
from purtensor.tables.regularize import regularize

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
            tables[name] = project_adult(f, name, tolerance=TOLERANCE, certificate=False).table
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
    population = population_of(drawing.train, response=RESPONSE, protected=PROTECTED)
    groups = [group for _, group in others(population)]
    return {name: errors.loc[[(name, *group) for group in groups]].to_numpy() for name in (DATA, *QUESTIONS)}
