"""The numbers of the wage study as tidy frames."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray
from purtensor.studies.claims import Means
from purtensor.studies.members import describe_failures, run_members
from purtensor.studies.population import UNSEEN, regularize_counts, shares_of
from purtensor.studies.projections import errors_of
from purtensor.studies.simulated import CONVERGED, ENDINGS, INFEASIBLE, MODELS, PROJECTIONS, VERDICTS, Simulation
from purtensor.studies.wage import REFERENCE, ROLES, WageStudy, pair_masses

# how many times the survey's size the simulated sets of `rest_by_size` have, and how many there are at most
FACTORS = (1, 4, 16)
MOST_SETS = 400
# of each projection of a set, what `certificates` lists
_EVIDENCE = ("ending", "verdict", "residual", "marginal_miss", "tv_bound", "iterations")


def frames(study: WageStudy) -> dict[str, pd.DataFrame]:
    """Return the numbers of all figures and tables by name, one observation per row."""
    return {
        "prevalences": shares_of(study.counts),
        "conditionals": own_conditionals(study),
        "own_disparities": own_disparities(study),
        "disparities": disparities(study),
        "natural_predictions": natural_predictions(study),
        "generated": disparities_of_generated(study),
        "utility_errors": utility_errors(study),
        "by_unseen_rule": by_unseen_rule(study),
        "certificates": certificates(study),
        "left_out": list_left_out(study),
    }


def own_conditionals(study: WageStudy) -> pd.DataFrame:
    """Return p(y | s) of f and of its projections."""
    tables = {name: pair_masses(table, study.population) for name, table in study.distributions.items()}
    found = {name: {"probability": pairs / pairs.sum(axis=0)} for name, pairs in tables.items()}
    return _by_pair(study, found, _everyone(study))


def own_disparities(study: WageStudy) -> pd.DataFrame:
    """Return attributable disparities in f and in its projections, with the delta method's standard errors."""
    known = errors_of(study.f, study.projections, size=round(float(study.counts.sum())), **ROLES)
    found = {}
    for name, table in study.distributions.items():
        pairs = pair_masses(table, study.population)
        errors = known[name].attributable_disparity(**ROLES, reference=REFERENCE).to_series()
        of_pairs = {tuple(map(str, pair)): error for pair, error in zip(errors.index.tolist(), errors, strict=True)}
        found[name] = {
            "disparity": study.compare(pairs / pairs.sum(axis=0)),
            "standard_error": np.array(
                [
                    [of_pairs[response, *study.population.groups[s]] for s in study.others]
                    for response in study.population.response_categories
                ]
            ),
        }
    return _by_pair(study, found, study.others)


def disparities(study: WageStudy) -> pd.DataFrame:
    """Return attributable disparities over the simulated sets: of the training data, and predicted on test data."""
    found = {"train": study.members["train"], **_predictions(study)}
    return _summarise(study, {name: study.compare(values) for name, values in found.items()}, study.others)


def natural_predictions(study: WageStudy) -> pd.DataFrame:
    """Return p(y | s) as the natural classifiers predict it on the simulated test sets, beside f(y)."""
    frame = _summarise(study, _predictions(study), _everyone(study))
    of_response = dict(zip(study.population.response_categories, response_shares(study), strict=True))
    return frame.assign(f_of_response=frame["response"].map(of_response))


def disparities_of_generated(study: WageStudy) -> pd.DataFrame:
    """Return attributable disparities of data that were generated from f and from its projections."""
    return _summarise(study, {name: study.compare(values) for name, values in study.generated.items()}, study.others)


def utility_errors(study: WageStudy) -> pd.DataFrame:
    """Return the utility error of each natural classifier on each simulated test set, in nats."""
    errors = study.utility_error
    frame = pd.DataFrame(errors, columns=list(MODELS)).rename_axis("member").reset_index()
    return frame.melt("member", var_name="model", value_name="nats").dropna()


def certificates(study: WageStudy) -> pd.DataFrame:
    """Return how well the projections of the simulated sets are solved, a row for each set of conditions."""
    rows = []
    for c, name in enumerate(PROJECTIONS):
        of_sets = {key: values[:, c] for key, values in study.members.items() if key in _EVIDENCE}
        ending, solved = of_sets["ending"], of_sets["ending"] == CONVERGED
        largest = {key: float(values[solved].max()) if solved.any() else np.nan for key, values in of_sets.items()}
        infeasible = int((ending == ENDINGS.index(INFEASIBLE)).sum())
        rows.append(
            {
                "projection": name,
                "sets": len(ending),
                "solved": int(solved.sum()),
                "infeasible, proved": infeasible,
                "on a face": int(((of_sets["verdict"] == VERDICTS.index("boundary")) & solved).sum()),
                "not converged": len(ending) - int(solved.sum()) - infeasible,
                "largest residual": largest["residual"],
                "largest miss of a marginal": largest["marginal_miss"],
                "largest TV bound": largest["tv_bound"],
                "certified": int((of_sets["tv_bound"][solved] < 1).sum()),
                "most Newton steps": largest["iterations"],
            }
        )
    return pd.DataFrame(rows)


def list_left_out(study: WageStudy) -> pd.DataFrame:
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


def rest_by_size(study: WageStudy, *, factors: tuple[int, ...] = FACTORS, workers: int = 1) -> pd.DataFrame:
    """Return what PUR leaves of disparity on test data, a row a size of the simulated sets.

    Natural classifiers are ratios of small counts, and the mean of a ratio is not the ratio of the means: what is left
    is of order 1/N, below the noise of one set, which is of order 1/sqrt(N), and above the error of many sets' mean.

    Returns
    -------
    pandas.DataFrame
        `size` of each set, `sets`, `rms z` (root mean square of the mean disparities in their standard errors: near 1
        where only chance is left), `largest rest` that is no chance, `unseen`: the share of test people whose profile
        was not trained on.
    """
    sets = min(study.sets, MOST_SETS)
    rows = []
    for factor in factors:
        size = factor * round(float(study.counts.sum()))
        # a stream of its own for each size
        seed = int(np.random.SeedSequence([study.seed, factor]).generate_state(1)[0])
        simulation = Simulation(study.population, study.masses, size, size, study.strength)
        found = run_members(simulation, sets, seed=seed, workers=workers)
        off = study.compare(found["natural"][:, list(UNSEEN).index(study.unseen), MODELS.index("PUR")])
        off = off[np.isfinite(off).all(axis=(1, 2))]
        means = Means(off.mean(axis=0), off.std(axis=0, ddof=1) / np.sqrt(len(off)), len(off))
        rows.append((size, len(off), means.root_mean_square, means.rest, float(found["unseen_mass"].mean())))
    return pd.DataFrame(rows, columns=["size", "sets", "rms z", "largest rest", "unseen"])


def facts(study: WageStudy) -> dict[str, str]:
    """Return what was computed from what, in words."""
    profiles, unseen = study.members["profiles"], study.members["unseen_mass"]
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
        "left out": _describe_left_out(study) or "no set: all projections were solved",
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
    left = list_left_out(study).groupby("projection", sort=False)["ending"]
    return ", ".join(f"{len(own)} of {name} ({(own == INFEASIBLE).sum()} proved infeasible)" for name, own in left)


def means_of(study: WageStudy, values: FloatArray) -> Means:
    """Return the mean disparities over the sets, each with the standard error of the mean."""
    mean, deviation, sets = _mean_and_deviation(study.compare(values))
    with np.errstate(invalid="ignore", divide="ignore"):
        return Means(mean, deviation / np.sqrt(sets), int(sets.min()), study.pairs)


def response_shares(study: WageStudy) -> FloatArray:
    """Return f(y)."""
    pairs = pair_masses(study.f, study.population)
    return np.asarray(pairs.sum(axis=1))


def _everyone(study: WageStudy) -> list[int]:
    return list(range(len(study.population.groups)))


def _predictions(study: WageStudy) -> dict[str, FloatArray]:
    """Return what each model predicts on the test sets, shape (sets, responses, protected profiles)."""
    return {name: study.natural[:, m] for m, name in enumerate(MODELS)}


def _by_pair(study: WageStudy, found: Mapping[str, Mapping[str, FloatArray]], groups: list[int]) -> pd.DataFrame:
    """Return a row per model, response and group, from arrays of shape (responses, groups) by model and column."""
    names = [", ".join(study.population.groups[s]) for s in groups]
    index = pd.MultiIndex.from_product(
        [found, study.population.response_categories, names], names=["model", "response", "group"]
    )
    columns = next(iter(found.values()))
    numbers = {column: np.concatenate([own[column].ravel() for own in found.values()]) for column in columns}
    return pd.DataFrame(numbers, index=index).reset_index()


def _summarise(study: WageStudy, found: Mapping[str, FloatArray], groups: list[int]) -> pd.DataFrame:
    summaries = {}
    for name, values in found.items():
        mean, deviation, sets = _mean_and_deviation(values)
        errors = deviation / np.sqrt(sets)
        summaries[name] = {"mean": mean, "deviation": deviation, "standard_error": errors, "sets": sets}
    return _by_pair(study, summaries, groups)


def _mean_and_deviation(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, standard deviation and number of the sets that have a value; NaN where none has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no set at all: NaN is what that is
        return (
            np.nanmean(values, axis=0),
            np.nanstd(values, axis=0, ddof=1),
            np.isfinite(values).sum(axis=0),
        )
