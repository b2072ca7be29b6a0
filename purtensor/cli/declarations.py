"""Commands as data, from which the parser is built; the options that several share; what commands end with."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

DONE, BAD_INPUT, INFEASIBLE, NOT_CONVERGED, TOO_LARGE, INTERRUPTED = 0, 2, 3, 4, 5, 130
EXIT_CODES = """\
exit codes: 0 success, 2 wrong usage or invalid input, 3 infeasible, 4 not converged, 5 too large, 130 interrupted"""


# the name of an option or of a positional argument, and the settings that `add_argument` takes
Option: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes
    ----------
    runs
        The module of `purtensor.cli` and its function that runs the command: imported only then, so that help is quick.
    help, description, epilog
        What `--help` prints: of all commands, of this one, and below its options.
    options
        Its arguments and the options without a group.
    groups
        Its other options, by the heading of the group.
    defaults
        Values that its module reads, and that cannot be typed.
    """

    name: str
    runs: str
    help: str
    description: str
    options: Sequence[Option] = ()
    groups: Mapping[str, Sequence[Option]] = field(default_factory=dict)
    epilog: str | None = EXIT_CODES
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def add_to(self, commands: Any) -> None:
        """Add the command to the commands of a parser."""
        parser = commands.add_parser(self.name, help=self.help, description=self.description, epilog=self.epilog)
        _add_options(parser, self.options)
        for heading, options in self.groups.items():
            _add_options(parser.add_argument_group(heading), options)
        parser.set_defaults(runs=self.runs, **self.defaults)
        # they may stand before or after the command
        for name, meaning in (("--json", "print one JSON object"), ("--quiet", "print errors only")):
            parser.add_argument(name, action="store_true", default=argparse.SUPPRESS, help=meaning)


def option(name: str, meaning: str, **settings: Any) -> Option:
    """Return an option with the text that `--help` prints."""
    return name, {"help": meaning, **settings}


def _add_options(group: Any, options: Sequence[Option]) -> None:
    for name, settings in options:
        group.add_argument(name, **settings)


FILE = option(
    "file",
    ".csv, .tsv (also .gz) or .parquet: records, or counts; for project and diagnose also a stored table (.zarr), "
    "which is used unchanged",
    type=Path,
    metavar="FILE",
)
OUT = option(
    "--out",
    "output: .nc for the complete result with its certificate, .csv, .csv.gz or .parquet for the table",
    type=Path,
    required=True,
    metavar="PATH",
)
RESULTS_OUT = option("--out", "write the results, .csv or .parquet", type=Path, metavar="PATH")

RESPONSE = option("--response", "the response, a column", required=True, metavar="Y")
PROTECTED = option("--protected", "columns that the response must not depend on", required=True, nargs="+", metavar="S")
UNPROTECTED = option("--unprotected", "other columns to use (default: all)", nargs="+", metavar="X")
WEIGHTS = option("--weights", "column of weights or counts of the rows (default: 'count', if any)", metavar="COLUMN")

# which cells mean missing, and how a text file is written
MISSING_VALUES = (
    option(
        "--missing-values",
        "texts that mean a missing value, besides empty cells",
        nargs="+",
        default=[],
        metavar="TEXT",
    ),
    option(
        "--not-missing",
        "texts such as NA, ? or . that are categories; they raise an error unless declared",
        nargs="+",
        default=[],
        metavar="TEXT",
    ),
    option("--delimiter", "delimiter of cells, such as 'tab' (default: detected)", metavar="C"),
    option("--decimal", "decimal separator (default: detected)", choices=(".", ",")),
    option("--encoding", "encoding of text files, such as latin-1 (default: UTF-8, or UTF-16)", metavar="NAME"),
)

# what becomes of missing values and of numbers, and how a text file is written
MISSING = (
    option(
        "--missing",
        "rows with a missing value: raise an error, drop them, or make missing a category (default: raise)",
        choices=("raise", "drop", "category"),
        default="raise",
    ),
    option(
        "--bins",
        "bins of a numeric column: age=30,45,65 (lower ends) or age=quantiles:4; or a file: as its table",
        nargs="+",
        default=[],
        metavar="COLUMN=EDGES",
    ),
    *MISSING_VALUES,
)

DATA = (RESPONSE, PROTECTED, UNPROTECTED, WEIGHTS, *MISSING)

CONDITIONS = option("--conditions", "conditions, letters among P, U, R (default: PUR)", default="PUR", metavar="PUR")
STRENGTH = option(
    "--strength",
    "pseudo-count of each profile of Y x observed (S, X) (default: 1e-4)",
    type=float,
    default=1e-4,
    metavar="LAMBDA",
)
QUESTION = (
    CONDITIONS,
    option(
        "--reference",
        "what to stay close to: the data, the uniform distribution, the data simplified as far as it predicts other "
        "people best (by cross-validation, with a pseudo-count of its own), or a table (default: empirical)",
        default="empirical",
        metavar="empirical|uniform|smooth|FILE",
    ),
    STRENGTH,
)
BOUNDS = (
    option(
        "--ratio-bounds",
        "lower and upper bound on the mass of each profile, as multiples of its reference mass (default: no bounds)",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
    ),
    option(
        "--cell-bounds",
        "the same as probabilities (default: no bounds)",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
    ),
)

TOLERANCE = option("--tolerance", "largest miss, total mass 1 (default: 1e-10)", type=float, default=1e-10)
MAX_ITERATIONS = option("--max-iterations", "stop after N iterations", type=int, metavar="N")

# results back on the records of the file
PEOPLE = (
    option(
        "--weights-out",
        "also write the records with their weights in a column 'weight', .csv or .parquet",
        type=Path,
        metavar="PATH",
    ),
    option(
        "--rows",
        "write N rows drawn from the result to --out instead of the table, with the columns of the file",
        type=int,
        metavar="N",
    ),
    option("--seed", "seed of --rows (default: 0)", type=int, default=0),
)

# how near weights stay to the design weights
CLOSENESS = (
    option("--bounds", "bounds on the ratios to design weights", type=float, nargs=2, metavar=("LOW", "HIGH")),
    option("--weight-bounds", "bounds on the weights", type=float, nargs=2, metavar=("LOW", "HIGH")),
    option(
        "--relative-to",
        "--bounds are relative to the design weights as given, or scaled to the controls (default: given)",
        choices=("given", "scaled"),
        default="given",
    ),
    option("--distance", "default: kl", choices=("kl", "linear", "logit"), default="kl"),
)

WEIGHT_NAME = option("--name", "column of the weights in --out (default: weight)", default="weight", metavar="COLUMN")
