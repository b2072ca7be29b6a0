"""The pictures and the report of a comparison of solvers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from matplotlib.axes import Axes

from purtensor.comparison.result import Comparison
from purtensor.plots.comparison import plot_performance_profile, plot_time_ratios, plot_time_to_accuracy
from purtensor.plots.save_figure import save_figure
from purtensor.report.comparison import MANY, PROFILE, RATIOS, comparison_report
from purtensor.report.page import write_report


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
