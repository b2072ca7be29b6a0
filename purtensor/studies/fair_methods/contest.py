"""All methods on the same divisions of the same people: what is measured, and the noise of the divisions."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

import purtensor as pt
from purtensor._options import is_count
from purtensor._typing import Attributes, FloatArray, Table
from purtensor.comparison.peers.peer import missing_modules
from purtensor.comparison.plain import NotApplicableError
from purtensor.fairness.roles import roles_of
from purtensor.projection.executing import Failure, outcomes
from purtensor.studies.fair_methods.methods import METHODS, Answer, Method
from purtensor.studies.fair_methods.split import Split, splits
from purtensor.studies.population import Population, conditionals, utility_divergence
from purtensor.tables.coded import domain_of

# the columns of a comparison, and their meaning
MEASURES = {
    "log_loss": "mean of -log of the probability of what was the case, in nats",
    "auc": "area under the curve; of more than two responses the mean over them",
    "gap": "largest difference of two groups' mean probabilities of a response",
    "gap_train": "the same for the people that were learned from",
    "decision_gap": "the same of decisions: the likeliest response, or what the method decides itself",
    "accuracy": "share of the decisions that agree with the response",
    "utility_error": "divergence of test people from the prediction, in the (response, unprotected) marginal, in nats",
    "seconds": "processor time of learning, the median over the divisions",
}


def measure(answer: Answer, split: Split) -> dict[str, float]:
    """Return the measures of an answer except its time; NaN for measures of probabilities without probabilities."""
    people, test = split.judged.sum(axis=1), split.judged
    found = dict.fromkeys(MEASURES, float("nan"))
    chances = answer.probabilities
    if chances is not None:
        profile, response = np.nonzero(test)
        # a chance of 0 counts as the smallest step of float64, or one tree could make all infinite
        found["log_loss"] = log_loss(
            response, chances[profile], sample_weight=test[profile, response], labels=range(test.shape[1])
        )
        found["auc"] = _auc(chances, split)
        found["gap"] = gap(split.population, people[:, None] * chances)
        found["gap_train"] = gap(split.population, split.learned.sum(axis=1)[:, None] * chances)
        found["utility_error"] = utility_divergence(split.population, test, people[:, None] * chances)
    decisions = answer.decisions if chances is None or answer.decisions is not None else likeliest(chances)
    if decisions is not None:
        found["decision_gap"] = gap(split.population, people[:, None] * decisions)
        found["accuracy"] = float((decisions * test).sum() / test.sum())
    return found


def gap(population: Population, masses: FloatArray) -> float:
    """Return the largest difference between groups in p(y | s)."""
    rates = conditionals(population, masses)
    return float(np.nanmax(np.nanmax(rates, axis=1) - np.nanmin(rates, axis=1)))


def likeliest(chances: FloatArray) -> FloatArray:
    """Return the most likely response of each profile as decisions; the first of several."""
    return np.asarray(np.eye(chances.shape[1])[chances.argmax(axis=1)])


def _auc(chances: FloatArray, split: Split) -> float:
    """Return how often someone with a response has a higher probability of it than someone without."""
    test = split.judged
    found = []
    # of two responses one: the other has the same area
    for y in range(test.shape[1]) if test.shape[1] > 2 else (1,):
        weights = np.concatenate([test[:, y], test.sum(axis=1) - test[:, y]])
        truth = np.repeat([1, 0], len(test))
        kept = weights > 0
        if len(np.unique(truth[kept])) == 2:
            scores = np.tile(chances[:, y], 2)
            found.append(float(roc_auc_score(truth[kept], scores[kept], sample_weight=weights[kept])))
    return float(np.mean(found)) if found else float("nan")


# methods with public code that no package index has, so that nothing can be installed to compare with
UNPACKAGED = ("FairProjection", "LinearPost")

# for the first word of a method's name the module that it needs
MODULES = {"fairlearn": "fairlearn", "AIF360": "aif360", "equipy": "equipy"}


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """What each method reached; see `compare_fair`.

    Attributes
    ----------
    runs
        One row per split and method: `split`, `method`, the measures, and `note`, why there are none.
    skipped
        Methods that were not tried, with the module that is missing.
    """

    runs: pd.DataFrame
    skipped: Mapping[str, str]

    def summary(self) -> pd.DataFrame:
        """Return one row per method: the mean of each measure over the splits, and its standard error as `..._error`.

        The splits divide the same people, so that the error is of the mean over divisions, not over other people. Of
        seconds it is the median, without an error: the first call of a method may compile or import.
        """
        found = self.runs.groupby("method", sort=False)[list(MEASURES)]
        mean = found.mean().assign(seconds=found.median()["seconds"])
        error = found.sem().assign(seconds=np.nan)
        columns = [column for name in MEASURES for column in (name, f"{name}_error")]
        return mean.join(error.add_suffix("_error"))[columns].assign(splits=found.size()).reset_index()


def compare_fair(
    counts: Table,
    *,
    response: str,
    protected: Attributes,
    methods: Sequence[str] | None = None,
    times: int = 20,
    seed: int = 0,
    executor: Any = None,
    on_split: Callable[[int], object] = lambda done: None,
) -> Contest:
    """Return how well, how fairly and how fast methods predict, over random divisions of people.

    Two thirds of the people are learned from, the others judge. A method whose package is not installed is skipped by
    name; one that cannot be applied has a note in place of numbers.

    Parameters
    ----------
    counts
        Counts of individuals.
    response, protected
        The names of one attribute, and of one or more others.
    methods
        Names of `METHODS`; all when None.
    times
        How many divisions, 2 or more.
    seed
        Of the divisions, and of methods that draw.
    executor
        What runs the divisions, as in `purtensor.project_many`; with threads of this process times mean nothing.
    on_split
        Called with the number of divisions that are done.

    Raises
    ------
    InvalidOptionError
        A method that is not known, or another option.
    UnknownAttributeError
        The counts have no such attribute.
    InvalidTableError
        Everybody has the same response.

    Examples
    --------
    >>> import purtensor as pt
    >>> some = ["f, natural", "PUR, natural"]
    >>> roles = {"response": "income", "protected": ["gender", "race"]}
    >>> found = compare_fair(pt.datasets.adult(), **roles, methods=some, times=2).summary()
    >>> found["gap_train"].round(6).tolist()[1], bool(found["gap"][0] > 10 * found["gap"][1])
    (0.0, True)
    """
    chosen = list(METHODS) if methods is None else list(methods)
    strange = [name for name in chosen if name not in METHODS]
    if strange:
        raise pt.InvalidOptionError.among("method", strange[0], METHODS)
    if not (is_count(times) and times >= 2):
        raise pt.InvalidOptionError(f"times must be an integer of at least 2, got {times!r}")
    if not is_count(seed):
        raise pt.InvalidOptionError(f"seed must be a non-negative integer, got {seed!r}")
    roles = roles_of(domain_of(counts), response, protected)
    responses = int((pt.marginal(counts, response) > 0).sum())
    if responses < 2:
        raise pt.InvalidTableError(
            f"the response {response!r} must have 2 categories or more to predict, got {responses}"
        )
    skipped = {name: lacking for name in chosen if (lacking := _missing_module(name))}
    tried = [name for name in chosen if name not in skipped]
    divided = splits(counts, response=response, protected=roles.protected, times=times, seed=seed)
    work = [(number, split, tried) for number, split in enumerate(divided)]
    rows: dict[int, list[dict[str, Any]]] = {}
    for number, outcome in outcomes(_rows, work, executor):
        if isinstance(outcome, Failure):
            raise outcome.error
        rows[number] = outcome
        on_split(len(rows))
    measured = [row for number in sorted(rows) for row in rows[number]]
    return Contest(pd.DataFrame(measured, columns=["split", "method", *MEASURES, "note"]), skipped)


def _rows(work: tuple[int, Split, list[str]]) -> list[dict[str, Any]]:
    number, split, names = work
    return [{"split": number, "method": name, **_try_method(METHODS[name], split)} for name in names]


def _try_method(method: Method, split: Split) -> dict[str, Any]:
    # the processor's time, as other divisions may run at the same time
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other packages, about their own future
            answer = method(split)
    except (NotApplicableError, pt.InfeasibleError, ImportError) as error:
        return {"note": str(error)}
    seconds = time.process_time() - started
    return measure(answer, split) | {"seconds": seconds, "note": ""}


def _missing_module(name: str) -> str:
    module = MODULES.get(name.split()[0])
    return "" if module is None else missing_modules(module)
