"""The reports of `project` and `compare`, with their pictures."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from purtensor.cli.output import write_frame
from purtensor.cli.question import Question
from purtensor.comparison.result import Comparison
from purtensor.plots.comparison import plot_performance_profile, plot_time_ratios, plot_time_to_accuracy
from purtensor.plots.disparity import plot_disparity_ratios
from purtensor.plots.save_figure import save_figure
from purtensor.projection.result import Projection
from purtensor.report.comparison import MANY, PROFILE, RATIOS, comparison_report
from purtensor.report.fair_data import PICTURE, disparities, fair_data_report, largest_changes
from purtensor.report.page import write_report

_MOST_DRAWN = 40


def write_project_report(arguments: argparse.Namespace, question: Question, result: Projection[Any]) -> str:
    """Write report.html, disparities.csv and changes.csv into the folder that was typed; return the page's path."""
    folder = arguments.report
    folder.mkdir(parents=True, exist_ok=True)
    ratios, remark = disparities(result, question.f, response=arguments.response, protected=arguments.protected)
    write_frame(ratios, folder / "disparities.csv")
    write_frame(largest_changes(result, 1000), folder / "changes.csv")
    figure = None
    drawn = ratios.dropna(subset=["before", "after"])
    if 0 < len(drawn) <= _MOST_DRAWN:
        drawn = drawn.set_index(drawn["group"] + ": " + drawn[arguments.response])
        title = f"Disparity ratios: {arguments.file.name}"
        axes = plot_disparity_ratios(drawn[["before", "after"]], title=title)
        figure, *_ = save_figure(axes, folder / PICTURE, title=title)
    facts = {
        **question.facts,
        "response": arguments.response,
        "protected": ", ".join(arguments.protected),
        "conditions": arguments.conditions,
        "reference": arguments.reference,
    }
    page = fair_data_report(result, ratios, data=arguments.file.name, facts=facts, remark=remark, figure=figure)
    return str(write_report(page, folder / "report.html", command=arguments.typed))


def write_pictures(compared: Comparison, out: Path, baseline: str, command: str) -> Path:
    """Write the pictures and the report into a folder, and return the path of the report."""
    figures = {}
    for name, title, axes in _pictures(compared, baseline):
        figures[name], _ = save_figure(axes, out / _file_name(name), title=title)
    page = comparison_report(compared, figures, baseline=baseline)
    return write_report(page, out / "report.html", command=command)


def _pictures(compared: Comparison, baseline: str) -> Iterator[tuple[str, str, Axes]]:
    solvers = list(dict.fromkeys(compared.runs["solver"]))
    ratios = compared.ratios(baseline)
    if len(compared.problems) >= MANY:
        title = "Problems solved, by how much slower than the fastest"
        yield PROFILE, title, plot_performance_profile(compared.performance_profile(), title=title)
    if (ratios["solver"] != baseline).any():
        title = f"Times as multiples of {baseline}"
        yield RATIOS, title, plot_time_ratios(ratios, to=baseline, title=title)
    for problem in compared.problems:
        trace = compared.trace[compared.trace["problem"] == problem]
        if (trace["residual"].notna() & (trace["seconds"] > 0) & (trace["iteration"] > 0)).any():
            title = f"{problem}: time to accuracy"
            axes = plot_time_to_accuracy(trace, tolerance=compared.tolerance, title=title, solvers=solvers)
            yield problem, title, axes


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]+", "_", name).strip("_")
