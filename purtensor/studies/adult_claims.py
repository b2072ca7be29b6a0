"""What the numbers of the Adult study say of the paper's claims."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from purtensor.fairness.rates import FOUR_FIFTHS
from purtensor.studies.adult_numbers import data_ratios
from purtensor.studies.adult_study import DISTRIBUTIONS, POSITIVE, AdultStudy
from purtensor.studies.claims import (
    NOISE_WIDTH,
    Claim,
    Finding,
    Means,
    judge,
    judge_average,
    judge_classifiers,
    judge_marginals,
    judge_removal,
)
from purtensor.studies.projections import DATA

# so many data sets show a case that one of twenty has, with a chance of 95 %
SETS_THAT_SHOW = 60


def claims(study: AdultStudy) -> list[Claim]:
    """Return the paper's claims with their verdicts.

    The standard error of a predicted ratio is its standard deviation over simulated training and test sets; that of
    a forest has, beside the noise of its training data, that of the test split in it.
    """
    details = [_data_claim(study), _marginals_claim(study)]
    if study.data_sets:
        details = [
            *_claims_on_classifiers(study),
            _utility_claim(study),
            *_claims_on_data(study),
            *_claims_on_forests(study),
            *_claims_on_four_fifths(study),
            *details,
        ]
    return details


def _claims_on_classifiers(study: AdultStudy) -> Iterator[Claim]:
    off = {name: ratio.to_numpy() - 1.0 for name, ratio in study.pick("test").items()}
    # there is one test split: its error is that of a single set, known from the simulated ones
    means = {
        name: Means(off[name], noise, study.data_sets, _pairs(study), averaged=False)
        for name, noise in study.noise.items()
    }
    yield from judge_classifiers(means, off[DATA])
    over_splits = Means(
        study.simulated_off["PUR"], study.noise["PUR"] / np.sqrt(study.data_sets), study.data_sets, _pairs(study)
    )
    yield judge_removal(
        "PUR", "PUR removes disparity on the mean of simulated test splits", over_splits, study.simulated_off[DATA]
    )


def _pairs(study: AdultStudy) -> list[str]:
    """Return what each ratio is about, in the order of the study's groups."""
    return [f"{', '.join(group)} at {POSITIVE}" for group in study.groups]


def _utility_claim(study: AdultStudy) -> Claim:
    error = study.costs.set_index("distribution")["utility_error_test"]
    difference = error["PUR"] - error[DATA]
    return judge(
        "The utility-based generalisation error of PUR is close to that of the data's own classifier",
        is_borne_out=difference <= NOISE_WIDTH * study.utility_noise,
        evidence=f"{error['PUR']:.3e} nats against {error[DATA]:.3e} nats of f on the test split, a difference of "
        f"{difference:.1e}; over simulated splits the error of f has a standard deviation of {study.utility_noise:.1e}",
    )


def _claims_on_data(study: AdultStudy) -> Iterator[Claim]:
    off = study.pick("synthetic") - 1.0
    errors = study.pick("synthetic", "deviation") / np.sqrt(study.data_sets)
    for name in DISTRIBUTIONS[1:]:
        means = Means(off[name].to_numpy(), errors[name].to_numpy(), study.data_sets, _pairs(study))
        yield judge_average(name, means, off[DATA].to_numpy())


def _claims_on_forests(study: AdultStudy) -> Iterator[Claim]:
    off = {name: ratio.to_numpy() - 1.0 for name, ratio in study.pick("forest").items()}
    # of a forest's ratio: the noise of its data and of splits, in quadrature
    deviations = study.pick("forest", "deviation")
    noise = {name: np.hypot(deviations[name].to_numpy(), study.noise[name]) for name in (DATA, "PUR")}
    statement = "Random forests trained on data generated from PUR stay within noise of ratio 1 on test data"
    means = Means(off["PUR"], noise["PUR"], study.data_sets, _pairs(study), averaged=False)
    yield judge_removal("a forest on PUR data", statement, means, off[DATA])
    widths = np.abs(off[DATA]) / noise[DATA]
    yield judge(
        "Random forests trained on data generated from f reproduce its disparity",
        is_borne_out=bool((widths > NOISE_WIDTH).all()),
        evidence="ratios "
        + ", ".join(
            f"{1 + o:.3f} ({n:.3f}) of {pair}" for o, n, pair in zip(off[DATA], noise[DATA], _pairs(study), strict=True)
        )
        + f" (standard errors in brackets); at least {widths.min():.1f} standard errors from parity",
    )


def _data_claim(study: AdultStudy) -> Claim:
    found = data_ratios(study).drop(columns="group")
    details = "; ".join(
        f"{values[0]:.4f} of {pair} ({values[1]:.4f} in the train split)"
        for values, pair in zip(found.to_numpy(), _pairs(study), strict=True)
    )
    return judge(
        "In the data all three groups are below four fifths of the share of white men",
        f"ratios {details}",
        is_borne_out=bool((found < FOUR_FIFTHS).to_numpy().all()),
    )


def _claims_on_four_fifths(study: AdultStudy) -> Iterator[Claim]:
    """Yield what the paper says of single generated data sets, and of single forests, by the four-fifths rule."""
    lowest, below = study.pick("synthetic", "lowest").min(), study.pick("synthetic", "share_below").mean()
    yield judge(
        "No data set generated from a projection has a ratio below four fifths",
        f"lowest ratios over {study.data_sets} data sets: {_list_values(lowest)}",
        is_borne_out=not below[list(DISTRIBUTIONS[1:])].any(),
    )
    lowest, below = study.pick("forest", "lowest").min(), study.pick("forest", "share_below").mean()
    details = f"lowest ratios {_list_values(lowest)}; shares of ratios below four fifths: {_list_values(below)}"
    missing = Finding.FAILS if study.data_sets >= SETS_THAT_SHOW else Finding.UNTOLD
    yield Claim(
        "Forests trained on data generated from P and PU re-introduce disparity, in single cases below four fifths",
        Finding.HOLDS if (below[["P", "PU"]] > 0).all() else missing,
        f"{details}; {below[['P', 'PU']].mean():.1%} of P and PU together",
    )
    yield judge(
        "Forests trained on data generated from MaxEnt-PUR do not re-introduce it",
        details,
        is_borne_out=bool(below["MaxEnt"] == 0),
    )


def _list_values(values: pd.Series[float]) -> str:
    return ", ".join(f"{value:.3f} of {name}" for name, value in values.items() if name != DATA)


def _marginals_claim(study: AdultStudy) -> Claim:
    misses = [projection.residual for projection in study.projections.values()]
    return judge_marginals(np.array(misses), len(misses))
