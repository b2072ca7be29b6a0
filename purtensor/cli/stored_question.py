"""What the words of a command ask of a stored table: it is taken as it lies there."""

from __future__ import annotations

import argparse
import glob
from pathlib import Path

from purtensor.cli.question import Question
from purtensor.cli.records import KINDS
from purtensor.errors import InvalidOptionError
from purtensor.fairness.pur import pur
from purtensor.records.files import STDIN
from purtensor.tables.io.path_checks import STORE_MARK, require_file
from purtensor.tables.store.table import StoredTable, open_table

STORE = ".zarr"
"""The kind of folder that a stored table lies in."""

_STRENGTH = 1e-4
"""The default of the option, which is not refused."""


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


def stored_question(arguments: argparse.Namespace) -> Question:
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
    return Question(f, _reference(arguments.reference, f), constraints, _facts(arguments.file, f))


def _reference(name: str, f: StoredTable) -> StoredTable:
    if name == "empirical":
        return f
    if Path(name).is_dir() or name.lower().endswith(STORE):
        return open_table(name)
    raise InvalidOptionError(f"the reference of a stored table must be empirical or another stored table, got {name!r}")


def _facts(path: Path, f: StoredTable) -> dict[str, str]:
    sizes = zip(f.domain.attributes, f.domain.sizes, strict=True)
    return {
        "file": path.name,
        "total": f"{f.total:,.10g}",
        "attributes": ", ".join(f"{name} ({size})" for name, size in sizes),
        "profiles": f"{f.profiles:,} stored of {f.domain.size:,}",
    }
