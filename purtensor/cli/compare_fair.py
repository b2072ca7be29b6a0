"""`purtensor compare --fair`: ways to fair predictions, as a table, files and a report."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import purtensor as pt
from purtensor._typing import Table
from purtensor.cli.declarations import DONE
from purtensor.cli.installation import list_versions
from purtensor.cli.output import bar, show_facts, show_frame, write_frame
from purtensor.cli.records import counts_of
from purtensor.plots.panels import plot_methods
from purtensor.plots.save_figure import save_figure
from purtensor.report.page import Exhibit, Part, Report, write_report
from purtensor.studies.adult_study import PROTECTED, RESPONSE
from purtensor.studies.fair_methods.contest import MEASURES, UNPACKAGED, Contest, compare_fair

# data that are named and not read: how Adult is tabulated
EMBEDDED: Mapping[str, Mapping[str, Any]] = {
    "adult": {},
    "adult-rich": {
        "age_edges": (25, 35, 45, 55, 65),
        "attributes": (RESPONSE, *PROTECTED, "age_group", "workclass9", "education16"),
    },
}

HEADINGS = {
    "log_loss": "log-loss",
    "auc": "AUC",
    "gap": "gap",
    "gap_train": "gap, train",
    "decision_gap": "gap of decisions",
    "accuracy": "accuracy",
    "utility_error": "utility error",
    "seconds": "seconds",
}
# the measures that the picture shows
PANELS = {name: HEADINGS[name] for name in ("log_loss", "gap", "decision_gap", "accuracy")}

SUMMARY = (
    "People are divided at random, repeatedly, into two thirds for training and one third for testing; every method "
    "learns from the same divisions. Parity is a gap of 0. Standard errors of the mean over the divisions are in "
    "brackets, in units of the last digit. For fair decisions, a higher accuracy is not an advantage in itself: "
    "accuracy is the agreement with decisions that were not fair, and the most frequent response for everybody is "
    "accurate too."
)


def write_fair(arguments: argparse.Namespace, executor: Any = None) -> int:
    """Compare, print the table, write the numbers and the report, and return the exit code."""
    counts, response, protected = _data(arguments)
    with bar("dividing and learning", arguments.splits) as shown:
        found = compare_fair(
            counts,
            response=response,
            protected=protected,
            methods=arguments.methods,
            times=arguments.splits,
            seed=arguments.seed,
            executor=executor,
            on_split=shown.done,
        )
    facts = {
        "data": f"{arguments.fair}, {float(counts.sum()):,.0f} people",
        "response": response,
        "protected": ", ".join(protected),
        "divisions": f"{arguments.splits} of seed {arguments.seed}",
        "skipped": "; ".join(f"{name}: no {module}" for name, module in found.skipped.items()),
        "not compared": f"{', '.join(UNPACKAGED)}: published without a package",
    }
    table = fair_table(found)
    show_facts("fair predictions", facts)
    show_frame("means over the divisions", table)
    show_facts(f"written to {arguments.out}", _write_results(found, table, facts, arguments))
    return DONE


def fair_table(found: Contest) -> pd.DataFrame:
    """Return a row per method, as text: means with their standard errors in units of the last digit."""
    summary = found.summary()
    # the first note of a method stands for all divisions
    notes = found.runs.groupby("method", sort=False)["note"].agg(lambda notes: next(filter(None, notes), ""))
    table = pd.DataFrame({"method": summary["method"]})
    for name, heading in HEADINGS.items():
        pairs = zip(summary[name], summary[f"{name}_error"], strict=True)
        table[heading] = [_cell(mean, error, digits=2 if name == "seconds" else 4) for mean, error in pairs]
    remarks = [notes[method] for method in summary["method"]]
    return table.assign(note=remarks) if any(remarks) else table


def _cell(mean: float, error: float, digits: int) -> str:
    if pd.isna(mean):
        return ""
    return f"{mean:.{digits}f}({error * 10**digits:.0f})" if error < float("inf") else f"{mean:.{digits}f}"


def _data(arguments: argparse.Namespace) -> tuple[Table, str, tuple[str, ...]]:
    if arguments.fair in EMBEDDED:
        return pt.datasets.adult(**EMBEDDED[arguments.fair]), RESPONSE, PROTECTED
    return counts_of(Path(arguments.fair), arguments), arguments.response, tuple(arguments.protected)


def _write_results(
    found: Contest, table: pd.DataFrame, facts: Mapping[str, str], arguments: argparse.Namespace
) -> dict[str, str]:
    """Write everything and return what is where."""
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    write_frame(found.runs, out / "fair_runs.csv")
    write_frame(found.summary(), out / "fair_summary.csv")
    title = f"Ways to fair predictions: {facts['data']}"
    axes = plot_methods(found.summary(), PANELS, title=title, error="one standard error of the mean over the divisions")
    figure, _ = save_figure(axes, out / "fair", title=title)
    meanings = [(HEADINGS[name], meaning) for name, meaning in MEASURES.items()]
    exhibits = [
        Exhibit(
            "Methods",
            "Lower is better, except for accuracy and AUC. Methods that give decisions without probabilities have no "
            "log-loss.",
            figure=figure,
            table=table,
            numbers="fair_summary.csv, fair_runs.csv",
        ),
        Exhibit("What the columns are", "", table=pd.DataFrame(meanings, columns=["measure", "meaning"])),
    ]
    part = Part(facts["data"], {name: fact for name, fact in facts.items() if fact}, (), exhibits)
    page = Report("Ways to fair predictions", SUMMARY, [part], versions=list_versions())
    report = write_report(page, out / "fair.html", command=arguments.typed)
    return {"report": report.name, "picture": "fair.svg, fair.png", "numbers": "fair_summary.csv, fair_runs.csv"}
