"""What a comparison found: tidy numbers, and the tables that are made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from purtensor._printing import draw
from purtensor.comparison.outcome import Outcome
from purtensor.comparison.profiles import performance_profile, time_to_accuracy
from purtensor.errors import InvalidOptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUMBERS: Mapping[str, str] = {
    "residual": "largest miss of a target by the returned table, total mass 1",
    "residual_l1": "sum of misses in the worst constraint, total mass 1",
    "kl": "nats: D(certified answer || returned table)",
    "dual_gap": "nats: how far the dual is below its maximum; solvers that hand back potentials only",
    "iterations": "sweeps or steps, as the solver counts them",
    "cell_touches": "visits of a profile: a sweep visits every profile once a constraint",
    "seconds": "median over the rounds, of the first run where it did not converge",
    "seconds_low": "fastest round",
    "seconds_high": "slowest round",
    "peak_bytes": "rise of the resident memory at the most",
}
"""What the numbers of a run mean."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of a comparison of solvers on problems, with one row per run.

    Attributes
    ----------
    runs
        One row for each problem and solver: `ending`, `converged`, `note`, and the numbers that `NUMBERS` explains.
    times
        Seconds of each timed round: columns problem, solver, round, seconds.
    trace
        Columns problem, solver, iteration, seconds, residual, residual_l1, dual_gap.
    tolerance
        The tolerance for convergence.
    problems
        For each problem its size and the certificate of its answer, as text.
    settings
        The rule, the budget, the processor and the versions, as text.
    side_by_side
        Whether other runs were computed while a run was timed; tables then say so over their times.

    Examples
    --------
    >>> import purtensor as pt
    >>> compared = pt.compare("a", ["ipf", "newton"], repetitions=1)
    >>> [round(residual, 12) < 1e-10 for residual in compared.runs["residual"]]
    [True, True]
    """

    runs: pd.DataFrame
    times: pd.DataFrame
    trace: pd.DataFrame
    tolerance: float
    problems: Mapping[str, Mapping[str, str]] = field(repr=False)
    settings: Mapping[str, str] = field(repr=False)
    side_by_side: bool = False

    @classmethod
    def of(
        cls,
        outcomes: Mapping[tuple[str, str], Outcome],
        times: pd.DataFrame,
        tolerance: float,
        problems: Mapping[str, Mapping[str, str]],
        settings: Mapping[str, str],
        *,
        side_by_side: bool = False,
    ) -> Comparison:
        """Return the comparison of these outcomes, by problem and solver, with the times of the rounds."""
        rows = [_row(problem, solver, outcome, times) for (problem, solver), outcome in outcomes.items()]
        lines = [
            (problem, solver, line.iteration, line.seconds, line.residual, line.residual_l1, line.dual_gap)
            for (problem, solver), outcome in outcomes.items()
            for line in outcome.lines
        ]
        trace = pd.DataFrame(
            lines, columns=["problem", "solver", "iteration", "seconds", "residual", "residual_l1", "dual_gap"]
        )
        return cls(pd.DataFrame(rows), times, trace, tolerance, problems, settings, side_by_side)

    def __repr__(self) -> str:
        return f"Comparison\n{self.table().to_string(index=False)}"

    def _repr_html_(self) -> str:
        return str(self.table().to_html(index=False))

    @property
    def time_heading(self) -> str:
        """The heading of the times in tables."""
        return "time (side by side)" if self.side_by_side else "time"

    def plot(self, *, title: str = "") -> Axes:
        """Return axes with the residuals over time for one problem, or the time ratios to the first solver for several.

        See `purtensor.plots.plot_time_to_accuracy` and `plot_time_ratios`.

        Raises
        ------
        InvalidTableError
            There is nothing to draw: no trace, or no problem on which two solvers converged.
        """
        if self.runs["problem"].nunique() == 1:
            return draw("plot_time_to_accuracy", self.trace, tolerance=self.tolerance, title=title)
        first = str(self.runs["solver"].iloc[0])
        return draw("plot_time_ratios", self.ratios(first), to=first, title=title)

    def table(self) -> pd.DataFrame:
        """Return the runs as a table for reading: few digits, times with units, the ending of every run.

        Examples
        --------
        >>> import purtensor as pt
        >>> pt.compare("haberman", "newton", repetitions=1).table()[["problem", "solver", "ending"]].values.tolist()
        [['haberman', 'newton', 'converged']]
        """
        runs = self.runs
        return pd.DataFrame(
            {
                "problem": runs["problem"],
                "solver": runs["solver"],
                "ending": runs["ending"],
                "residual": [_scientific(value) for value in runs["residual"]],
                "KL to answer": [_scientific(value) for value in runs["kl"]],
                "iterations": ["" if math.isnan(value) else f"{value:,.0f}" for value in runs["iterations"]],
                self.time_heading: [duration(value) for value in runs["seconds"]],
                "memory": [_bytes(value) for value in runs["peak_bytes"]],
            }
        )

    def to_markdown(self) -> str:
        """Return `table()` in Markdown; needs the extra `report`."""
        _require("tabulate")
        return str(self.table().to_markdown(index=False, disable_numparse=True))

    def to_latex(self) -> str:
        """Return `table()` in LaTeX, for the package booktabs; needs the extra `report`."""
        _require("jinja2")
        return str(self.table().to_latex(index=False, escape=True))

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write `runs`, in full precision, as CSV; return the text when no path is given."""
        text: str | None = self.runs.to_csv(path, index=False)
        return text

    def to_xarray(self) -> xr.Dataset:
        """Return the numbers of the runs over the dimensions problem and solver, each with its meaning."""
        indexed = self.runs.set_index(["problem", "solver"])
        dataset: xr.Dataset = xr.Dataset.from_dataframe(indexed.sort_index())
        dataset = dataset.sel(
            problem=list(dict.fromkeys(self.runs["problem"])), solver=list(dict.fromkeys(self.runs["solver"]))
        )
        for name, meaning in NUMBERS.items():
            dataset[name].attrs["long_name"] = meaning
        dataset.attrs.update(self.settings)
        return dataset

    def ratios(self, to: str) -> pd.DataFrame:
        """Return the time of each solver divided by that of the solver `to`: medians of the ratios within rounds.

        Parameters
        ----------
        to
            The name of the solver that the others are divided by.

        Returns
        -------
        pandas.DataFrame
            Columns problem, solver, ratio, low, high; only where both converged.

        Raises
        ------
        InvalidOptionError
            No solver of that name.

        Examples
        --------
        >>> import purtensor as pt
        >>> compared = pt.compare("a", ["newton", "ipf"], repetitions=1)
        >>> compared.ratios("newton")["ratio"].iloc[0]
        1.0
        """
        if to not in set(self.runs["solver"]):
            compared = list(dict.fromkeys(self.runs["solver"]))
            told = f"no solver {to!r}; compared were {', '.join(compared)}"
            raise InvalidOptionError.among("solver", to, compared, told)
        rounds = self.times.pivot_table(index=["problem", "round"], columns="solver", values="seconds", sort=False)
        rows = []
        for problem, paired in rounds.groupby("problem", sort=False):
            for solver in rounds.columns if to in rounds else ():
                ratios = (paired[solver] / paired[to]).dropna()
                if len(ratios):
                    rows.append((problem, solver, float(ratios.median()), float(ratios.min()), float(ratios.max())))
        return pd.DataFrame(rows, columns=["problem", "solver", "ratio", "low", "high"])

    def performance_profile(self) -> pd.DataFrame:
        """Return, for each solver, the share of problems that it solved within each factor of the fastest one.

        After E. D. Dolan and J. J. More, Math. Program. 91 (2002), 201-213: columns solver, factor, share, the steps
        of a right-continuous function. Problems that no solver solved are excluded; a problem that a solver did not
        solve is never within a factor.
        """
        return performance_profile(self.runs)

    def time_to_accuracy(self, levels: tuple[float, ...] = (1e-4, 1e-6, 1e-8, 1e-10)) -> pd.DataFrame:
        """Return the seconds until the residual first reached each level; NaN if it never did."""
        return time_to_accuracy(self.trace, levels)


def duration(seconds: float) -> str:
    """Return seconds in a unit that needs no exponent; nothing for NaN.

    Examples
    --------
    >>> duration(0.00123), duration(75.0), duration(float("nan"))
    ('1.23 ms', '75 s', '')
    """
    if math.isnan(seconds):
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _row(problem: str, solver: str, outcome: Outcome, times: pd.DataFrame) -> dict[str, object]:
    here = times[(times["problem"] == problem) & (times["solver"] == solver)]["seconds"].dropna()
    rounds = here.to_numpy() if len(here) else np.array([outcome.seconds])
    return {
        "problem": problem,
        "solver": solver,
        "ending": outcome.ending.words,
        "converged": outcome.ending.converged,
        "residual": outcome.residual,
        "residual_l1": outcome.residual_l1,
        "kl": outcome.kl,
        "dual_gap": outcome.dual_gap,
        "iterations": outcome.iterations,
        "cell_touches": outcome.cell_touches,
        "seconds": float(np.median(rounds)),
        "seconds_low": float(rounds.min()),
        "seconds_high": float(rounds.max()),
        "peak_bytes": outcome.peak_bytes,
        "note": outcome.note,
    }


def _scientific(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1e}"


def _bytes(count: float) -> str:
    if math.isnan(count):
        return ""
    return f"{count / 2**20:,.1f} MiB" if count >= 0.1 * 2**20 else "< 0.1 MiB"


def _require(package: str) -> None:
    """Say what to install where a package is missing with which pandas writes tables.

    Raises
    ------
    ImportError
        It is.
    """
    if find_spec(package) is None:
        raise ImportError(f"such tables need the package {package}: pip install 'purtensor[report]'", name=package)
