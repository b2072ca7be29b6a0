"""What can be typed after `purtensor compare`; imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from purtensor.solving.solvers import SOLVERS

PEERS = (
    "ipfn",
    "humanleague",
    "pot",
    "pot-stabilized",
    "pot-greenkhorn",
    "ott-jax",
    "mbi",
    "scipy-lbfgs",
    "trust-exact",
    "clarabel",
    "loglin",
)
"""The names of the peers, without importing them."""

STUDIES = ("lambda", "size", "granularity", "atlas")
"""The names of the studies of convergence rates, without importing them."""


def add_compare(commands: Any) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser(
        "compare",
        help="compare solvers on problems",
        description="Run solvers on problems with one stopping rule and budget, evaluate their tables "
        "independently, time them in turns, and write tables, curves, performance profiles and a report.",
    )
    parser.add_argument(
        "problems",
        nargs="*",
        metavar="PROBLEM",
        help="a name (a, b, b_hard, ... , staircase), a family with sizes such as 'pur(responses=2, protected=3, "
        "unprotected=40)', a saved projection (.nc), or records (a file of any kind that is read; see below)",
    )
    parser.add_argument(
        "--solvers",
        nargs="+",
        default=["auto", "ipf", "newton"],
        metavar="NAME",
        help=f"{', '.join(SOLVERS)}, also with options, such as 'ipf(relaxation=1.5)'; project (with labels); other "
        "packages: "
        f"{', '.join(PEERS)}; or module:name for your own solver (default: auto ipf newton)",
    )
    parser.add_argument(
        "--study",
        choices=STUDIES,
        help="instead of a comparison: number of sweeps of IPF while one property of a PUR problem varies (b, if "
        "no problem is named)",
    )
    parser.add_argument(
        "--fair",
        metavar="DATA",
        help="instead of solvers, compare methods for fair prediction: PUR, P, PU and MaxEnt-PUR as natural "
        "classifiers "
        "and as weights for models, and fairlearn, AIF360 and equipy if installed; DATA is adult, "
        "adult-rich (more categories), or records with --response and --protected",
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="with --fair: methods, by their names in the table (default: all)"
    )
    parser.add_argument(
        "--splits",
        type=int,
        default=20,
        metavar="N",
        help="with --fair: number of random splits of the people (default: 20)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the splits (default: 0)")
    parser.add_argument(
        "--budget", type=float, default=60.0, metavar="S", help="time limit per run in seconds (default: 60)"
    )
    parser.add_argument("--tolerance", type=float, default=1e-10, help="largest miss, total mass 1 (default: 1e-10)")
    parser.add_argument(
        "--max-iterations", type=int, default=100_000, metavar="N", help="limit of iterations per run (default: 100000)"
    )
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="number of timing rounds (default: 5)")
    parser.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="clock for timing; processor time excludes other programs (default: wall)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="number of parallel processes; affects times, but not counts and residuals (default: 1)",
    )
    parser.add_argument(
        "--baseline", metavar="NAME", help="solver in the denominator of time ratios (default: the first)"
    )
    parser.add_argument("--out", type=Path, default=Path("out/compare"), metavar="FOLDER", help="default: out/compare")
    records = parser.add_argument_group("records, for a PUR problem")
    records.add_argument("--response", metavar="Y", help="the response, a column")
    records.add_argument("--protected", nargs="+", metavar="S", help="columns that the response must not depend on")
    records.add_argument("--weights", metavar="COLUMN", help="column of weights or counts of the rows")
    add_missing(records)
    records.add_argument("--strength", type=float, default=1e-4, metavar="LAMBDA", help="pseudo-count (default: 1e-4)")


def add_missing(group: Any) -> None:
    """Add what is said of missing values, of text and of bins to a group of options."""
    group.add_argument(
        "--missing",
        choices=("raise", "drop", "category"),
        default="raise",
        help="rows with a missing value: raise an error, drop them, or make missing a category (default: raise)",
    )
    group.add_argument(
        "--bins",
        nargs="+",
        default=[],
        metavar="COLUMN=EDGES",
        help="bins of a numeric column: age=30,45,65 (lower ends) or age=quantiles:4; or a file: as its table",
    )
    add_missing_values(group)


def add_missing_values(group: Any) -> None:
    """Add what is said of cells that mean missing, and of text, to a group of options."""
    group.add_argument(
        "--missing-values",
        nargs="+",
        default=[],
        metavar="TEXT",
        help="texts that mean a missing value, besides empty cells",
    )
    group.add_argument(
        "--not-missing",
        nargs="+",
        default=[],
        metavar="TEXT",
        help="texts such as NA, ? or . that are categories; they raise an error unless declared",
    )
    add_text(group)


def add_text(group: Any) -> None:
    """Add what may be said of text files to a group of options."""
    group.add_argument("--delimiter", metavar="C", help="delimiter of cells, such as 'tab' (default: detected)")
    group.add_argument("--decimal", choices=(".", ","), default=".", help="decimal separator (default: .)")
    group.add_argument(
        "--encoding", metavar="NAME", help="encoding of text files, such as latin-1 (default: UTF-8, or UTF-16)"
    )
