"""`purtensor project`: the fair version of the user's own data."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

from purtensor._typing import Profile, Table
from purtensor.cli.output import show_facts, show_table
from purtensor.cli.records import PROBABILITY, Columns, column_names, read_counts
from purtensor.errors import InvalidOptionError
from purtensor.fairness.disparity import disparity_ratio
from purtensor.fairness.pur import pur
from purtensor.projection.files import load, save
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.solving.solvers.ipf import IPF
from purtensor.solving.solvers.newton import Newton
from purtensor.tables.coded import encode
from purtensor.tables.files import ending
from purtensor.tables.marginal import marginal
from purtensor.tables.regularize import regularize, uniform

_NETCDF = ".nc"
"""The kind of file that holds a whole result, and a reference that is no CSV."""

_MOST_ROWS = 40


def run(arguments: argparse.Namespace) -> None:
    """Read the file, project it, write the projection, and print what was done."""
    _check_output(arguments.out)
    counts = read_counts(arguments.file, _columns(arguments))
    f = regularize(counts, arguments.strength, response=arguments.response)
    constraints = pur(f, response=arguments.response, protected=arguments.protected, conditions=arguments.conditions)
    reference = _reference(arguments.reference, f)
    show_facts("data", _facts_of_data(arguments.file, counts, f))
    result = project(
        reference, constraints, solver=_solver(arguments.solver), tolerance=arguments.tolerance,
        max_iterations=arguments.max_iterations, max_seconds=arguments.max_seconds, progress=True,
    )  # fmt: skip
    save(result if ending(arguments.out) == _NETCDF else result.table, arguments.out)
    show_facts("projection", {**result.summary(), "written to": str(arguments.out)})
    _show_disparities(f, result, arguments.response, arguments.protected)


def _columns(arguments: argparse.Namespace) -> Columns:
    protected, unprotected = tuple(arguments.protected), arguments.unprotected
    named = None if unprotected is None else (arguments.response, *protected, *unprotected)
    return Columns(named, arguments.weights, arguments.missing, tuple(arguments.missing_values))


def _check_output(path: Path) -> None:
    ending(path)  # refuses what could not be written later
    if not path.parent.is_dir():
        raise InvalidOptionError(f"the folder of --out does not exist: {path.parent}")


def _reference(name: str, f: Table) -> Table:
    if name == "empirical":
        return f
    if name == "uniform":
        return uniform(f)
    path = Path(name)
    if path.suffix == _NETCDF:
        loaded = load(path)
        return loaded.table if isinstance(loaded, Projection) else loaded
    attributes = encode(f).domain.attributes
    return read_counts(path, Columns(attributes, PROBABILITY if PROBABILITY in column_names(path) else None))


def _solver(name: str) -> Any:
    return {"auto": None, "ipf": IPF(), "newton": Newton()}[name]


def _facts_of_data(path: Path, counts: Table, f: Table) -> dict[str, str]:
    coded = encode(f)
    sizes = zip(coded.domain.attributes, coded.domain.sizes, strict=True)
    dropped = counts.attrs.get("dropped_rows", 0)
    return {
        "file": path.name,
        "total": f"{float(counts.sum()):,.10g}",
        "dropped rows": f"{dropped:,}" if dropped else "",
        "attributes": ", ".join(f"{name} ({size})" for name, size in sizes),
        "profiles": f"{len(coded.values):,} supported of {coded.domain.size:,}",
    }


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
