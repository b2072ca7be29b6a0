"""What a comparison found: tidy numbers, and the tables that are made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from purtensor._optional import require_package
from purtensor._options import check_choice
from purtensor._printing import draw
from purtensor.comparison.outcome import Outcome
from purtensor.comparison.shown import duration, mebibytes, scientific
from purtensor.comparison.statistics import compare_pairs, growth, performance_profile, time_to_accuracy
from purtensor.errors import InvalidOptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# what the numbers of a run mean
NUMBERS: Mapping[str, str] = {
    "profiles": "of the support of the reference",
    "residual": "largest miss of a target by the returned table, total mass 1",
    "residual_l1": "sum of misses in the worst constraint, total mass 1",
    "kl": "nats: D(certified answer || returned table)",
    "tv": "proved: total variation between the returned table and the exact projection",
    "log_ratio": "nats: largest |log(returned table / certified answer)|, that of some rare profile",
    "dual_gap": "nats: how far the dual is below its maximum; solvers that hand back potentials only",
    "iterations": "sweeps or steps, as the solver counts them",
    "cell_touches": "visits of a profile: a sweep visits every profile once a constraint",
    "seconds": "median over the rounds, of the first run where it did not converge",
    "seconds_low": "fastest round",
    "seconds_high": "slowest round",
    "peak_bytes": "rise of the resident memory at the most",
}


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
        sizes = {problem: float(facts.get("profiles", "nan").replace(",", "")) for problem, facts in problems.items()}
        rows = [
            _row(problem, solver, sizes[problem], outcome, times) for (problem, solver), outcome in outcomes.items()
        ]
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
                "residual": [scientific(value) for value in runs["residual"]],
                "KL to answer": [scientific(value) for value in runs["kl"]],
                "iterations": ["" if math.isnan(value) else f"{value:,.0f}" for value in runs["iterations"]],
                self.time_heading: [duration(value) for value in runs["seconds"]],
                "memory": [mebibytes(value) for value in runs["peak_bytes"]],
            }
        )

    def to_markdown(self) -> str:
        """Return `table()` in Markdown; needs the extra `report`."""
        require_package("tabulate", "report", "such tables need")
        return str(self.table().to_markdown(index=False, disable_numparse=True))

    def to_latex(self) -> str:
        """Return `table()` in LaTeX, for the package booktabs; needs the extra `report`."""
        require_package("jinja2", "report", "such tables need")
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
        self._check_words(to, "seconds")
        rounds = self.times.pivot_table(index=["problem", "round"], columns="solver", values="seconds", sort=False)
        rows = []
        for problem, turns in rounds.groupby("problem", sort=False):
            for solver in rounds.columns if to in rounds else ():
                ratios = (turns[solver] / turns[to]).dropna()
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
        """Return the seconds until the residual first reached each level; NaN if it never did.

        Column `cell_touches` has the work in visits of profiles, which no clock and no processor changes: iterations
        times what the run visited in each on average.
        """
        each = self.runs["cell_touches"] / self.runs["iterations"]
        return time_to_accuracy(self.trace, levels, self.runs[["problem", "solver"]].assign(each=each))

    def paired(self, to: str, measure: str = "seconds") -> pd.DataFrame:
        """Return how solvers compare with `to` over the problems that both solved, as over a random family.

        Columns solver, problems, better, ratio, low, high, p: the median ratio with the ends between which it is with
        95 % confidence, and the p value of Wilcoxon's signed-rank test, adjusted for the number of solvers (Holm).

        Examples
        --------
        >>> import purtensor as pt
        >>> family = [f"pur(responses=2, protected=2, unprotected=5, records=300, seed={k})" for k in range(6)]
        >>> found = pt.compare(family, ["newton", "ipf"], repetitions=0).paired("newton", "iterations")
        >>> int(found["problems"].iloc[0]), bool(found["p"].iloc[0] < 0.05), bool(found["ratio"].iloc[0] > 2)
        (6, True, True)
        """
        self._check_words(to, measure)
        return compare_pairs(self.runs, to, measure)

    def growth(self, measure: str = "seconds") -> pd.DataFrame:
        """Return by which power of the number of profiles a measure grows, solver by solver.

        Columns solver, problems, power, error (of the power); NaN with fewer than three sizes.

        Examples
        --------
        >>> import purtensor as pt
        >>> sizes = [f"trips(zones={zones})" for zones in (10, 20, 40)]
        >>> found = pt.compare(sizes, "ipf", repetitions=0).growth("cell_touches")
        >>> bool(0.8 < found["power"].iloc[0] < 1.2)
        True
        """
        self._check_words(None, measure)
        return growth(self.runs, measure)

    def _check_words(self, solver: str | None, measure: str) -> None:
        if solver is not None and solver not in set(self.runs["solver"]):
            compared = list(dict.fromkeys(self.runs["solver"]))
            message = f"no solver {solver!r}; compared were {', '.join(compared)}"
            raise InvalidOptionError.among("solver", solver, compared, message)
        check_choice("measure", measure, tuple(NUMBERS))


def _row(problem: str, solver: str, profiles: float, outcome: Outcome, times: pd.DataFrame) -> dict[str, object]:
    here = times[(times["problem"] == problem) & (times["solver"] == solver)]["seconds"].dropna()
    rounds = here.to_numpy() if len(here) else np.array([outcome.seconds])
    return {
        "problem": problem,
        "solver": solver,
        "profiles": profiles,
        "ending": outcome.ending.words,
        "converged": outcome.ending.converged,
        "residual": outcome.residual,
        "residual_l1": outcome.residual_l1,
        "kl": outcome.kl,
        "tv": outcome.tv,
        "log_ratio": outcome.log_ratio,
        "dual_gap": outcome.dual_gap,
        "iterations": outcome.iterations,
        "cell_touches": outcome.cell_touches,
        "seconds": float(np.median(rounds)),
        "seconds_low": float(rounds.min()),
        "seconds_high": float(rounds.max()),
        "peak_bytes": outcome.peak_bytes,
        "note": outcome.note,
    }
