"""The report of `purtensor project`: a page with its picture, and the numbers beside it."""

from __future__ import annotations

import argparse
from typing import Any

from purtensor.cli.output import write_frame
from purtensor.cli.question import Question
from purtensor.plots.disparity import plot_disparity_ratios
from purtensor.plots.save_figure import save_figure
from purtensor.projection.result import Projection
from purtensor.report.fair_data import PICTURE, disparities, fair_data_report, largest_changes
from purtensor.report.page import write_report

_MOST_DRAWN = 40


def write_project_report(arguments: argparse.Namespace, question: Question, result: Projection[Any]) -> str:
    """Write report.html, disparities.csv and changes.csv into the folder that was typed; return the page's path."""
    folder = arguments.report
    folder.mkdir(parents=True, exist_ok=True)
    ratios, told = disparities(result, question.f, response=arguments.response, protected=arguments.protected)
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
    page = fair_data_report(result, ratios, data=arguments.file.name, facts=facts, told=told, figure=figure)
    return str(write_report(page, folder / "report.html", command=arguments.typed))
