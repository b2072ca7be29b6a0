"""A comparison of solvers as a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from purtensor.comparison.result import NUMBERS, Comparison
from purtensor.comparison.shown import duration
from purtensor.report.page import Exhibit, Part, Report

SUMMARY = (
    "Every solver began at the reference of every problem and ran until the constraints were met to one tolerance, or "
    "until a limit. What it returned was judged from outside, by sums over the table. Those that converged were timed "
    "again in turns, and ratios are medians over the rounds of ratios within a round, so that a noisy machine cannot "
    "easily spoil them."
)
PROFILE = "performance_profile"
# the names of the figure over all problems: of many, and of few
RATIOS = "time_ratios"

# problems: shares of fewer are too coarse for a performance profile
MANY = 10

# between a number and its unit, which stay on one line
_HARD_BLANK = "\N{NO-BREAK SPACE}"


def comparison_report(compared: Comparison, figures: Mapping[str, Path], *, baseline: str) -> Report:
    """Return the report of a comparison: all problems together, then one part a problem.

    Parameters
    ----------
    figures
        Files by name: `PROFILE` or `RATIOS`, and for each problem its name.
    baseline
        The solver whose time the ratios are over.
    """
    together = Part(
        "All problems",
        {"solvers": ", ".join(dict.fromkeys(compared.runs["solver"])), "problems": ", ".join(compared.problems)},
        (),
        [
            *_profile(figures),
            Exhibit(
                f"Times as multiples of {baseline}",
                "Medians of paired ratios, with the least and the largest over the rounds; a tie is where these are on "
                "both sides of 1. A solver that did not reach the tolerance has its ending there.",
                figure=figures.get(RATIOS),
                table=ratio_table(compared, baseline),
                numbers="ratios.csv",
            ),
        ],
    )
    parts = [_part(compared, problem, figures.get(problem)) for problem in compared.problems]
    settings = {**compared.settings, **{name: text for name, text in NUMBERS.items() if name != "seconds"}}
    return Report("Solvers compared", SUMMARY, [together, *parts], settings)


def _profile(figures: Mapping[str, Path]) -> list[Exhibit]:
    if PROFILE not in figures:
        return []
    text = (
        "The share of problems that a solver solved within a factor of the fastest one's time (Dolan and More, 2002). "
        "The left end shows how often a solver is the fastest, the right end how many problems it solves at all."
    )
    return [Exhibit("Performance profile", text, figure=figures[PROFILE])]


def ratio_table(compared: Comparison, baseline: str) -> pd.DataFrame:
    """Return solvers by problems: the ratio to the baseline with its interval, or how a run without a time ended."""
    found = compared.ratios(baseline)
    ratios = {
        (problem, solver): _interval(*interval, is_baseline=solver == baseline)
        for problem, solver, *interval in found[["problem", "solver", "ratio", "low", "high"]].values.tolist()
    }
    runs = compared.runs
    endings = {
        (problem, solver): f"{duration(seconds)}, no ratio" if converged else str(ending)
        for problem, solver, converged, seconds, ending in zip(
            runs["problem"], runs["solver"], runs["converged"], runs["seconds"], runs["ending"], strict=True
        )
    }

    def cell(problem: str, solver: str) -> str:
        return ratios.get((problem, solver)) or endings.get((problem, solver), "not run")

    solvers = list(dict.fromkeys(compared.runs["solver"]))
    columns = {problem: [cell(problem, solver) for solver in solvers] for problem in compared.problems}
    return pd.DataFrame({"solver": solvers, **columns})


def _interval(ratio: float, low: float, high: float, *, is_baseline: bool) -> str:
    if is_baseline or low == high:
        return f"{ratio:,.3g}"
    return f"{ratio:,.3g} ({low:,.3g} to {high:,.3g}){', a tie' if low <= 1.0 <= high else ''}"


def _part(compared: Comparison, problem: str, figure: Path | None) -> Part:
    here = (compared.runs["problem"] == problem).to_numpy()
    runs, shown = compared.runs[here], compared.table()[here]
    table = pd.DataFrame(
        {
            "solver": runs["solver"],
            "ending": runs["ending"],
            compared.time_heading: shown[compared.time_heading].str.replace(" ", _HARD_BLANK),
            "iterations": runs["iterations"],
            "cell touches": runs["cell_touches"],
            "largest miss": runs["residual"],
            "L1 miss": runs["residual_l1"],
            "KL to answer": runs["kl"],
            "total variation": runs["tv"],
            "log ratio": runs["log_ratio"],
            "dual gap": runs["dual_gap"],
            "memory": shown["memory"].str.replace(" ", _HARD_BLANK),
            "note": runs["note"],
        }
    )
    exhibits = [
        Exhibit(
            "Runs",
            "One line per solver; the KL divergence is of the certified answer from the table that came back, in nats.",
            table=table,
            numbers="runs.csv",
        )
    ]
    if figure is not None:
        exhibits.insert(
            0,
            Exhibit(
                "Time to accuracy",
                "The residual over the time of one run. A solver that cannot be looked into has its end only.",
                figure=figure,
                numbers="trace.csv",
            ),
        )
    return Part(problem, compared.problems[problem], (), exhibits)
