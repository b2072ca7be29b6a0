"""What a file, or a stored table, and the words of a command ask: parity, utility and realism, close to a reference."""

from __future__ import annotations

import argparse
import glob
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import purtensor as pt
from purtensor._typing import Table
from purtensor.cli.output import NETCDF
from purtensor.cli.records import counts_of, read_counts, text_options
from purtensor.fairness.advice import Advice, advise
from purtensor.fairness.smoothing import Smoothed, smooth
from purtensor.records.bins import Bins, bins_in
from purtensor.records.column_facts import column_facts
from purtensor.records.files import KINDS, STDIN, RecordFiles, open_records
from purtensor.tables.coded import encode
from purtensor.tables.io.path_checks import STORE_MARK, require_file
from purtensor.tables.store.table import StoredTable, open_table

# the kind of folder that holds a stored table
STORE = ".zarr"
# the column that makes a file a distribution
_PROBABILITY = "probability"
# the default of the option, which is not refused for stored tables
_STRENGTH = 1e-4

# advice is a search over sets of columns: not for larger data
_MOST_PROFILES = 300_000
_MOST_PREDICTORS = 40
# characters of a refusal that are read to the end
_SHORT = 500

PROOF = "`purtensor diagnose` with --proof prints the proof"


@dataclass(frozen=True, slots=True)
class Question:
    """The regularised data, the constraints that they give, the reference, and facts about the file."""

    f: Any
    reference: Any
    constraints: tuple[pt.Marginal, ...]
    facts: dict[str, str]


def read_question(arguments: argparse.Namespace) -> Question:
    """Return what the file and the words ask.

    Raises
    ------
    PurtensorError
        Naming what does not fit.
    """
    counts = read_all_counts(arguments)
    f = pt.regularize(counts, arguments.strength, response=arguments.response)
    facts = _facts_of_data(arguments.file, counts, f)
    asked = {"response": arguments.response, "protected": arguments.protected, "conditions": arguments.conditions}
    if arguments.reference == "smooth":
        smoothed = smooth(counts, **asked)
        constraints = pt.pur(smoothed.table, **asked)
        return Question(f, smoothed.table, constraints, {**facts, "smoothed": describe_smoothing(smoothed)})
    return Question(f, _reference(arguments.reference, f, text_options(arguments)), pt.pur(f, **asked), facts)


def read_all_counts(arguments: argparse.Namespace) -> Table:
    """Return the counts of the columns that the words name, or of all.

    Raises
    ------
    PurtensorError
        Naming what does not fit.
    """
    roles = (arguments.response, *arguments.protected)
    named = None if arguments.unprotected is None else (*roles, *arguments.unprotected)
    return counts_of(arguments.file, arguments, named)


def _reference(name: str, f: Table, text: dict[str, Any]) -> Table:
    if name == "empirical":
        return f
    if name == "uniform":
        return pt.uniform(f)
    path = Path(name)
    require_file(path, f"a reference (empirical, uniform, smooth, or a table in {NETCDF}, {KINDS})")
    if path.suffix == NETCDF:
        loaded = pt.load(path)
        return loaded.table if isinstance(loaded, pt.Projection | pt.results.Relaxation) else loaded
    attributes = encode(f).domain.attributes
    opened = open_records(path, **text)
    names = opened.names if isinstance(opened, RecordFiles) else tuple(opened.columns)
    weights = _PROBABILITY if _PROBABILITY in names else None
    try:
        return read_counts(path, attributes, weights=weights, bins=_same_bins(f, opened), text=text)
    except pt.InvalidTableError as error:
        if error.code != "missing-values":
            raise
        remedy = f"remove such rows from {path.name}, or fill them"  # there is no option for them
        raise pt.InvalidTableError(
            f"{error.where}; {remedy}", code=error.code, where=error.where, hint=remedy
        ) from None


def _same_bins(f: Table, records: Any) -> dict[str, Bins]:
    """Return the bins of the data for those columns of a reference that are numbers still."""
    # the labels of a file in bins already are those of the data
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
    # a folder of Parquet files is records, too
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
            raise pt.InvalidOptionError(
                f"{arguments.file.name} is a stored table, which is used unchanged: {word} needs records"
            )
    f = open_table(arguments.file)
    constraints = pt.pur(f, response=arguments.response, protected=arguments.protected, conditions=arguments.conditions)
    return Question(f, _reference_on_disk(arguments.reference, f), constraints, _facts_of_store(arguments.file, f))


def _reference_on_disk(name: str, f: StoredTable) -> StoredTable:
    if name == "empirical":
        return f
    if Path(name).is_dir() or name.lower().endswith(STORE):
        return open_table(name)
    raise pt.InvalidOptionError(
        f"the reference of a stored table must be empirical or another stored table, got {name!r}"
    )


def _facts_of_store(path: Path, f: StoredTable) -> dict[str, str]:
    sizes = zip(f.domain.attributes, f.domain.sizes, strict=True)
    return {
        "file": path.name,
        "total": f"{f.total:,.10g}",
        "attributes": ", ".join(f"{name} ({size})" for name, size in sizes),
        "profiles": f"{f.profiles:,} stored of {f.domain.size:,}",
    }


def advice_on(arguments: argparse.Namespace, question: Question) -> Advice | None:
    """Return what helps; None where parity, utility and realism are not all asked, or the search would be long."""
    bounded = getattr(arguments, "ratio_bounds", None) is not None
    if bounded or sorted(arguments.conditions) != sorted("PUR") or arguments.reference != "empirical":
        return None
    coded = encode(question.f)
    predictors = len(coded.domain.attributes) - 1 - len(arguments.protected)
    if not 0 < predictors <= _MOST_PREDICTORS or len(coded.values) > _MOST_PROFILES:
        return None
    return advise(question.f, response=arguments.response, protected=arguments.protected)


def shorten(error: pt.InfeasibleError, arguments: argparse.Namespace, question: Question) -> pt.InfeasibleError:
    """Return the error with a reason and advice instead of the proof; unchanged if nothing is known."""
    advice = advice_on(arguments, question)
    if advice is None:
        return error
    whole = " ".join(error.reason.split()).rstrip(".")
    is_short = len(whole) <= _SHORT
    first = whole.partition(". ")[0]
    message = "; ".join((whole, *advice.sentences) if is_short else (first, *advice.sentences, PROOF))
    left_out = " ".join(advice.kept)
    hint = f"--unprotected {left_out}" if advice.left_out and left_out else None
    return pt.InfeasibleError(
        message,
        error.diagnosis,
        where=", ".join(advice.culprits) or None,
        got=list(advice.culprits),
        expected=list(advice.kept) if advice.left_out else None,
        hint=hint,
    )
