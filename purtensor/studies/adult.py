"""The paper's study of the Adult data: income projected onto parity, utility and realism.

The response is income, protected are gender and race, unprotected age group, workclass and education. Everything is
fitted on UCI's train split; the natural classifiers predict on its test split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from purtensor._options import check_choice
from purtensor._typing import FloatArray, Profile, Table
from purtensor.datasets.uci_adult import adult
from purtensor.errors import InvalidOptionError
from purtensor.fairness.disparity import utility_error
from purtensor.fairness.errors_on_others import errors_on_others
from purtensor.fairness.predict import predict
from purtensor.fairness.rates import FOUR_FIFTHS
from purtensor.information import kl_divergence
from purtensor.projection.executing import Failure
from purtensor.projection.result import Projection
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.studies.adult_drawn import Drawing, Splits, bootstrap_errors, learn, others, reference, simulated_splits
from purtensor.studies.adult_study import (
    DISTRIBUTIONS,
    POSITIVE,
    REFERENCE,
    RESPONSE,
    ROLES,
    AdultStudy,
    Cost,
    Disparity,
    ratios,
)
from purtensor.studies.population import DRAWN_FROM, UNSEEN, Population, population_of
from purtensor.studies.projections import DATA, QUESTIONS, errors_of, project_question
from purtensor.tables.regularize import empirical, regularize


def study_adult(
    *,
    strength: float = 1e-4,
    data_sets: int = 100,
    seed: int = 0,
    drawn_from: str = "empirical",
    unseen: str = "marginal",
    workers: int = 1,
    executor: Any = None,
    folder: Path | None = None,
    on_step: Callable[[str], object] = lambda step: None,
    on_member: Callable[[int], object] = lambda done: None,
) -> AdultStudy:
    """Return the whole study.

    Parameters
    ----------
    strength
        Lambda of the regularization, the paper's 1e-4 unless given.
    data_sets
        How many synthetic data sets are drawn from each distribution, a forest trained on each; none when 0.
    seed
        The seed of all random draws; the results do not depend on the number of workers.
    drawn_from
        Simulated splits, which estimate the noise, are drawn from the train split ("empirical") or from f
        ("regularized").
    unseen
        Test people whose predictor profile was not trained on are predicted by q(y) ("marginal", which keeps parity)
        or left out ("drop").
    workers
        How many threads compute.
    executor
        What computes in place of threads, as in `purtensor.project_many`.
    folder
        Where finished data sets are kept, so that an interrupted study continues where it was; None keeps nothing.
    on_step
        Called with a few words before each step.
    on_member
        Called with the number of finished data sets.

    Raises
    ------
    InvalidOptionError
        `data_sets` is negative, or 1, which has no fluctuation; another word for `drawn_from` or `unseen`.
    """
    if data_sets < 0 or data_sets == 1:
        raise InvalidOptionError(f"data_sets must be 2 or more, or 0 for none, got {data_sets}")
    check_choice("drawn_from", drawn_from, tuple(DRAWN_FROM))
    check_choice("unseen", unseen, tuple(UNSEEN))
    train, test = adult(split="train"), adult(split="test")
    data_of = {"train": empirical(train), "test": empirical(test)}
    f = regularize(train, strength, response=RESPONSE)
    projections = {}
    for name in QUESTIONS:
        on_step(f"projecting onto {name}")
        projections[name] = project_question(f, name, **ROLES, solver=IPF())  # the paper's solver
    distributions = {DATA: f, **{name: projection.table for name, projection in projections.items()}}
    predictions = {
        (name, split): predict(table, data, response=RESPONSE, unseen=unseen)
        for name, table in distributions.items()
        for split, data in data_of.items()
    }
    population = population_of(f, **ROLES)
    on_step(f"drawing {data_sets} data sets from each distribution, training forests on them")
    failures: list[Failure] = []
    drawing = Drawing(
        train,
        test,
        strength,
        seed,
        data_sets,
        workers,
        folder,
        executor,
        on_failure=failures.append,
        drawn_from=drawn_from,
        unseen=unseen,
    )
    learned = learn(drawing, distributions, on_member) if data_sets else {}
    on_step("simulating training and test sets")
    splits = simulated_splits(drawing) if data_sets else Splits({}, {}, float("nan"))
    on_step("drawing both splits again")
    resampled = bootstrap_errors(drawing) if data_sets else {}
    return AdultStudy(
        strength=strength,
        train=train,
        test=test,
        distributions=distributions,
        projections=projections,
        disparities=(
            *_disparities_of_tables(distributions, predictions, _standard_errors(f, projections, population, test)),
            *_disparities_of_draws(learned, population),
        ),
        costs=tuple(
            _cost(f, name, table, projections.get(name), _utility_errors(data_of, name, predictions))
            for name, table in distributions.items()
        ),
        unseen_mass=float(predictions[DATA, "test"].attrs["unseen_mass"]),
        drawn_from=drawn_from,
        unseen=unseen,
        data_sets=data_sets,
        seed=seed,
        groups=tuple(group for _, group in others(population)),
        noise=splits.noise,
        simulated_off=splits.off,
        bootstrap=resampled,
        utility_noise=splits.utility_noise,
        identity=drawing.identity,
        failures=tuple(failures),
    )


def _disparities_of_draws(learned: Mapping[str, FloatArray], population: Population) -> Iterator[Disparity]:
    """Yield mean and standard deviation of the disparity ratios of generated data, and of forests trained on them."""
    for sample, values in learned.items():
        for d, name in enumerate(DISTRIBUTIONS):
            for s, (gender, race) in others(population):
                ratio = values[:, d, s] / values[:, d, reference(population)]
                yield Disparity(
                    name,
                    sample,
                    gender,
                    race,
                    float(ratio.mean()),
                    float(ratio.std(ddof=1)),
                    lowest=float(ratio.min()),
                    share_below=float((ratio < FOUR_FIFTHS).mean()),
                )


def _disparities_of_tables(
    distributions: Mapping[str, Table],
    predictions: Mapping[tuple[str, str], Table],
    errors: Mapping[tuple[str, str, Profile], float],
) -> Iterator[Disparity]:
    for name, table in distributions.items():
        tables = {"itself": table, "train": predictions[name, "train"], "test": predictions[name, "test"]}
        for where, predicted in tables.items():
            for (gender, race), ratio in ratios(predicted).items():
                error = errors.get((name, where, (gender, race)))
                yield Disparity(name, where, gender, race, ratio, standard_error=error)


def _standard_errors(
    f: Table, projections: Mapping[str, Projection], population: Population, test: Table
) -> dict[tuple[str, str, Profile], float]:
    """Return the standard errors of ratios by distribution, sample and group: of itself, and of the test split."""
    size = round(f.attrs["total"])
    compared: dict[str, Any] = {**ROLES, "reference": REFERENCE}
    errors = {}
    for name, known in errors_of(f, projections, size=size, **ROLES).items():
        samples = {
            "itself": known.disparity_ratio(**compared),
            "test": errors_on_others(known, test, ratio=True, **compared),
        }
        for where, found in samples.items():
            of_profiles = found.to_series()
            errors.update(
                {(name, where, group): float(of_profiles[POSITIVE, *group]) for _, group in others(population)}
            )
    return errors


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
    return {split: utility_error(data, predictions[name, split], **ROLES) for split, data in data_of.items()}
