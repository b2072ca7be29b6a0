"""The paper's study of the Adult data: income projected onto parity, utility and realism.

The response is income, protected are gender and race, unprotected age group, workclass and education. Everything is
fitted on UCI's train split; the natural classifiers predict on its test split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import purtensor as pt
from purtensor._options import check_choice
from purtensor._typing import FloatArray, Table
from purtensor.fairness.errors_on_others import errors_on_others
from purtensor.fairness.rates import FOUR_FIFTHS
from purtensor.projection.executing import Failure
from purtensor.studies.adult_drawn import Drawing, Splits, bootstrap_errors, learn, simulate_splits
from purtensor.studies.adult_study import (
    DISTRIBUTIONS,
    POSITIVE,
    PROTECTED,
    REFERENCE,
    RESPONSE,
    ROLES,
    AdultStudy,
    ratios,
)
from purtensor.studies.population import DRAWN_FROM, UNSEEN, Population, population_of
from purtensor.studies.projections import DATA, QUESTIONS, errors_of, project_question

_COLUMNS = ["distribution", "sample", *PROTECTED, "ratio", "deviation", "standard_error", "lowest", "share_below"]


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
        raise pt.InvalidOptionError(f"data_sets must be 2 or more, or 0 for none, got {data_sets}")
    check_choice("drawn_from", drawn_from, tuple(DRAWN_FROM))
    check_choice("unseen", unseen, tuple(UNSEEN))
    train, test = pt.datasets.adult(split="train"), pt.datasets.adult(split="test")
    f = pt.regularize(train, strength, response=RESPONSE)
    projections = {}
    for name in QUESTIONS:
        on_step(f"projecting onto {name}")
        projections[name] = project_question(f, name, **ROLES, solver=pt.IPF())  # the paper's solver
    distributions = {DATA: f, **{name: projection.table for name, projection in projections.items()}}
    data_of = {"train": pt.empirical(train), "test": pt.empirical(test)}
    predictions = {
        (name, split): pt.predict(table, data, response=RESPONSE, unseen=unseen)
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
    splits = simulate_splits(drawing) if data_sets else Splits({}, {}, float("nan"))
    on_step("drawing both splits again")
    resampled = bootstrap_errors(drawing) if data_sets else {}
    rows = [
        *_disparities_of_tables(distributions, predictions, _standard_errors(f, projections, test)),
        *_disparities_of_draws(learned, population),
    ]
    costs = [
        {
            "distribution": name,
            "divergence": pt.kl_divergence(table, f),
            **{
                f"utility_error_{split}": pt.utility_error(data, predictions[name, split], **ROLES)
                for split, data in data_of.items()
            },
            **({} if name == DATA else _evidence(projections[name])),
        }
        for name, table in distributions.items()
    ]
    return AdultStudy(
        strength=strength,
        train=train,
        test=test,
        distributions=distributions,
        projections=projections,
        disparities=pd.DataFrame(rows, columns=_COLUMNS),
        costs=pd.DataFrame(costs),
        unseen_mass=float(predictions[DATA, "test"].attrs["unseen_mass"]),
        drawn_from=drawn_from,
        unseen=unseen,
        data_sets=data_sets,
        seed=seed,
        groups=tuple(population.groups[s] for s in population.compare_with(REFERENCE)[1]),
        noise=splits.noise,
        simulated_off=splits.off,
        bootstrap=resampled,
        utility_noise=splits.utility_noise,
        identity=drawing.identity,
        failures=tuple(failures),
    )


def _evidence(projection: pt.Projection) -> dict[str, float]:
    return {"residual": projection.residual, "tv_bound": projection.tv_bound, "sweeps": projection.iterations}


def _disparities_of_draws(learned: Mapping[str, FloatArray], population: Population) -> Iterator[dict[str, object]]:
    """Yield mean and standard deviation of the disparity ratios of generated data, and of forests trained on them."""
    reference, others = population.compare_with(REFERENCE)
    for sample, values in learned.items():
        for d, name in enumerate(DISTRIBUTIONS):
            for s in others:
                ratio = values[:, d, s] / values[:, d, reference]
                yield {
                    "distribution": name,
                    "sample": sample,
                    **dict(zip(PROTECTED, population.groups[s], strict=True)),
                    "ratio": float(ratio.mean()),
                    "deviation": float(ratio.std(ddof=1)),
                    "lowest": float(ratio.min()),
                    "share_below": float((ratio < FOUR_FIFTHS).mean()),
                }


def _disparities_of_tables(
    distributions: Mapping[str, Table],
    predictions: Mapping[tuple[str, str], Table],
    errors: Mapping[tuple[str, str], pd.Series[float]],
) -> Iterator[dict[str, object]]:
    for name, table in distributions.items():
        tables = {"itself": table, "train": predictions[name, "train"], "test": predictions[name, "test"]}
        for where, predicted in tables.items():
            known = errors.get((name, where))
            for group, ratio in ratios(predicted).items():
                yield {
                    "distribution": name,
                    "sample": where,
                    **dict(zip(PROTECTED, group, strict=True)),
                    "ratio": ratio,
                    "standard_error": None if known is None else float(known[POSITIVE, *group]),
                }


def _standard_errors(
    f: Table, projections: Mapping[str, pt.Projection], test: Table
) -> dict[tuple[str, str], pd.Series[float]]:
    """Return the standard errors of ratios by distribution and sample: of itself, and of the test split."""
    compared: dict[str, Any] = {**ROLES, "reference": REFERENCE}
    errors = {}
    for name, known in errors_of(f, projections, size=round(f.attrs["total"]), **ROLES).items():
        errors[name, "itself"] = known.disparity_ratio(**compared).to_series()
        errors[name, "test"] = errors_on_others(known, test, ratio=True, **compared).to_series()
    return errors
