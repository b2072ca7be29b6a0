"""What the numbers of the wage study say of the paper's claims: of one survey, and over the years."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.studies.claims import (
    NOISE_WIDTH,
    Claim,
    Finding,
    judge_average,
    judge_classifiers,
    judge_marginals,
    judge_utility,
)
from purtensor.studies.simulated import CONVERGED, MODELS
from purtensor.studies.wage import YEARS, WageStudy, pair_masses
from purtensor.studies.wage_numbers import means_of

# the largest disparity of the data stated in the paper, to the nearest tenth
LARGEST = 0.3

# the paper states that PUR removes more than this share of the disparity of the data from predictions
REMOVED = 0.9


def claims(study: WageStudy) -> list[Claim]:
    """Return the paper's claims with their verdicts.

    Each mean over the simulated sets is judged by its own standard error, the deviation over the root of the sets.
    """
    natural = {name: means_of(study, study.natural[:, m]) for m, name in enumerate(MODELS)}
    found = list(judge_classifiers(natural, natural["f"].off))
    pairs = study.utility_error[:, [MODELS.index("PUR"), MODELS.index("f")]]
    some = pairs[np.isfinite(pairs).all(axis=1)]
    if len(some) > 1:
        found.append(judge_utility(some[:, 0], some[:, 1]))
    off_data = means_of(study, study.generated["f"]).off
    generated = [
        judge_average(name, means_of(study, values), off_data)
        for name, values in study.generated.items()
        if name != "f"
    ]
    return [*found, *generated, _marginals_claim(study)]


def _marginals_claim(study: WageStudy) -> Claim:
    simulated = study.members["marginal_miss"][study.members["ending"] == CONVERGED]
    own = [projection.residual for projection in study.projections.values()]
    return judge_marginals(np.append(simulated, own), len(simulated) + len(own))


def by_year(studies: Mapping[int, WageStudy]) -> pd.DataFrame:
    """Return how disparity develops, a row per year.

    Returns
    -------
    pandas.DataFrame
        `year`, `people`; `disparity`, the mean absolute attributable disparity of the survey, with what it varies by
        from one training set to the next as `disparity error`; `largest disparity` and `of whom`; `fluctuation`, the
        mean standard deviation over the sets of what PUR predicts, with its error; `removed`, the share of f's
        predicted disparity that PUR removes; and `left by chance`, what so many sets leave where all is removed.

    Raises
    ------
    InvalidOptionError
        Fewer than two years.
    """
    if len(studies) < 2:
        raise InvalidOptionError(f"there must be two years or more to compare, got {len(studies)}")
    return pd.DataFrame([_row(year, studies[year]) for year in sorted(studies)])


def year_claims(frame: pd.DataFrame) -> list[Claim]:
    """Return what the paper says of the years with verdicts, from the numbers of `by_year`.

    The paper gives the two percentages without a formula. The first is read as the largest attributable disparity of
    any group and wage range, the second as the share of the predicted disparity that PUR removes. Of other years than
    the paper's, whose wages are ranged otherwise, they cannot be refuted.
    """
    listed = ", ".join(
        f"{largest:+.3f} in {year} ({whom})"
        for largest, year, whom in zip(frame["largest disparity"], frame["year"], frame["of whom"], strict=True)
    )
    missed = Finding.FAILS if set(frame["year"]) <= set(YEARS) else Finding.UNTOLD_YEARS
    most = float(frame["largest disparity"].abs().max())
    return [
        _falling("Disparity in the data falls slowly over the years", frame, "disparity"),
        _falling("Predictions fluctuate more in the early years", frame, "fluctuation"),
        Claim(
            f"Disparities in the data reach {LARGEST:.0%}",
            Finding.HOLDS if round(most, 1) == LARGEST else missed,
            f"largest of each year: {listed}",
        ),
        _removing(frame, missed),
    ]


def _removing(frame: pd.DataFrame, missed: Finding) -> Claim:
    removed, chance = frame["removed"], frame["left by chance"]
    finding = Finding.HOLDS if (removed > REMOVED).all() else missed
    if finding is Finding.FAILS and (removed + NOISE_WIDTH * chance > REMOVED).all():
        finding = Finding.UNTOLD
    details = ", ".join(
        f"{share:.1%} in {year} (chance alone leaves {noise:.1%})"
        for share, year, noise in zip(removed, frame["year"], chance, strict=True)
    )
    return Claim(f"PUR removes more than {REMOVED:.0%} of the disparity on test data", finding, details)


def _row(year: int, study: WageStudy) -> dict[str, object]:
    pairs = pair_masses(study.f, study.population)
    own = study.compare(pairs / pairs.sum(axis=0))
    at = int(np.abs(own).argmax())
    over_sets = np.abs(study.compare(study.members["train"])).mean(axis=(1, 2))
    predicted = {name: means_of(study, study.natural[:, MODELS.index(name)]) for name in ("f", "PUR")}
    of_f = np.abs(predicted["f"].off).mean()
    fluctuation = float(np.mean(predicted["PUR"].error) * np.sqrt(predicted["PUR"].sets))
    return {
        "year": year,
        "people": round(float(study.counts.sum())),
        "disparity": float(np.abs(own).mean()),
        "disparity error": float(over_sets.std(ddof=1)),
        "largest disparity": float(own.ravel()[at]),
        "of whom": study.pairs[at],
        "fluctuation": fluctuation,
        # of a standard deviation over so many sets, were all pairs to fluctuate as one
        "fluctuation error": fluctuation / np.sqrt(2 * (predicted["PUR"].sets - 1)),
        "removed": float(1 - np.abs(predicted["PUR"].off).mean() / of_f),
        # the mean size of a normal number of this deviation
        "left by chance": float(np.sqrt(2 / np.pi) * np.mean(predicted["PUR"].error) / of_f),
    }


def _falling(statement: str, frame: pd.DataFrame, name: str) -> Claim:
    """Return the claim that a number falls, by the line through the years that fits best."""
    years = frame["year"].to_numpy(dtype=np.float64)
    values, errors = frame[name].to_numpy(), frame[f"{name} error"].to_numpy()
    slope, error = slope_of(years, values, errors)
    finding = Finding.UNTOLD_YEARS
    if abs(slope) > NOISE_WIDTH * error:
        finding = Finding.HOLDS if slope < 0 else Finding.FAILS
    details = ", ".join(
        f"{value:.4f} ({noise:.4f}) in {row['year']} of {row['people']:,} people"
        for value, noise, (_, row) in zip(values, errors, frame.iterrows(), strict=True)
    )
    return Claim(statement, finding, f"{10 * slope:+.4f} in ten years, standard error {10 * error:.4f}; {details}")


def slope_of(years: FloatArray, values: FloatArray, errors: FloatArray) -> tuple[float, float]:
    """Return the slope of the weighted least-squares line, and its standard error.

    Where the values scatter about the line by more than their errors, the standard error grows with the scatter.

    Examples
    --------
    >>> slope, error = slope_of(np.array([0.0, 1.0, 2.0]), np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.1, 0.1]))
    >>> round(slope, 12), round(error, 6)
    (-1.0, 0.070711)
    """
    weights = 1.0 / errors**2
    centred = years - np.average(years, weights=weights)
    spread = float(weights @ centred**2)
    slope = float(weights @ (centred * values)) / spread
    rest = values - np.average(values, weights=weights) - slope * centred
    scatter = float(weights @ rest**2) / (len(years) - 2) if len(years) > 2 else 1.0
    return slope, float(np.sqrt(max(1.0, scatter) / spread))
