"""`purtensor project`: the fair version of the user's own data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._optional import require_package
from purtensor.cli.advice import shorten
from purtensor.cli.disparities import show_disparities
from purtensor.cli.output import show_facts
from purtensor.cli.people import read_people, write_people
from purtensor.cli.question import (
    NETCDF,
    STORE,
    Question,
    is_stored,
    read_question,
    read_stored_question,
    require_writable,
)
from purtensor.errors import InfeasibleError, InvalidOptionError
from purtensor.projection.files import save
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.solving.iterate import Solver
from purtensor.solving.solvers.by_name import solver_named
from purtensor.tables.coded import encode
from purtensor.tables.io.files import ending, require_writable_labels


def run(arguments: argparse.Namespace) -> None:
    """Read the file, project it, write the projection, and print what was done."""
    solver = solver_named(arguments.solver)
    on_disk = is_stored(arguments.file)
    if not on_disk:
        ending(arguments.out)  # refuses what could not be written later
    require_writable(arguments.out)
    if on_disk and (arguments.weights_out or arguments.rows is not None or arguments.report):
        raise InvalidOptionError(
            f"{arguments.file.name} is a stored table: --weights-out, --rows and --report need records"
        )
    if arguments.report is not None:
        require_report(arguments.report)
    question = read_stored_question(arguments) if on_disk else read_question(arguments)
    if not on_disk:
        require_writable_labels(question.reference, arguments.out)
    people = None if on_disk else read_people(arguments, encode(question.f).domain.attributes)
    show_facts("data", question.facts)
    result = _project(
        arguments,
        question,
        solver,
        on_disk=on_disk,
    )
    # whether the file holds a whole result, and not its table alone
    whole = arguments.out.suffix != STORE if on_disk else ending(arguments.out) == NETCDF
    if arguments.rows is None:
        save(result if whole else result.table, arguments.out)
    facts = write_people(arguments, people, result)
    if arguments.report is not None:
        from purtensor.cli.reports import write_project_report  # needs matplotlib and jinja2

        facts["report"] = write_project_report(arguments, question, result)
    if (arguments.ratio_bounds is not None or arguments.cell_bounds is not None) and not on_disk:
        held = np.asarray(result.at_bound.values)
        facts["at a bound"] = (
            f"{int((held < 0).sum()):,} profiles at the lower one, {int((held > 0).sum()):,} at the upper"
        )
    if arguments.stop_on == "log_ratio":
        facts["each profile"] = f"proved within a factor of exp({result.log_ratio_bound:.1e}) of the exact one"
    show_facts("projection", {**result.summary(), "washed out": "", **facts, "written to": str(arguments.out)})
    show_disparities(question.f, result.table, arguments.response, arguments.protected, "projection")


def require_report(folder: Path) -> None:
    """Refuse a report, before anything is solved, into a folder that cannot be made, or without its packages."""
    if folder.exists() and not folder.is_dir():
        raise InvalidOptionError(f"--report must be a folder, got the file {folder}")
    require_writable(folder, "--report")
    for package in ("matplotlib", "jinja2"):
        require_package(package, "report", "reports need")


def _project(arguments: argparse.Namespace, question: Question, solver: Solver, *, on_disk: bool) -> Projection[Any]:
    try:
        return project(
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
    except InfeasibleError as error:
        if on_disk:
            raise
        raise shorten(error, arguments, question) from error
