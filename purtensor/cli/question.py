"""What a file, or a stored table, and the words of a command ask: parity, utility and realism, close to a reference."""

from __future__ import annotations

import argparse
import glob
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
from purtensor.records.files import STDIN, RecordFiles, open_records
from purtensor.tables.coded import encode
from purtensor.tables.io.files import require_packages
from purtensor.tables.io.path_checks import STORE_MARK, require_file
from purtensor.tables.regularize import regularize, uniform
from purtensor.tables.store.table import StoredTable, open_table

NETCDF = ".nc"
"""The kind of file that holds a whole result, and as a reference may hold a table as well."""


STORE = ".zarr"
"""The kind of folder that a stored table lies in."""

_STRENGTH = 1e-4
"""The default of the option, which is not refused."""


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
    counts = read_all_counts(arguments)
    f = regularize(counts, arguments.strength, response=arguments.response)
    facts = _facts_of_data(arguments.file, counts, f)
    asked = {"response": arguments.response, "protected": arguments.protected, "conditions": arguments.conditions}
    if arguments.reference == "smooth":
        smoothed = smooth(counts, **asked)
        constraints = pur(smoothed.table, **asked)
        return Question(f, smoothed.table, constraints, {**facts, "smoothed": describe_smoothing(smoothed)})
    return Question(f, _reference(arguments.reference, f, text_options(arguments)), pur(f, **asked), facts)


def read_all_counts(arguments: argparse.Namespace) -> Table:
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
        remedy = f"remove such rows from {path.name}, or fill them"  # there is no option for them
        raise InvalidTableError(f"{error.where}; {remedy}", code=error.code, where=error.where, hint=remedy) from None


def _same_bins(f: Table, records: Any) -> dict[str, Bins]:
    """Return the bins of the data for those columns of a reference that are numbers still."""
    bins = bins_in(f)
    facts = column_facts(records) if bins else {}
    return {name: own for name, own in bins.items() if name in facts and facts[name].kind in ("integer", "number")}


def describe_smoothing(smoothed: Smoothed) -> str:
    """Return on one line how far the data were simplified."""
    return ", ".join(f"{name} {text}" for name, text in smoothed.summary().items())


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


def is_stored(path: Path) -> bool:
    """Return whether a path is the folder of a stored table, rather than of records.

    Raises
    ------
    UnreadableFileError
        Nothing is there, and neither is it a name with wildcards, or what is piped in.
    """
    if path.is_dir():
        return (path / STORE_MARK).exists()
    if str(path) != STDIN and not glob.glob(str(path)):
        require_file(path, f"a table ({KINDS}, or a stored table, {STORE})")
    return False


def read_stored_question(arguments: argparse.Namespace) -> Question:
    """Return what the words ask of the stored table of a folder.

    Raises
    ------
    InvalidOptionError
        A word that would change the table: it is regularised, and its attributes chosen, before it is stored.
    PurtensorError
        Naming what does not fit.
    """
    changing = {
        "--unprotected": arguments.unprotected,
        "--weights": arguments.weights,
        "--missing": arguments.missing != "raise",
        "--missing-values": arguments.missing_values,
        "--not-missing": arguments.not_missing,
        "--bins": arguments.bins,
        "--strength": arguments.strength != _STRENGTH,
    }
    for word, given in changing.items():
        if given:
            raise InvalidOptionError(
                f"{arguments.file.name} is a stored table, which is used unchanged: {word} needs records"
            )
    f = open_table(arguments.file)
    constraints = pur(f, response=arguments.response, protected=arguments.protected, conditions=arguments.conditions)
    return Question(f, _reference_on_disk(arguments.reference, f), constraints, _facts_of_store(arguments.file, f))


def _reference_on_disk(name: str, f: StoredTable) -> StoredTable:
    if name == "empirical":
        return f
    if Path(name).is_dir() or name.lower().endswith(STORE):
        return open_table(name)
    raise InvalidOptionError(f"the reference of a stored table must be empirical or another stored table, got {name!r}")


def _facts_of_store(path: Path, f: StoredTable) -> dict[str, str]:
    sizes = zip(f.domain.attributes, f.domain.sizes, strict=True)
    return {
        "file": path.name,
        "total": f"{f.total:,.10g}",
        "attributes": ", ".join(f"{name} ({size})" for name, size in sizes),
        "profiles": f"{f.profiles:,} stored of {f.domain.size:,}",
    }
