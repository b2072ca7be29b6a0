"""All methods on the same divisions of the same people, with the noise of the divisions."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import is_count
from purtensor._typing import Attributes, Table
from purtensor.comparison.peers.peer import missing_modules
from purtensor.comparison.plain import NotApplicableError
from purtensor.errors import InfeasibleError, InvalidOptionError, InvalidTableError
from purtensor.fairness.roles import roles_of
from purtensor.projection.executing import Failure, outcomes
from purtensor.studies.fair_methods import own, peers
from purtensor.studies.fair_methods.measures import MEASURES, measured
from purtensor.studies.fair_methods.own import Method
from purtensor.studies.fair_methods.split import Split, splits
from purtensor.tables.coded import domain_of
from purtensor.tables.marginal import marginal

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "f, natural": own.natural(""),
        **{f"{name}, natural": own.natural(name) for name in own.PROJECTIONS},
        "PUR of smoothed f, natural": own.natural_of_smoothed,
        "PUR of smoothed f, fair decisions": own.fair_decisions,
        "logistic regression": own.weighted_regression(""),
        **{f"{name}, weights for logistic regression": own.weighted_regression(name) for name in own.PROJECTIONS},
        "forest": own.weighted_forest(""),
        **{f"{name}, weights for forest": own.weighted_forest(name) for name in own.PROJECTIONS},
        "fairlearn CorrelationRemover": peers.correlation_remover,
        "fairlearn ThresholdOptimizer": peers.threshold_optimizer,
        "fairlearn ExponentiatedGradient": peers.exponentiated_gradient,
        "AIF360 Reweighing": peers.reweighing,
        "equipy MultiWasserstein": peers.barycentre,
    }
)
"""What is compared, by name."""

UNPACKAGED = ("FairProjection", "LinearPost")
"""Methods with public code that no package index has, so that nothing can be installed to compare with."""

MODULES = {"fairlearn": "fairlearn", "AIF360": "aif360", "equipy": "equipy"}
"""For the first word of a method's name the module that it needs."""


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
        raise InvalidOptionError.among("method", strange[0], METHODS)
    if not (is_count(times) and times >= 2):
        raise InvalidOptionError(f"times must be an integer of at least 2, got {times!r}")
    if not is_count(seed):
        raise InvalidOptionError(f"seed must be a non-negative integer, got {seed!r}")
    roles = roles_of(domain_of(counts), response, protected)
    responses = int((marginal(counts, response) > 0).sum())
    if responses < 2:
        raise InvalidTableError(f"the response {response!r} must have 2 categories or more to predict, got {responses}")
    skipped = {name: lacking for name in chosen if (lacking := _lacking(name))}
    tried = [name for name in chosen if name not in skipped]
    divided = splits(counts, response=response, protected=roles.protected, times=times, seed=seed)
    work = [(number, split, tried) for number, split in enumerate(divided)]
    rows: dict[int, list[dict[str, Any]]] = {}
    for number, outcome in outcomes(_rows, work, executor):
        if isinstance(outcome, Failure):
            raise outcome.error
        rows[number] = outcome
        on_split(len(rows))
    told = [row for number in sorted(rows) for row in rows[number]]
    return Contest(pd.DataFrame(told, columns=["split", "method", *MEASURES, "note"]), skipped)


def _rows(work: tuple[int, Split, list[str]]) -> list[dict[str, Any]]:
    number, split, names = work
    return [{"split": number, "method": name, **_tried(METHODS[name], split)} for name in names]


def _tried(method: Method, split: Split) -> dict[str, Any]:
    # the processor's time, as other divisions may run at the same time
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other packages, about their own future
            answer = method(split)
    except (NotApplicableError, InfeasibleError, ImportError) as error:
        return {"note": str(error)}
    seconds = time.process_time() - started
    return measured(answer, split) | {"seconds": seconds, "note": ""}


def _lacking(name: str) -> str:
    module = MODULES.get(name.split()[0])
    return "" if module is None else missing_modules(module)
