"""What the numbers of the Adult study say of the paper's claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from purtensor._typing import FloatArray
from purtensor.fairness.rates import FOUR_FIFTHS
from purtensor.studies.adult_numbers import data_ratios, ratios_of
from purtensor.studies.adult_study import DISTRIBUTIONS, POSITIVE, AdultStudy
from purtensor.studies.claims import (
    NOISE_WIDTH,
    Claim,
    Finding,
    Means,
    average_claim,
    judge,
    marginals_claim,
    natural_claims,
    removed_claim,
)
from purtensor.studies.projections import DATA

SETS_THAT_SHOW = 60
"""So many data sets show a case that one of twenty has, with a chance of 95 %."""


def claims(study: AdultStudy) -> list[Claim]:
    """Return the paper's claims with their verdicts.

    The standard error of a predicted ratio is its standard deviation over simulated training and test sets; that of
    a forest has, beside the noise of its training data, that of the test split in it.
    """
    details = [_data_claim(study), _marginals_claim(study)]
    if study.data_sets:
        details = [
            *_natural_claims(study),
            _utility_claim(study),
            *_generated_claims(study),
            *_forest_claims(study),
            *_four_fifths_claims(study),
            *details,
        ]
    return details


def _natural_claims(study: AdultStudy) -> Iterator[Claim]:
    off = {name: ratios_of(study, name, "test")[0] - 1.0 for name in study.noise}
    # there is one test split: its error is that of a single set, known from the simulated ones
    means = {
        name: Means(off[name], noise, study.data_sets, _pairs(study), averaged=False)
        for name, noise in study.noise.items()
    }
    yield from natural_claims(means, off[DATA])
    over_splits = Means(
        study.simulated_off["PUR"], study.noise["PUR"] / np.sqrt(study.data_sets), study.data_sets, _pairs(study)
    )
    yield removed_claim(
        "PUR", "PUR removes disparity on the mean of simulated test splits", over_splits, study.simulated_off[DATA]
    )


def _pairs(study: AdultStudy) -> list[str]:
    """Return what each ratio is about, in the order of the study's groups."""
    return [f"{', '.join(group)} at {POSITIVE}" for group in study.groups]


def _utility_claim(study: AdultStudy) -> Claim:
    error = {cost.distribution: cost.utility_error_test for cost in study.costs}
    difference = error["PUR"] - error[DATA]
    return judge(
        "The utility-based generalisation error of PUR is close to that of the data's own classifier",
        is_borne_out=difference <= NOISE_WIDTH * study.utility_noise,
        evidence=f"{error['PUR']:.3e} nats against {error[DATA]:.3e} nats of f on the test split, a difference of "
        f"{difference:.1e}; over simulated splits the error of f has a standard deviation of {study.utility_noise:.1e}",
    )


def _generated_claims(study: AdultStudy) -> Iterator[Claim]:
    off_data = ratios_of(study, DATA, "synthetic")[0] - 1.0
    for name in DISTRIBUTIONS[1:]:
        ratio, deviation = ratios_of(study, name, "synthetic")
        means = Means(ratio - 1.0, deviation / np.sqrt(study.data_sets), study.data_sets, _pairs(study))
        yield average_claim(name, means, off_data)


def _forest_claims(study: AdultStudy) -> Iterator[Claim]:
    off = {name: ratios_of(study, name, "forest")[0] - 1.0 for name in DISTRIBUTIONS}
    noise = {name: _forest_noise(study, name) for name in DISTRIBUTIONS}
    statement = "Random forests trained on data generated from PUR stay within noise of ratio 1 on test data"
    means = Means(off["PUR"], noise["PUR"], study.data_sets, _pairs(study), averaged=False)
    yield removed_claim("a forest on PUR data", statement, means, off[DATA])
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


def _four_fifths_claims(study: AdultStudy) -> Iterator[Claim]:
    """Yield what the paper says of single generated data sets, and of single forests, by the four-fifths rule."""
    lowest, below = _lowest(study, "synthetic")
    yield judge(
        "No data set generated from a projection has a ratio below four fifths",
        f"lowest ratios over {study.data_sets} data sets: {_list_values(lowest)}",
        is_borne_out=not any(below[name] for name in DISTRIBUTIONS[1:]),
    )
    lowest, below = _lowest(study, "forest")
    details = f"lowest ratios {_list_values(lowest)}; shares of ratios below four fifths: {_list_values(below)}"
    seen = [below[name] > 0 for name in ("P", "PU")]
    missing = Finding.FAILS if study.data_sets >= SETS_THAT_SHOW else Finding.UNTOLD
    yield Claim(
        "Forests trained on data generated from P and PU re-introduce disparity, in single cases below four fifths",
        Finding.HOLDS if all(seen) else missing,
        f"{details}; {np.mean([below[name] for name in ('P', 'PU')]):.1%} of P and PU together",
    )
    yield judge(
        "Forests trained on data generated from MaxEnt-PUR do not re-introduce it",
        details,
        is_borne_out=below["MaxEnt"] == 0,
    )


def _lowest(study: AdultStudy, sample: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return for each projection the lowest ratio of any group and data set, and the share of all below four fifths."""
    found = [d for d in study.disparities if d.sample == sample and d.lowest is not None]
    return (
        {n: min(d.lowest for d in found if d.distribution == n and d.lowest is not None) for n in DISTRIBUTIONS},
        {n: float(np.mean([d.share_below for d in found if d.distribution == n])) for n in DISTRIBUTIONS},
    )


def _list_values(values: Mapping[str, float]) -> str:
    return ", ".join(f"{value:.3f} of {name}" for name, value in values.items() if name != DATA)


def _forest_noise(study: AdultStudy, name: str) -> FloatArray:
    """Return the standard error of a forest's ratio: the noise of its data and of splits, in quadrature."""
    own = ratios_of(study, name, "forest")[1]
    return np.hypot(own, study.noise.get(name, study.noise["PUR"]))


def _marginals_claim(study: AdultStudy) -> Claim:
    misses = [projection.residual for projection in study.projections.values()]
    return marginals_claim(np.array(misses), len(misses))
