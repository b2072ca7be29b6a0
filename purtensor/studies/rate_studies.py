"""Ready-made studies of how fast iterative proportional fitting converges, against one property of a PUR problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd

import purtensor as pt
from purtensor._options import items_of
from purtensor.problems.named import NamedProblem
from purtensor.problems.registry import variant
from purtensor.projection.deliver import require_uninterrupted, what_is_missing
from purtensor.projection.executing import Failure, outcomes

# the residuals to which sweeps are counted
TOLERANCES = (1e-6, 1e-10, 1e-12)

MOST_SWEEPS = 200_000

COLUMNS = (
    "study",
    "problem",
    "value",
    "tolerance",
    "sweeps",
    "sweeps_per_decade",
    "profiles",
    "pseudo_count_share",
    "slowest",
    "slowest_share",
    "failure",
)

_UNKNOWN: Mapping[str, Any] = MappingProxyType(
    {"sweeps_per_decade": math.nan, "slowest": "", "slowest_share": math.nan}
)


@dataclass(frozen=True, slots=True)
class RateStudy:
    """What a study varies.

    Attributes
    ----------
    option
        Of the family of PUR problems (`purtensor.problems.generate`).
    values
        What it takes.
    axis, title
        What the option is, and the heading of a figure.
    """

    option: str
    values: tuple[float, ...]
    axis: str
    title: str


STUDIES: Mapping[str, RateStudy] = MappingProxyType(
    {
        "lambda": RateStudy(
            "strength",
            (0.0, 1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0),
            "lambda, the pseudo-count of a profile",
            "Sweeps against the strength of the regularization",
        ),
        "size": RateStudy(
            "records",
            (3_000, 9_000, 20_000, 45_000, 10**5, 3 * 10**5, 10**6, 10**7),
            "N, the number of records",
            "Sweeps against the number of records",
        ),
        "granularity": RateStudy(
            "unprotected",
            (13, 27, 55, 110, 210, 420, 840, 1_680),
            "profiles of the unprotected attributes before sampling",
            "Sweeps against the granularity of the unprotected attributes",
        ),
    }
)


def study_rate(
    name: str,
    *,
    problem: str = "b",
    values: Sequence[float] | None = None,
    max_sweeps: int = MOST_SWEEPS,
    executor: Any = None,
    on_value: Callable[[int], object] = lambda done: None,
) -> pd.DataFrame:
    """Return how many sweeps a PUR problem needs while one of its options varies and all else stays.

    Ctrl-C ends the study with the values that were done until then.

    Parameters
    ----------
    name
        "lambda", "size" or "granularity".
    problem
        A named PUR problem; random numbers are those of its name.
    values
        What the option takes; those of `STUDIES` when None.
    executor
        What computes the values, as in `purtensor.project_many`: this process when None. The numbers do not depend on
        it.
    on_value
        Called with the number of values that have ended.

    Returns
    -------
    pandas.DataFrame
        One line per value and tolerance: `study`, `problem`, `value`, `tolerance` (residual, total mass 1),
        `sweeps` (missing where `max_sweeps` do not do), `sweeps_per_decade` (predicted at the projection),
        `profiles`, `pseudo_count_share` (of the profiles, those without a record), `slowest` (the profile that
        carries most of the slowest error), `slowest_share`, and `failure`: what a value raised whose numbers are
        missing; the others continue. After Ctrl-C `attrs["interrupted"]` says so, and values that were not done have no
        lines.

    Raises
    ------
    InvalidOptionError
        An unknown study or problem, or no value.
    KeyboardInterrupt
        After Ctrl-C, where no value was done yet.

    Examples
    --------
    >>> found = study_rate("lambda", problem="a", values=[1e-4])
    >>> found["sweeps"].tolist()
    [8, 19, 25]
    """
    if name not in STUDIES:
        raise pt.InvalidOptionError.among("study", name, STUDIES)
    study = STUDIES[name]
    chosen = study.values if values is None else items_of(values)
    if not chosen:
        raise pt.InvalidOptionError(
            f"values must be one or more for {study.option}, got {values!r}; None takes the study's"
        )
    variant(problem, **{study.option: chosen[0]})  # refuses a problem that is not of the family
    parts: dict[int, pd.DataFrame] = {}
    cut: dict[str, str] = {}
    try:
        with closing(outcomes(partial(_at_value, study.option, problem, max_sweeps), chosen, executor)) as found_values:
            for done, (n, outcome) in enumerate(found_values, start=1):
                part = _missing(outcome) if isinstance(outcome, Failure) else outcome
                parts[n] = part.assign(study=name, problem=problem, value=chosen[n])
                on_value(done)
    except KeyboardInterrupt:
        if not parts:
            raise
        cut = what_is_missing(f"{value:g}" for n, value in enumerate(chosen) if n not in parts)
    found = pd.concat([parts[n] for n in sorted(parts)], ignore_index=True)[list(COLUMNS)]
    found.attrs.update(cut)
    return found


def _at_value(option: str, problem: str, max_sweeps: int, value: float) -> pd.DataFrame:
    """Return the lines of one value."""
    posed = variant(problem, **{option: value})
    # without pseudo-counts only profiles with a record are left
    observed = variant(problem, **{option: value, "strength": 0.0}).profiles
    counts = [sweeps_to(posed, tolerance, max_sweeps) for tolerance in TOLERANCES]
    return _lines(counts, posed.profiles, 1.0 - observed / posed.profiles, **_slowness(posed))


def _missing(failure: Failure) -> pd.DataFrame:
    """Return the lines of a value that raised an error."""
    said = f"{type(failure.error).__name__}: {failure.error}"
    return _lines([None] * len(TOLERANCES), pd.NA, math.nan, **_UNKNOWN, failure=said)


def _lines(counts: list[int | None], profiles: Any, share: float, *, failure: str = "", **others: Any) -> pd.DataFrame:
    sweeps = pd.array(counts, dtype="Int64")
    of = pd.array([profiles] * len(counts), dtype="Int64")
    frame = pd.DataFrame({"tolerance": TOLERANCES, "sweeps": sweeps, "profiles": of, "pseudo_count_share": share})
    return frame.assign(**others, failure=failure)


def sweeps_to(problem: NamedProblem, tolerance: float, most: int = MOST_SWEEPS) -> int | None:
    """Return after how many plain sweeps the residual is first within the tolerance; None beyond `most`.

    The tolerance is that of `project`, which also wants the L1 miss within 100 times it.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C: sweeps that were not made are not counted.
    """
    result = require_uninterrupted(
        pt.project(
            problem.reference,
            problem.constraints,
            solver=pt.IPF(),
            tolerance=tolerance,
            max_iterations=most,
            certificate=False,
            on_failure="return",
        )
    )
    return result.iterations if result.converged else None


def _slowness(problem: NamedProblem) -> dict[str, Any]:
    """Return the predicted rate and what sets it; missing where nothing meets the constraints."""
    result = require_uninterrupted(
        pt.project(problem.reference, problem.constraints, certificate=False, on_failure="return")
    )
    if not result.converged:
        return dict(_UNKNOWN)
    rate = pt.convergence_rate(result)
    top = rate.slow_profiles(1)
    if not len(top):
        return {**_UNKNOWN, "sweeps_per_decade": rate.sweeps_per_decade}
    labels = (f"{name}={top[name].iloc[0]}" for name in problem.domain.attributes)
    return {
        "sweeps_per_decade": rate.sweeps_per_decade,
        "slowest": ", ".join(labels),
        "slowest_share": float(top["share"].iloc[0]),
    }
