"""The bootstrap: the noise of any number that is computed from a sample, by drawing the sample again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import xarray as xr

from purtensor._options import check_choice, check_flag, is_count, is_number, items_of
from purtensor._printing import Shown
from purtensor._typing import Table
from purtensor.errors import InvalidOptionError
from purtensor.projection.executing import Failure, gather
from purtensor.sampling.checks import whole_counts
from purtensor.sampling.draw import sample
from purtensor.tables.coded import encode

_MOST_LABELS = 20
"""So many numbers are shown."""

Statistic: TypeAlias = "float | Table | pd.Series | Mapping[Any, float]"
"""What a statistic may be: a number, or numbers with labels."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bootstrap(Shown):
    """A statistic on resampled data; returned by `purtensor.bootstrap`.

    Attributes
    ----------
    estimate
        The statistic of the sample itself, by label; a single number has the label "value".
    draws
        One row per sample that was drawn, one column per label; NaN where the statistic of that sample lacks the label.
    failures
        The draws whose statistic raised an error; they have no row.
    interrupted
        Whether Ctrl-C came before all were done.
    """

    estimate: pd.Series
    draws: pd.DataFrame = field(repr=False)
    failures: tuple[Failure, ...] = ()
    interrupted: bool = False

    def summary(self) -> dict[str, str]:
        """Return a summary as named texts, with the statistic if it is short."""
        errors = self.standard_error.reindex(self.estimate.index)
        numbers = {
            str(label): f"{value:.6g}, standard error {error:.3g}"
            for (label, value), error in zip(self.estimate.items(), errors, strict=True)
        }
        return {
            "draws": f"{len(self.draws):,}",
            **(numbers if len(numbers) <= _MOST_LABELS else {"labels": f"{len(numbers):,}"}),
            "failures": f"{len(self.failures):,}" if self.failures else "",
            "interrupted": "yes" if self.interrupted else "",
        }

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the statistic with its standard errors and intervals."""
        found = pd.concat([self.estimate.rename("estimate"), self.standard_error, self.interval()], axis="columns")
        return {"estimates, with the central 95 % of the draws": found.head(_MOST_LABELS)}

    @property
    def standard_error(self) -> pd.Series:
        """The standard deviation of the statistic over the draws."""
        return self.draws.std(ddof=1).rename("standard_error")

    @property
    def bias(self) -> pd.Series:
        """The mean over the draws minus the estimate, which estimates the bias of the estimate."""
        return (self.draws.mean() - self.estimate).rename("bias")

    def interval(self, level: float = 0.95) -> pd.DataFrame:
        """Return the bounds, `low` and `high`, of the central share `level` of the draws (percentile intervals).

        Raises
        ------
        InvalidOptionError
            A level that is not between 0 and 1.
        """
        if not (is_number(level) and 0 < level < 1):
            raise InvalidOptionError(f"level must be between 0 and 1, got {level!r}")
        low, high = self.draws.quantile((1 - level) / 2), self.draws.quantile((1 + level) / 2)
        return pd.DataFrame({"low": low, "high": high})


@dataclass(frozen=True, slots=True)
class _Draw:
    """One sample to draw and measure: all that a worker needs."""

    samples: tuple[Table, ...]
    statistic: Callable[..., Statistic]
    seed: np.random.SeedSequence


def bootstrap(
    samples: Table | Sequence[Table],
    statistic: Callable[..., Statistic],
    *,
    times: int = 1000,
    seed: int,
    executor: Any = None,
    on_failure: str = "raise",
    progress: bool = False,
) -> Bootstrap:
    """Compute a statistic on samples of the same size that are drawn from the sample with replacement.

    The statistic may do anything with the counts: regularise, project, predict, decide. Whereas `standard_errors` is a
    first-order approximation, the bootstrap repeats the whole computation; it costs `times` such calls, and accounts
    for small counts and zeros. The same seed gives the same draws for every executor.

    Parameters
    ----------
    samples
        A table of counts of individuals, or several independent ones, such as training and test data. Each is
        resampled on its own profiles.
    statistic
        A function of the drawn table, or of the drawn tables in their order. It returns a number, a table, a pandas
        Series or a mapping from labels to numbers.
    times
        The number of samples, at least 2.
    seed
        Draw n gets the n-th child of this seed, in any process.
    executor
        Runs the draws, as in `project_many`. Other processes must be able to unpickle the statistic.
    on_failure
        What to do when the statistic raises an error: "raise" it, or "omit" the draw and list it in `failures`; the
        result is then conditional on the existence of an answer.
    progress
        Whether to show the number of completed draws and the estimated remaining time on a terminal.

    Returns
    -------
    Bootstrap
        With `.estimate`, `.standard_error`, `.bias`, `.interval(level)` and `.draws`. After Ctrl-C it has the
        completed draws.

    Raises
    ------
    InvalidOptionError
        No table, a statistic that is not callable or returns no numbers, another option; or fewer than two draws
        with an answer.
    InvalidTableError
        A table without mass, or whose values are not whole numbers, such as probabilities.
    KeyboardInterrupt
        After Ctrl-C, if fewer than two draws were completed.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = {"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}
    >>> counts = pt.tabulate(people, weights=[40, 10, 30, 20])
    >>> def gap(counts):
    ...     return pt.attributable_disparity(counts, response="hired", protected="sex", reference={"sex": "m"})
    >>> found = pt.bootstrap(counts, gap, times=400, seed=1)
    >>> found.estimate["yes", "f"].round(3), found.standard_error["yes", "f"].round(2)  # (.2 .8 + .6 .4) / 50 is .09^2
    (np.float64(-0.4), np.float64(0.09))
    """
    tables = _tables(samples)
    if not callable(statistic):
        raise InvalidOptionError(f"statistic must be a function of a table of counts, got {statistic!r}")
    if not (is_count(times) and times >= 2):
        raise InvalidOptionError(f"times must be an integer of at least 2, got {times!r}")
    if not is_count(seed):
        raise InvalidOptionError(f"seed must be a non-negative integer, got {seed!r}")
    check_choice("on_failure", on_failure, ("raise", "omit"))
    check_flag("progress", progress)
    estimate = _label(statistic(*tables))
    members = [_Draw(tables, statistic, child) for child in np.random.SeedSequence(seed).spawn(times)]
    found = gather(_measure, members, executor, progress=progress, fails=on_failure == "raise")
    rows = found.results
    if len(rows) < 2 and found.interrupted:
        raise KeyboardInterrupt
    if len(rows) < 2:
        raise InvalidOptionError(
            f"{len(found.failures)} of {times} draws failed, the first because: {found.failures[0].error}; "
            "at least two successful draws are needed"
        )
    draws = pd.DataFrame({number: rows[number].reindex(estimate.index) for number in sorted(rows)}).T
    draws.index.name = "draw"
    return Bootstrap(estimate, draws, tuple(found.failures), found.interrupted)


def _tables(samples: Table | Sequence[Table]) -> tuple[Table, ...]:
    many = [samples] if isinstance(samples, Table) else items_of(samples)
    if not many or not all(isinstance(one, Table) for one in many):
        raise InvalidOptionError(f"samples must be a table of counts, or several, got {type(samples).__qualname__}")
    for table in many:
        whole_counts(encode(table))
    return tuple(many)


def _measure(draw: _Draw) -> pd.Series:
    rng = np.random.default_rng(draw.seed)
    # drawing people with replacement is a multinomial draw from their counts
    drawn = [sample(table, int(table.sum()), seed=rng) for table in draw.samples]
    return _label(draw.statistic(*drawn))


def _label(value: Any) -> pd.Series:
    """Return a statistic as numbers by label."""
    if isinstance(value, xr.DataArray) and value.ndim:
        found = value.to_series()
    elif isinstance(value, pd.Series):
        found = value
    elif isinstance(value, Mapping):
        found = pd.Series(dict(value))
    else:
        found = pd.Series({"value": value.item() if isinstance(value, xr.DataArray) else value})
    try:
        return found.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidOptionError(f"statistic must return numbers, got {value!r}") from None
