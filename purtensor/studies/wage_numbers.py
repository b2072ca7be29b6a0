"""The numbers of the wage study as tidy frames."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray
from purtensor.studies.claims import Means
from purtensor.studies.members import describe_failures
from purtensor.studies.population import UNSEEN, regularize_counts, shares_of
from purtensor.studies.projections import errors_of
from purtensor.studies.simulated import CONVERGED, ENDINGS, INFEASIBLE, MODELS, PROJECTIONS, VERDICTS
from purtensor.studies.wage import REFERENCE, ROLES, WageStudy, pair_masses


def frames(study: WageStudy) -> dict[str, pd.DataFrame]:
    """Return the numbers of all figures and tables by name, one observation per row."""
    return {
        "prevalences": shares_of(study.counts),
        "conditionals": own_conditionals(study),
        "own_disparities": own_disparities(study),
        "disparities": disparities(study),
        "natural_predictions": natural_predictions(study),
        "generated": generated(study),
        "utility_errors": utility_errors(study),
        "by_unseen_rule": by_unseen_rule(study),
        "certificates": certificates(study),
        "left_out": left_out(study),
    }


def own_conditionals(study: WageStudy) -> pd.DataFrame:
    """Return p(y | s) of f and of its projections."""
    tables = {name: pair_masses(table, study.population) for name, table in study.distributions.items()}
    return _by_pair(study, {name: pairs / pairs.sum(axis=0) for name, pairs in tables.items()})


def own_disparities(study: WageStudy) -> pd.DataFrame:
    """Return attributable disparities in f and in its projections, with the delta method's standard errors."""
    found = errors_of(study.f, study.projections, size=round(float(study.counts.sum())), **ROLES)
    rows = []
    for name, table in study.distributions.items():
        pairs = pair_masses(table, study.population)
        off = study.compared(pairs / pairs.sum(axis=0))
        known = found[name].attributable_disparity(**ROLES, reference=REFERENCE)
        own: dict[Any, float] = known.to_series().to_dict()
        errors = {tuple(map(str, profile)): error for profile, error in own.items()}
        for y, response in enumerate(study.population.response_categories):
            for at, s in enumerate(study.others):
                group = study.population.groups[s]
                rows.append((name, response, ", ".join(group), off[y, at], errors[response, *group]))
    return pd.DataFrame(rows, columns=["model", "response", "group", "disparity", "standard_error"])


def disparities(study: WageStudy) -> pd.DataFrame:
    """Return attributable disparities over the simulated sets: of the training data, and predicted on test data."""
    found = {"train": study.members["train"]}
    found |= {name: study.natural[:, m] for m, name in enumerate(MODELS)}
    return _summarise(study, {name: study.compared(values) for name, values in found.items()}, study.others)


def natural_predictions(study: WageStudy) -> pd.DataFrame:
    """Return p(y | s) as the natural classifiers predict it on the simulated test sets, beside f(y)."""
    everyone = list(range(len(study.population.groups)))
    found = {name: study.natural[:, m] for m, name in enumerate(MODELS)}
    frame = _summarise(study, found, everyone)
    of_response = dict(zip(study.population.response_categories, response_shares(study), strict=True))
    return frame.assign(f_of_response=frame["response"].map(of_response))


def generated(study: WageStudy) -> pd.DataFrame:
    """Return attributable disparities of data that were generated from f and from its projections."""
    return _summarise(study, {name: study.compared(values) for name, values in study.generated.items()}, study.others)


def utility_errors(study: WageStudy) -> pd.DataFrame:
    """Return the utility error of each natural classifier on each simulated test set, in nats."""
    errors = study.utility_error
    frame = pd.DataFrame(errors, columns=list(MODELS)).rename_axis("member").reset_index()
    return frame.melt("member", var_name="model", value_name="nats").dropna()


def certificates(study: WageStudy) -> pd.DataFrame:
    """Return how well the projections of the simulated sets are solved, a row for each set of conditions."""
    rows = []
    for c, name in enumerate(PROJECTIONS):
        ending = study.members["ending"][:, c]
        solved = ending == CONVERGED
        own = {key: study.members[key][solved, c] for key in ("residual", "marginal_miss", "tv_bound", "iterations")}
        infeasible = int((ending == ENDINGS.index(INFEASIBLE)).sum())
        rows.append(
            {
                "projection": name,
                "sets": len(ending),
                "solved": int(solved.sum()),
                "infeasible, proved": infeasible,
                "on a face": int(((study.members["verdict"][:, c] == VERDICTS.index("boundary")) & solved).sum()),
                "not converged": len(ending) - int(solved.sum()) - infeasible,
                "largest residual": _largest(own["residual"]),
                "largest miss of a marginal": _largest(own["marginal_miss"]),
                "largest TV bound": _largest(own["tv_bound"]),
                "certified": int((own["tv_bound"] < 1).sum()),
                "most Newton steps": _largest(own["iterations"]),
            }
        )
    return pd.DataFrame(rows)


def left_out(study: WageStudy) -> pd.DataFrame:
    """Return the projections of simulated sets without an answer, one per row, with what is proved.

    The conditions of a set with the verdict "infeasible" cannot be met, by a certificate that was checked.
    """
    rows = [
        (
            study.member_numbers[member],
            PROJECTIONS[c],
            ENDINGS[study.members["ending"][member, c]],
            VERDICTS[study.members["verdict"][member, c]] or "not asked",
        )
        for member, c in np.argwhere(study.members["ending"] != CONVERGED)
    ]
    return pd.DataFrame(rows, columns=["member", "projection", "ending", "verdict"])


def by_unseen_rule(study: WageStudy) -> pd.DataFrame:
    """Return what the rule for test people whose predictor profile was not trained on changes, a row a model and rule.

    Returns
    -------
    pandas.DataFrame
        `model`, `rule`; `mean disparity`, of the absolute means over the sets; `rms z`, of these means in their
        standard errors; and `utility error`, the mean over the sets in nats.
    """
    rows = []
    for m, model in enumerate(MODELS):
        for r, rule in enumerate(UNSEEN):
            means = means_of(study, study.members["natural"][:, r, m])
            errors = study.members["utility_error"][:, r, m]
            rows.append((model, rule, np.abs(means.off).mean(), means.root_mean_square, np.nanmean(errors)))
    return pd.DataFrame(rows, columns=["model", "rule", "mean disparity", "rms z", "utility error"])


def facts(study: WageStudy) -> dict[str, str]:
    """Return what was computed from what, in words."""
    profiles, unseen = study.members["profiles"], study.members["unseen_mass"]
    left_out = _describe_left_out(study)
    return {
        "people": f"{float(study.counts.sum()):,.0f}",
        "profiles": f"{int(study.f.size):,} supported; {int(profiles.min()):,} to {int(profiles.max()):,} in a set",
        "lambda": f"{study.strength:g}, washed out {study.f.attrs['washed_out_share']:.3g} (lambda * profiles / N)",
        "simulated": f"{study.sets:,} training and test sets, {len(PROJECTIONS) * study.sets:,} projections, "
        f"seed {study.seed}",
        "drawn from": _describe_draws(study),
        "unseen": f"{100 * unseen.mean():.2f} % (at most {100 * unseen.max():.2f} %) of the test people have a profile "
        f"that is not in the training set: {UNSEEN[study.unseen]}",
        "groups": f"{len(study.others)} besides {', '.join(REFERENCE.values())}, of {len(study.population.groups)}; "
        "the paper states seven in one place and six in another",
        "left out": left_out or "no set: all projections were solved",
        **describe_failures(study.failures),
        "SHA-256 of counts and settings": study.identity,
    }


def _describe_draws(study: WageStudy) -> str:
    """Describe the distribution of the sets, and how often f would give a profile without observations."""
    observed = study.population.counts > 0
    of_nobody = 1.0 - float(regularize_counts(study.population.counts, study.strength)[observed].sum())
    # 1 - (1 - of_nobody)^N without cancellation
    share = -np.expm1(float(study.counts.sum()) * np.log1p(-of_nobody))
    unobserved = int(study.f.size - np.count_nonzero(observed))
    of_f = f"has pseudo-counts only in {unobserved:,} of {int(study.f.size):,} profiles"
    if study.drawn_from == "regularized":
        return f"f, which {of_f}, so that {100 * share:.0f} % of the sets contain such a profile"
    return f"the survey as it is; f {of_f}, and {100 * share:.0f} % of sets drawn from f would contain such a profile"


def _describe_left_out(study: WageStudy) -> str:
    """Return how many sets of each projection were left out, and of how many that is proved to be right."""
    parts = []
    for c, name in enumerate(PROJECTIONS):
        ending = study.members["ending"][:, c]
        count, infeasible = int((ending != CONVERGED).sum()), int((ending == ENDINGS.index(INFEASIBLE)).sum())
        if count:
            parts.append(f"{count} of {name} ({infeasible} proved infeasible)")
    return ", ".join(parts)


def means_of(study: WageStudy, values: FloatArray) -> Means:
    """Return the mean disparities over the sets, each with the standard error of the mean."""
    mean, deviation, sets = _mean_and_deviation(study.compared(values))
    with np.errstate(invalid="ignore", divide="ignore"):
        return Means(mean, deviation / np.sqrt(sets), int(sets.min()), pairs_of(study))


def pairs_of(study: WageStudy) -> list[str]:
    """Return what each disparity is about: response category and group, by rows."""
    groups = [", ".join(study.population.groups[s]) for s in study.others]
    return [f"{group} at {response}" for response in study.population.response_categories for group in groups]


def response_shares(study: WageStudy) -> FloatArray:
    """Return f(y)."""
    pairs = pair_masses(study.f, study.population)
    return np.asarray(pairs.sum(axis=1))


def _by_pair(study: WageStudy, found: Mapping[str, FloatArray]) -> pd.DataFrame:
    rows = [
        (name, response, ", ".join(group), values[y, s])
        for name, values in found.items()
        for y, response in enumerate(study.population.response_categories)
        for s, group in enumerate(study.population.groups)
    ]
    return pd.DataFrame(rows, columns=["model", "response", "group", "probability"])


def _summarise(study: WageStudy, found: Mapping[str, FloatArray], groups: list[int]) -> pd.DataFrame:
    rows = []
    for name, values in found.items():
        mean, deviation, sets = _mean_and_deviation(values)
        for y, response in enumerate(study.population.response_categories):
            for at, s in enumerate(groups):
                rows.append(
                    (
                        name,
                        response,
                        ", ".join(study.population.groups[s]),
                        mean[y, at],
                        deviation[y, at],
                        deviation[y, at] / np.sqrt(sets[y, at]),
                        sets[y, at],
                    )
                )
    columns = ["model", "response", "group", "mean", "deviation", "standard_error", "sets"]
    return pd.DataFrame(rows, columns=columns)


def _mean_and_deviation(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, standard deviation and number of the sets that have a value; NaN where none has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no set at all: NaN is what that is
        return (
            np.nanmean(values, axis=0),
            np.nanstd(values, axis=0, ddof=1),
            np.isfinite(values).sum(axis=0),
        )


def _largest(values: FloatArray) -> float:
    return float(values.max()) if len(values) else float("nan")
