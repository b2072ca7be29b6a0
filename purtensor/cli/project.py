"""`purtensor project` and `relax`: the fair version of the user's own data, and the nearest one where there is none."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

import numpy as np

import purtensor as pt
from purtensor._optional import require_package
from purtensor._typing import Profile, Table
from purtensor.cli.output import NETCDF, require_writable, show_facts, show_table, write_frame
from purtensor.cli.people import People, read_people, write_people
from purtensor.cli.question import STORE, Question, is_stored, read_question, read_stored_question, shorten
from purtensor.solving.solvers.by_name import solver_named
from purtensor.tables.coded import encode
from purtensor.tables.io.files import ending, require_writable_labels

_MOST_ROWS = 40
_MOST_DRAWN = 40
_MOST_CHANGES = 1000


def run(arguments: argparse.Namespace) -> None:
    """Read the file, project it, write the projection, and print what was done."""
    solver = solver_named(arguments.solver)
    on_disk = is_stored(arguments.file)
    if on_disk and (arguments.weights_out or arguments.rows is not None or arguments.report):
        raise pt.InvalidOptionError(
            f"{arguments.file.name} is a stored table: --weights-out, --rows and --report need records"
        )
    # a report that could not be written is refused before anything is solved
    if arguments.report is not None:
        _require_report(arguments.report)
    question, people = _read(arguments, on_disk=on_disk)
    try:
        result = pt.project(
            question.reference,
            question.constraints,
            solver=solver,
            tolerance=arguments.tolerance,
            stop_on=arguments.stop_on,
            max_iterations=arguments.max_iterations,
            max_seconds=arguments.max_seconds,
            progress=True,
            ratio_bounds=arguments.ratio_bounds,
            cell_bounds=arguments.cell_bounds,
            distance=arguments.distance,
        )
    except pt.InfeasibleError as error:
        if on_disk:
            raise
        raise shorten(error, arguments, question) from error
    # whether the file holds a whole result, and not its table alone
    is_whole = arguments.out.suffix != STORE if on_disk else ending(arguments.out) == NETCDF
    facts = _write(arguments, people, result, is_whole=is_whole)
    if arguments.report is not None:
        facts["report"] = _write_report(arguments, question, result)
    if (arguments.ratio_bounds is not None or arguments.cell_bounds is not None) and not on_disk:
        at_bound = np.asarray(result.at_bound.values)
        facts["at a bound"] = (
            f"{int((at_bound < 0).sum()):,} profiles at the lower one, {int((at_bound > 0).sum()):,} at the upper"
        )
    if arguments.stop_on == "log_ratio":
        facts["each profile"] = f"proved within a factor of exp({result.log_ratio_bound:.1e}) of the exact one"
    show_facts("projection", {**result.summary(), "washed out": "", **facts, "written to": str(arguments.out)})
    _show_disparities(question.f, result.table, arguments, "projection")


def run_relax(arguments: argparse.Namespace) -> None:
    """Read the file, relax its conditions, write the distribution, and print what was reached."""
    conditions, soft = arguments.conditions, dict.fromkeys(arguments.soft)
    if not soft or not soft.keys() <= set(conditions):
        raise pt.InvalidOptionError(f"--soft must name letters of the conditions {conditions}, got {arguments.soft!r}")
    question, people = _read(arguments)
    result = pt.relax(
        question.reference,
        question.constraints,
        soft=[conditions.index(letter) for letter in soft],
        penalty=arguments.penalty,
        strength=arguments.penalty_strength,
        tolerance=arguments.tolerance,
        max_iterations=arguments.max_iterations,
    )
    facts = _write(arguments, people, result, is_whole=ending(arguments.out) == NETCDF)
    scopes = [" x ".join(constraint.scope) for constraint in result.constraints]
    asked = {f"soft: {scopes[k]}": f"{result.penalty}, strength {result.strength:g}" for k in result.soft}
    # what is washed out is shown with the data
    shown = {**asked, **result.summary(), "washed out": "", **facts, "written to": str(arguments.out)}
    show_facts("relaxation", shown)
    _show_disparities(question.f, result.table, arguments, "relaxation")


def _read(arguments: argparse.Namespace, *, on_disk: bool = False) -> tuple[Question, People | None]:
    """Return the question, and the records for weights and rows; refused first is what could not be written later."""
    if not on_disk:
        ending(arguments.out)
    require_writable(arguments.out)
    question = read_stored_question(arguments) if on_disk else read_question(arguments)
    people = None
    if not on_disk:
        require_writable_labels(question.reference, arguments.out)
        people = read_people(arguments, encode(question.f).domain.attributes)
    show_facts("data", question.facts)
    return question, people


def _write(arguments: argparse.Namespace, people: People | None, result: Any, *, is_whole: bool) -> dict[str, str]:
    """Write the result, its weights and rows, and return facts about them."""
    if arguments.rows is None:
        pt.save(result if is_whole else result.table, arguments.out)
    return write_people(arguments, people, result)


def _show_disparities(f: Table, after: Table, arguments: argparse.Namespace, name: str) -> None:
    """Print p(y | s) / p(y | s0) of the data and of what `name` says; s0 is the protected profile with most mass."""
    response, protected = arguments.response, arguments.protected
    # of tables with zeros, only the groups that occur are compared
    groups = _masses(f, protected)
    largest = max(groups, key=groups.__getitem__)
    reference = dict(zip(protected, largest, strict=True))
    ratios = [
        pt.disparity_ratio(table, response=response, protected=protected, reference=reference) for table in (f, after)
    ]
    rows = []
    for group, (outcome,) in itertools.product(groups, _masses(f, [response])):
        at = {response: outcome, **dict(zip(protected, group, strict=True))}
        if group != largest:
            rows.append((_text(group), str(outcome), *(f"{float(t.sel(at).item()):.4f}" for t in ratios)))
    title = f"disparity ratio, p({response} | group) / p({response} | {_text(largest)})"
    show_table(title, (", ".join(protected), response, "data", name), rows, _MOST_ROWS)


def _masses(f: Table, attributes: list[str]) -> dict[Profile, float]:
    coded = encode(pt.marginal(f, attributes))
    return {coded.label(row): float(mass) for row, mass in enumerate(coded.values)}


def _text(profile: Profile) -> str:
    return ", ".join(str(category) for category in profile)


def _require_report(folder: Path) -> None:
    """Refuse a report, before anything is solved, into a folder that cannot be made, or without its packages."""
    if folder.exists() and not folder.is_dir():
        raise pt.InvalidOptionError(f"--report must be a folder, got the file {folder}")
    require_writable(folder, "--report")
    for package in ("matplotlib", "jinja2"):
        require_package(package, "report", "reports need")


def _write_report(arguments: argparse.Namespace, question: Question, result: pt.Projection[Any]) -> str:
    """Write report.html, disparities.csv and changes.csv into the folder that was typed; return the page's path."""
    # they stand on matplotlib and jinja2, which a projection does not need
    from purtensor.plots.save_figure import save_figure
    from purtensor.report.fair_data import PICTURE, disparities, fair_data_report, largest_changes
    from purtensor.report.page import write_report

    folder, data = arguments.report, arguments.file.name
    folder.mkdir(parents=True, exist_ok=True)
    ratios, remark = disparities(result, question.f, response=arguments.response, protected=arguments.protected)
    write_frame(ratios, folder / "disparities.csv")
    write_frame(largest_changes(result, _MOST_CHANGES), folder / "changes.csv")
    figure = None
    # a group without mass has no ratio
    drawn = ratios.dropna(subset=["before", "after"])
    if 0 < len(drawn) <= _MOST_DRAWN:
        drawn = drawn.set_index(drawn["group"] + ": " + drawn[arguments.response])
        title = f"Disparity ratios: {data}"
        axes = pt.plots.plot_disparity_ratios(drawn[["before", "after"]], title=title)
        figure, *_ = save_figure(axes, folder / PICTURE, title=title)
    facts = {
        **question.facts,
        "response": arguments.response,
        "protected": ", ".join(arguments.protected),
        "conditions": arguments.conditions,
        "reference": arguments.reference,
    }
    page = fair_data_report(result, ratios, data=data, facts=facts, remark=remark, figure=figure)
    return str(write_report(page, folder / "report.html", command=arguments.typed))
