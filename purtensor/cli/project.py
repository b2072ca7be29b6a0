"""`purtensor project`: the fair version of the user's own data."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

from purtensor._typing import Profile, Table
from purtensor.cli.output import show_facts, show_table
from purtensor.cli.question import read_question
from purtensor.errors import InvalidOptionError
from purtensor.fairness.disparity import disparity_ratio
from purtensor.projection.files import save
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.solving.solvers.ipf import IPF
from purtensor.solving.solvers.newton import Newton
from purtensor.tables.coded import encode
from purtensor.tables.files import ending
from purtensor.tables.marginal import marginal

_NETCDF = ".nc"
"""The kind of file that holds a whole result."""

_MOST_ROWS = 40


def run(arguments: argparse.Namespace) -> None:
    """Read the file, project it, write the projection, and print what was done."""
    _check_output(arguments.out)
    question = read_question(arguments)
    show_facts("data", question.facts)
    result = project(
        question.reference, question.constraints, solver=_solver(arguments.solver), tolerance=arguments.tolerance,
        max_iterations=arguments.max_iterations, max_seconds=arguments.max_seconds, progress=True,
    )  # fmt: skip
    save(result if ending(arguments.out) == _NETCDF else result.table, arguments.out)
    show_facts("projection", {**result.summary(), "written to": str(arguments.out)})
    _show_disparities(question.f, result, arguments.response, arguments.protected)


def _check_output(path: Path) -> None:
    ending(path)  # refuses what could not be written later
    if not path.parent.is_dir():
        raise InvalidOptionError(f"the folder of --out does not exist: {path.parent}")


def _solver(name: str) -> Any:
    return {"auto": None, "ipf": IPF(), "newton": Newton()}[name]


def _show_disparities(f: Table, result: Projection, response: str, protected: list[str]) -> None:
    """Print p(y | s) / p(y | s0) before and after; s0 is the protected profile with the most mass."""
    groups = _masses(f, protected)
    largest = max(groups, key=groups.__getitem__)
    reference = dict(zip(protected, largest, strict=True))
    before, after = (
        disparity_ratio(table, response=response, protected=protected, reference=reference)
        for table in (f, result.table)
    )
    rows = []
    for group, (outcome,) in itertools.product(groups, _masses(f, [response])):
        at = {response: outcome, **dict(zip(protected, group, strict=True))}
        if group != largest:
            rows.append((_text(group), str(outcome), *(f"{float(t.sel(at).item()):.4f}" for t in (before, after))))
    title = f"disparity ratio, p({response} | group) / p({response} | {_text(largest)})"
    if len(rows) > _MOST_ROWS:
        title += f"; the first {_MOST_ROWS} of {len(rows)} rows"
    show_table(title, (", ".join(protected), response, "data", "projection"), rows[:_MOST_ROWS])


def _masses(f: Table, attributes: list[str]) -> dict[Profile, float]:
    coded = encode(marginal(f, attributes))
    return {coded.label(row): float(mass) for row, mass in enumerate(coded.values)}


def _text(profile: Profile) -> str:
    return ", ".join(str(category) for category in profile)
