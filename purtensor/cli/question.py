"""What a file and the words of a command ask: may the data meet parity, utility and realism, close to a reference."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from purtensor._typing import Table
from purtensor.cli.records import KINDS, PROBABILITY, Columns, columns_asked, read_counts, text_options
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.fairness.pur import pur
from purtensor.fairness.smoothing import Smoothed, smooth
from purtensor.projection.files import load
from purtensor.projection.relaxation import Relaxation
from purtensor.projection.result import Projection
from purtensor.records.bins import Bins, bins_in
from purtensor.records.column_facts import column_facts
from purtensor.records.files import RecordFiles, open_records
from purtensor.tables.coded import encode
from purtensor.tables.io.files import require_packages
from purtensor.tables.io.path_checks import require_file
from purtensor.tables.regularize import regularize, uniform

NETCDF = ".nc"
"""The kind of file that holds a whole result, and as a reference may hold a table as well."""


@dataclass(frozen=True, slots=True)
class Question:
    """The regularised data, the constraints that they give, the reference, and facts about the file."""

    f: Any
    reference: Any
    constraints: tuple[Marginal, ...]
    facts: dict[str, str]


def read_question(arguments: argparse.Namespace) -> Question:
    """Return what the file and the words ask.

    Raises
    ------
    PurtensorError
        Naming what does not fit.
    """
    counts = read_counts_asked(arguments)
    f = regularize(counts, arguments.strength, response=arguments.response)
    facts = _facts_of_data(arguments.file, counts, f)
    asked = {"response": arguments.response, "protected": arguments.protected, "conditions": arguments.conditions}
    if arguments.reference == "smooth":
        smoothed = smooth(counts, **asked)
        constraints = pur(smoothed.table, **asked)
        return Question(f, smoothed.table, constraints, {**facts, "smoothed": smoothed_in_words(smoothed)})
    return Question(f, _reference(arguments.reference, f, text_options(arguments)), pur(f, **asked), facts)


def read_counts_asked(arguments: argparse.Namespace) -> Table:
    """Return the counts of the columns that the words name, or of all.

    Raises
    ------
    PurtensorError
        Naming what does not fit.
    """
    return read_counts(arguments.file, _columns(arguments))


def require_writable(path: Path, option: str = "--out") -> None:
    """Refuse a path to write to whose folder or whose kind's package is not there, before anything is computed."""
    if not path.parent.is_dir():
        raise InvalidOptionError(f"the folder of {option} does not exist: {path.parent}")
    require_packages(path)


def _columns(arguments: argparse.Namespace) -> Columns:
    protected, unprotected = tuple(arguments.protected), arguments.unprotected
    named = None if unprotected is None else (arguments.response, *protected, *unprotected)
    return columns_asked(arguments, named, (arguments.response, *protected))


def _reference(name: str, f: Table, text: dict[str, Any]) -> Table:
    if name == "empirical":
        return f
    if name == "uniform":
        return uniform(f)
    path = Path(name)
    require_file(path, f"a reference (empirical, uniform, smooth, or a table in {NETCDF}, {KINDS})")
    if path.suffix == NETCDF:
        loaded = load(path)
        return loaded.table if isinstance(loaded, Projection | Relaxation) else loaded
    attributes = encode(f).domain.attributes
    opened = open_records(path, **text)
    names = opened.names if isinstance(opened, RecordFiles) else tuple(opened.columns)
    asked = Columns(attributes, PROBABILITY if PROBABILITY in names else None, bins=_same_bins(f, opened), text=text)
    try:
        return read_counts(path, asked)
    except InvalidTableError as error:
        if error.code != "missing-values":
            raise
        told = f"remove such rows from {path.name}, or fill them"  # there is no option for them
        raise InvalidTableError(f"{error.where}; {told}", code=error.code, where=error.where, hint=told) from None


def _same_bins(f: Table, records: Any) -> dict[str, Bins]:
    """Return the bins of the data for those columns of a reference that are numbers still."""
    bins = bins_in(f)
    facts = column_facts(records) if bins else {}
    return {name: own for name, own in bins.items() if name in facts and facts[name].kind in ("integer", "number")}


def smoothed_in_words(smoothed: Smoothed) -> str:
    """Return on one line how far the data were simplified."""
    return ", ".join(f"{name} {told}" for name, told in smoothed.summary().items())


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
        "washed out": f"{f.attrs['washed_out_share']:.3g} (lambda * profiles / N: pseudo-counts over counts)",
    }
