"""A comparison of solvers as a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from purtensor.comparison.result import NUMBERS, Comparison, duration
from purtensor.report.page import Exhibit, Part, Report

SUMMARY = (
    "Every solver began at the reference of every problem and ran until the constraints were met to one tolerance, or "
    "until a limit. What it returned was judged from outside, by sums over the table. Those that converged were timed "
    "again in turns, and ratios are medians over the rounds of ratios within a round, so that a noisy machine cannot "
    "easily spoil them."
)
PROFILE = "performance_profile"
"""The name of the figure over all problems."""


def comparison_report(compared: Comparison, figures: Mapping[str, Path], *, baseline: str) -> Report:
    """Return the report of a comparison: all problems together, then one part a problem.

    Parameters
    ----------
    figures
        Files by name: `PROFILE`, and for each problem its name.
    baseline
        The solver whose time the ratios are over.
    """
    together = Part(
        "All problems",
        {"solvers": ", ".join(dict.fromkeys(compared.runs["solver"])), "problems": ", ".join(compared.problems)},
        (),
        [
            Exhibit(
                "Performance profile",
                "The share of problems that a solver solved within a factor of the fastest "
                "one's time (Dolan and More, 2002). The left end tells how often a solver is the fastest, the "
                "right end how many problems it solves at all.",
                figure=figures.get(PROFILE),
            ),
            Exhibit(
                f"Times as multiples of {baseline}",
                "Medians of paired ratios; an ending where there is no time to the tolerance.",
                table=ratio_table(compared, baseline),
                numbers="ratios.csv",
            ),
        ],
    )
    parts = [_part(compared, problem, figures.get(problem)) for problem in compared.problems]
    settings = {**compared.settings, **{name: text for name, text in NUMBERS.items() if name != "seconds"}}
    return Report("Solvers compared", SUMMARY, [together, *parts], settings)


def ratio_table(compared: Comparison, baseline: str) -> pd.DataFrame:
    """Return solvers by problems: the ratio to the baseline, or the ending of a run without a time."""
    found = compared.ratios(baseline)
    ratios = dict(zip(zip(found["problem"], found["solver"], strict=True), found["ratio"], strict=True))
    runs = compared.runs
    endings = {
        (problem, solver): f"{duration(seconds)}, no ratio" if converged else str(ending)
        for problem, solver, converged, seconds, ending in zip(
            runs["problem"], runs["solver"], runs["converged"], runs["seconds"], runs["ending"], strict=True
        )
    }

    def cell(problem: str, solver: str) -> str:
        ratio = ratios.get((problem, solver))
        return endings.get((problem, solver), "not run") if ratio is None else f"{ratio:,.3g}"

    solvers = list(dict.fromkeys(compared.runs["solver"]))
    columns = {problem: [cell(problem, solver) for solver in solvers] for problem in compared.problems}
    return pd.DataFrame({"solver": solvers, **columns})


def _part(compared: Comparison, problem: str, figure: Path | None) -> Part:
    here = (compared.runs["problem"] == problem).to_numpy()
    runs, shown = compared.runs[here], compared.table()[here]
    table = pd.DataFrame(
        {
            "solver": runs["solver"],
            "ending": runs["ending"],
            compared.time_heading: shown[compared.time_heading],
            "iterations": runs["iterations"],
            "cell touches": runs["cell_touches"],
            "largest miss": runs["residual"],
            "L1 miss": runs["residual_l1"],
            "KL to answer": runs["kl"],
            "dual gap": runs["dual_gap"],
            "memory": shown["memory"],
            "note": runs["note"],
        }
    )
    exhibits = [
        Exhibit(
            "Runs",
            "One line a solver; the KL divergence is of the certified answer from the table that came back, in nats.",
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
